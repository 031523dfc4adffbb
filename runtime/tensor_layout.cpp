#include "runtime/tensor_layout.h"

#include "runtime/checked_math.h"
#include "runtime/text.h"

namespace smelt::runtime {

Result<TensorLayout> layoutOf(const plan::TensorT &tensor, const ShapeValues &values, size_t axis,
                              int64_t capacity) {
  std::optional<int64_t> rows = 1, rowBytes = plan::elementBytes(tensor.element_type);
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    std::optional<int64_t> &part = i < axis ? rows : rowBytes;
    part = part ? checkedMul(*part, values.dims[tensor.dims[i]]) : std::nullopt;
  }
  if (!rows || !rowBytes)
    return Status(StatusCode::kUsage,
                  joinText("'", tensor.name, "' of shape ", shapeText(shapeOf(tensor, values)),
                           " is too large"));
  std::optional<int64_t> pitch = rowBytes;
  if (capacity != 0) {
    int64_t extent = values.dims[tensor.dims[axis]];
    if (capacity < extent)
      return Status(StatusCode::kUsage,
                    joinText("'", tensor.name, "' of shape ", shapeText(shapeOf(tensor, values)),
                             " does not fit a capacity of ", capacity, " along axis ", axis));
    pitch = plan::elementBytes(tensor.element_type);
    for (size_t i = axis; i < tensor.dims.size(); ++i)
      pitch = pitch ? checkedMul(*pitch, i == axis ? capacity : values.dims[tensor.dims[i]])
                    : std::nullopt;
  }
  if (!pitch || !checkedMul(*rows, *pitch))
    return Status(StatusCode::kUsage,
                  joinText("'", tensor.name, "' with a capacity of ", capacity, " is too large"));
  return TensorLayout{static_cast<uint64_t>(*rows), static_cast<uint64_t>(*rowBytes),
                      static_cast<uint64_t>(*pitch)};
}

} // namespace smelt::runtime
