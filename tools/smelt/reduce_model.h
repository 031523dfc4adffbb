// The smallest part of an ONNX model that still fails.
//
// Nodes are left out by delta debugging. What the others read of them becomes an input, whose value is the
// one that the interpreter computed in the whole model; what nothing reads becomes an output. Weights stand
// in the new file.
#pragma once

#include "tools/smelt/model_flags.h"

#include <functional>

namespace smelt::tools {

/// Whether the model in the first file fails with the inputs in the second, a .npz.
using FailsOn = std::function<bool(const std::string &model, const std::string &inputs)>;

struct Reduction {
  std::string model, inputs; ///< the files
  size_t nodes = 0, of = 0;  ///< ONNX nodes in it, and in the whole model
};

/// The .npz of inputs that is written beside the model `output`: "small.npz" for "small.onnx".
std::string inputsBeside(const std::string &output);

/// Writes the model to `output`, and its inputs beside it. Fails as importModel() does, with kRunFailed
/// where the model does not fail once its tensors are its own, and with kResources where a file cannot be
/// written.
Result<Reduction> reduceModel(const ModelFlags &flags, const std::vector<Array> &inputs,
                              const std::string &output, const FailsOn &fails);

} // namespace smelt::tools
