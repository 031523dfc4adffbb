#include "tools/smelt/array.h"

#include "ir/interpret/half.h"
#include "runtime/checked_math.h"
#include "runtime/text.h"

#include <cstring>
#include <new>

namespace smelt::tools {

std::optional<uint64_t> byteCount(ElementType type, const std::vector<int64_t> &shape) {
  std::optional<uint64_t> total = plan::elementBytes(type);
  for (int64_t extent : shape) {
    if (extent < 0)
      return std::nullopt;
    total = checkedMul(*total, static_cast<uint64_t>(extent));
    if (!total)
      return std::nullopt;
  }
  return total;
}

Result<Array> Array::zeros(ElementType type, std::vector<int64_t> shape) {
  for (int64_t extent : shape)
    if (extent < 0)
      return Status(StatusCode::kUsage, "negative extent in shape " + shapeText(shape));
  std::optional<uint64_t> total = byteCount(type, shape);
  Array tensor{type, std::move(shape), {}};
  auto tooLarge = [&] {
    return Status(StatusCode::kResources, joinText("a tensor of shape ", shapeText(tensor.shape),
                                                   " does not fit into memory"));
  };
  if (!total || *total > tensor.bytes.max_size())
    return tooLarge();
  try {
    tensor.bytes.resize(*total);
  } catch (const std::bad_alloc &) {
    return tooLarge();
  }
  return tensor;
}

template <typename T> static double load(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return static_cast<double>(value);
}

template <typename T> static void store(std::byte *at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

double Array::at(size_t index) const {
  const std::byte *element = bytes.data() + index * plan::elementBytes(type);
  switch (type) {
  case ElementType::f32:
    return load<float>(element);
  case ElementType::f16:
    return load<_Float16>(element);
  case ElementType::bf16: {
    uint16_t bits;
    std::memcpy(&bits, element, sizeof(bits));
    return bfloat16ToFloat(bits);
  }
  case ElementType::f64:
    return load<double>(element);
  case ElementType::i64:
    return load<int64_t>(element);
  case ElementType::i32:
    return load<int32_t>(element);
  case ElementType::i16:
    return load<int16_t>(element);
  case ElementType::i8:
    return load<int8_t>(element);
  case ElementType::u8:
  case ElementType::boolean:
    return load<uint8_t>(element);
  case ElementType::u16:
    return load<uint16_t>(element);
  case ElementType::u32:
    return load<uint32_t>(element);
  case ElementType::u64:
    return load<uint64_t>(element);
  }
  return 0;
}

bool Array::isSameAt(size_t index, const Array &other) const {
  size_t width = plan::elementBytes(type);
  return std::memcmp(bytes.data() + index * width, other.bytes.data() + index * width, width) == 0;
}

void Array::set(size_t index, double value) {
  std::byte *element = bytes.data() + index * plan::elementBytes(type);
  switch (type) {
  case ElementType::f32:
    return store(element, static_cast<float>(value));
  case ElementType::f16:
    return store(element, static_cast<_Float16>(value));
  case ElementType::bf16:
    return store(element, floatToBfloat16(static_cast<float>(value)));
  case ElementType::f64:
    return store(element, value);
  case ElementType::i64:
    return store(element, static_cast<int64_t>(value));
  case ElementType::i32:
    return store(element, static_cast<int32_t>(value));
  case ElementType::i16:
    return store(element, static_cast<int16_t>(value));
  case ElementType::i8:
    return store(element, static_cast<int8_t>(value));
  case ElementType::u8:
    return store(element, static_cast<uint8_t>(value));
  case ElementType::boolean:
    return store(element, static_cast<uint8_t>(value != 0));
  case ElementType::u16:
    return store(element, static_cast<uint16_t>(value));
  case ElementType::u32:
    return store(element, static_cast<uint32_t>(value));
  case ElementType::u64:
    return store(element, static_cast<uint64_t>(value));
  }
}

bool isFloat(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16 ||
         type == ElementType::f64;
}

} // namespace smelt::tools
