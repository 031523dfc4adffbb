// ONNX Runtime as a reference: Python's package, in a process of its own, so that nothing of it is
// part of `smelt` and a crash there is none here.
#pragma once

#include "tools/smelt/npz.h"

namespace smelt::tools {

struct OnnxRuntimeRun {
  std::string version; ///< "ONNX Runtime 1.23.0, CPUExecutionProvider"
  std::vector<Array> outputs;
};

/// Runs the .onnx at `model` on the CPU by ONNX Runtime, with the python3 that PATH finds; `outputs` are
/// the model's, in their order. Fails with kEnvironment where there is no python3 or it lacks onnxruntime
/// or NumPy, saying which python3 it is, with kUsage for element types that NumPy lacks, and with
/// kRunFailed where ONNX Runtime does not run the model.
Result<OnnxRuntimeRun> runOnnxRuntime(const std::string &model, std::span<const NamedArray> inputs,
                                      const std::vector<Port> &outputs);

} // namespace smelt::tools
