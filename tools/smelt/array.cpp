#include "tools/smelt/array.h"

#include "ir/interpret/half.h"
#include "ir/interpret/small_float.h"
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

static const SmallFloat &floatFormat(ElementType type) {
  switch (type) {
  case ElementType::f8e4m3fn:
    return kFloat8E4M3FN;
  case ElementType::f8e4m3fnuz:
    return kFloat8E4M3FNUZ;
  case ElementType::f8e5m2:
    return kFloat8E5M2;
  case ElementType::f8e5m2fnuz:
    return kFloat8E5M2FNUZ;
  case ElementType::f4e2m1:
    return kFloat4E2M1;
  default:
    return kFloat8E8M0;
  }
}

static double smallInteger(ElementType type, uint8_t code) {
  bool isSigned = type == ElementType::i4 || type == ElementType::i2;
  int mask = codeMask(type), value = code & mask;
  return isSigned && value > mask / 2 ? value - mask - 1 : value;
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
  default:
    break;
  }
  auto code = static_cast<uint8_t>(*element);
  return isFloat(type) ? floatFormat(type).decode(code) : smallInteger(type, code);
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
  default:
    break;
  }
  auto code = isFloat(type) ? floatFormat(type).encode(static_cast<float>(value))
                            : static_cast<uint8_t>(static_cast<int64_t>(value));
  store(element, static_cast<uint8_t>(code & codeMask(type)));
}

bool isFloat(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16 ||
         type == ElementType::f64 || isSmallFloat(type);
}

bool isSmallFloat(ElementType type) {
  return type >= ElementType::f8e4m3fn && type <= ElementType::f8e8m0;
}

bool isSmall(ElementType type) { return type >= ElementType::f8e4m3fn && type <= ElementType::u2; }

uint8_t codeMask(ElementType type) {
  switch (type) {
  case ElementType::f4e2m1:
  case ElementType::i4:
  case ElementType::u4:
    return 0xf;
  case ElementType::i2:
  case ElementType::u2:
    return 0x3;
  default:
    return 0xff;
  }
}

} // namespace smelt::tools
