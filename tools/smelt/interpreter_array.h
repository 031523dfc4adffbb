// Arrays as the interpreter's tensors, and back.
#pragma once

#include "ir/interpret/host_tensor.h"
#include "tools/smelt/array.h"

namespace smelt::tools {

/// `type` is the smelt tensor type that the array is a value of. Fails with kResources.
Result<HostTensor> toInterpreter(const Array &array, mlir::Type type, Precision precision);

/// Rounded to `type`, which is the tensor's declared element type.
Array toArray(const HostTensor &tensor, ElementType type);

} // namespace smelt::tools
