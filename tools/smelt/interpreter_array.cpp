#include "tools/smelt/interpreter_array.h"

#include "ir/dialect.h"

#include <cstring>

namespace smelt::tools {

Result<HostTensor> toInterpreter(const Array &array, mlir::Type type, Precision precision) {
  llvm::ArrayRef<char> bytes(reinterpret_cast<const char *>(array.bytes.data()),
                             array.bytes.size());
  mlir::Type element = mlir::cast<TensorType>(type).getElementType();
  std::optional<HostTensor> tensor = HostTensor::fromBytes(array.shape, element, bytes, precision);
  if (!tensor)
    return Status(StatusCode::kResources, "a tensor does not fit into memory");
  return std::move(*tensor);
}

Array toArray(const HostTensor &tensor, ElementType type) {
  Array array{type, tensor.getShape().vec(), {}};
  std::vector<char> bytes = tensor.toBytes();
  array.bytes.resize(bytes.size());
  if (!bytes.empty())
    std::memcpy(array.bytes.data(), bytes.data(), bytes.size());
  return array;
}

} // namespace smelt::tools
