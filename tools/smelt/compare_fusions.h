// Where an error comes from: every fusion of a model, on a GPU, against the interpreter.
#pragma once

#include "compiler/model.h"
#include "tools/smelt/array.h"

namespace smelt::tools {

/// How far one output of a fusion is from the interpreter's, both on the inputs that the fusion had
/// on the GPU.
struct FusionError {
  size_t index; ///< of the fusion in the module, which is that of its kernel in `explain`
  std::string kind;
  std::string nodes;
  double relativeNorm;
  double maxAbsolute;
};

/// Compiles the fused model once more with every intermediate value as an output, runs it, and
/// judges each fusion by itself. Changes the model's module: nothing else can be done with it
/// afterwards.
Result<std::vector<FusionError>> compareFusions(Model &fused, const std::vector<Array> &inputs,
                                                bool tf32);

/// Whether any value of the module is a 16-bit float.
bool hasHalfFloats(mlir::ModuleOp module);

} // namespace smelt::tools
