// Arrays as the interpreter's tensors, and back.
#pragma once

#include "compiler/run_model.h"
#include "tools/smelt/array.h"

namespace smelt::tools {

/// `type` is the smelt tensor type that the array is a value of. Fails with kResources.
Result<HostTensor> toInterpreter(const Array &array, mlir::Type type, Precision precision);

/// Runs the model on these inputs, with progress on stderr: "running ops on the CPU: 12 of 705". The results are those of
/// ModelRunner::run.
Result<std::vector<HostTensor>> runOnCpu(compiler::ModelRunner &runner,
                                         const std::vector<Array> &inputs);

/// Rounded to `type`, which is the tensor's declared element type.
Array toArray(const HostTensor &tensor, ElementType type);

} // namespace smelt::tools
