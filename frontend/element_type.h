// ONNX data types and the element types of the IR.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace smelt::frontend {

/// The element type for a `Tensor.DataType`; null where the IR has none (strings, complex numbers)
/// or the number is no data type.
mlir::Type elementType(mlir::MLIRContext *context, int32_t dataType);

/// How many elements of a data type share a byte of a tensor's data, the first in its lowest bits.
unsigned elementsPerByte(int32_t dataType);

/// "float16", "string", ... or "data type 99", for messages.
std::string dataTypeName(int32_t dataType);
/// The data type of this name; none where there is none.
std::optional<int32_t> dataTypeOf(llvm::StringRef name);
/// The ONNX name of an element type of the IR: "float16" for f16.
std::string typeName(mlir::Type elementType);

} // namespace smelt::frontend
