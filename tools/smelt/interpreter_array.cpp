#include "tools/smelt/interpreter_array.h"

#include "ir/dialect.h"
#include "tools/smelt/report.h"

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

Result<std::vector<HostTensor>> runOnCpu(compiler::ModelRunner &runner,
                                         const std::vector<Array> &inputs) {
  std::vector<compiler::TensorView> views;
  views.reserve(inputs.size());
  for (const Array &input : inputs)
    views.push_back({input.type, input.shape, input.bytes});
  ProgressLine line;
  return runner.run(views, [&](size_t done, size_t total) {
    line.show("running ops on the CPU", done, total);
    return true;
  });
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
