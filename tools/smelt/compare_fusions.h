// Where an error comes from: every fusion of a model, on a GPU, against the interpreter.
#pragma once

#include "compiler/model.h"
#include "tools/smelt/array.h"

#include <functional>

namespace smelt::tools {

/// How far one output of a fusion is from the interpreter's, both on the inputs that the fusion had
/// on the GPU.
struct FusionError {
  size_t index; ///< of the fusion in the module, which is that of its kernel in `explain`
  std::string kind;
  std::string nodes;
  double relativeNorm;
  double maxAbsolute;
  bool agrees; ///< within defaultTolerance of the coarsest arithmetic that the fusion does
};

/// Runs @main of a fused model on a device.
using RunFused =
    std::function<Result<std::vector<Array>>(Model &fused, const std::vector<Array> &inputs)>;

/// Has the fused model run once more with every intermediate value as an output, and judges each
/// fusion by itself. Changes the model's module: nothing else can be done with it afterwards.
Result<std::vector<FusionError>> compareFusions(Model &fused, const std::vector<Array> &inputs,
                                                bool tf32, const RunFused &run);

/// For each output of @main the coarsest float type that anything was computed in on the way to it;
/// float64 where there was no float.
std::vector<ElementType> arithmeticOf(mlir::ModuleOp module);

} // namespace smelt::tools
