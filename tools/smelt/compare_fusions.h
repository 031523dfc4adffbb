// Where an error comes from: every fusion of a model, on a device, against the interpreter.
#pragma once

#include "tools/smelt/error_statistics.h"
#include "tools/smelt/fused_run.h"

namespace smelt::tools {

/// How far one output of a fusion is from the interpreter's, both on the inputs that the fusion had
/// on the device.
struct FusionError {
  size_t index; ///< the number of its kernel, as `explain` and `inspect` have it
  std::string kind;
  std::string nodes;
  double relativeNorm;
  double maxAbsolute;
  double tolerance; ///< for the coarsest arithmetic that the fusion does

  bool agrees() const { return relativeNorm <= tolerance; }
};

/// Judges each fusion of a run by itself.
Result<std::vector<FusionError>> compareFusions(FusedRun &seen, const Tolerances &tolerances);

/// For each output of @main the coarsest float type that anything was computed in on the way to it;
/// float64 where there was no float.
std::vector<ElementType> arithmeticOf(mlir::ModuleOp module);

} // namespace smelt::tools
