// Casts: between storages, and to the rounding or wrapping of the declared type.
#include "ir/interpret/elementwise.h"

#include "ir/interpret/half.h"
#include "ir/interpret/simd.h"
#include "ir/interpret/small_float.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace smelt::interpret {

namespace {

/// Whether every value of `from` is one of `to`.
bool holdsAll(IntegerType to, IntegerType from) {
  bool toUnsigned = to.isUnsigned() || to.getWidth() == 1,
       fromUnsigned = from.isUnsigned() || from.getWidth() == 1;
  if (toUnsigned == fromUnsigned)
    return to.getWidth() >= from.getWidth();
  return !toUnsigned && to.getWidth() > from.getWidth();
}

/// To holds the bounds and all between them.
template <typename To, typename From> To truncate(From value, To least, To largest) {
  if (value != value)
    return 0;
  if (value <= static_cast<From>(least))
    return least;
  // As a float the largest integer of 64 bits is a power of two, which is out of range itself.
  return value >= static_cast<From>(largest) ? largest : static_cast<To>(value);
}

template <typename T> T roundToHalf(T value) {
  return halfToFloat(std::is_same_v<T, float> ? floatToHalf(value) : doubleToHalf(value));
}

template <typename T> T roundToBfloat16(T value) {
  return bfloat16ToFloat(std::is_same_v<T, float> ? floatToBfloat16(value)
                                                  : doubleToBfloat16(value));
}

template <typename From, typename To, typename Convert>
void convert(const From *input, To *output, int64_t count, Convert function) {
  for (int64_t i = 0; i < count; ++i)
    output[i] = static_cast<To>(function(input[i]));
}

} // namespace

bool castChangesValues(Type from, Type to) {
  if (from == to)
    return false;
  auto fromInteger = dyn_cast<IntegerType>(from), toInteger = dyn_cast<IntegerType>(to);
  if (fromInteger && toInteger)
    return toInteger.getWidth() == 1 || !holdsAll(toInteger, fromInteger);
  return (isa<FloatType>(to) && to.getIntOrFloatBitWidth() < 32) || from.isF64();
}

std::pair<int64_t, int64_t> integerRange(Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (type.isUnsignedInteger() || width == 1)
    return {0, static_cast<int64_t>(llvm::maxUIntN(width))};
  return {llvm::minIntN(width), llvm::maxIntN(width)};
}

int64_t wrapInteger(Type type, int64_t value) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 64)
    return value;
  uint64_t bits = static_cast<uint64_t>(value) & llvm::maskTrailingOnes<uint64_t>(width);
  return type.isUnsignedInteger() || width == 1 ? static_cast<int64_t>(bits)
                                                : llvm::SignExtend64(bits, width);
}

void wrapIntegers(HostTensor &tensor) {
  Type type = tensor.getElementType();
  if (tensor.getStorage() != Storage::i64 || type.getIntOrFloatBitWidth() == 64)
    return;
  for (int64_t &value : tensor.mutableValues<int64_t>())
    value = wrapInteger(type, value);
}

template <typename From, typename To>
void castLoop(Type from, Type to, const From *input, To *output, int64_t count) {
  if constexpr (std::is_integral_v<To>) {
    if (to.isInteger(1))
      return convert(input, output, count, [](From value) { return value != From(0); });
    if constexpr (std::is_integral_v<From>) {
      return convert(input, output, count,
                     [&](From value) { return wrapInteger(to, static_cast<int64_t>(value)); });
    } else {
      // Below 8 bits, what a float holds beyond the range wraps around.
      Type through = to.getIntOrFloatBitWidth() < 8 ? IntegerType::get(to.getContext(), 32) : to;
      auto bounds = integerRange(through);
      To least = static_cast<To>(bounds.first), largest = static_cast<To>(bounds.second);
      return convert(input, output, count, [&](From value) {
        auto whole = static_cast<int64_t>(truncate<To>(value, least, largest));
        return wrapInteger(to, whole);
      });
    }
  } else {
    // Integers go to 16-bit floats through double, which holds them all but the very large.
    using Wide = std::conditional_t<std::is_integral_v<From>, double, From>;
    if constexpr (std::is_same_v<From, float> && std::is_same_v<To, float>)
      if (to.isF16())
        return simdKernels().roundToHalf(input, output, count);
    if (to.isF16())
      return convert(input, output, count,
                     [](From value) { return roundToHalf(static_cast<Wide>(value)); });
    if (to.isBF16())
      return convert(input, output, count,
                     [](From value) { return roundToBfloat16(static_cast<Wide>(value)); });
    if (std::optional<SmallFloat> format = SmallFloat::of(to))
      return convert(input, output, count, [&](From value) {
        float near = std::is_same_v<Wide, float> ? static_cast<float>(value)
                                                 : doubleToOddFloat(static_cast<double>(value));
        return format->decode(format->encode(near));
      });
    if (from.isF64() && to.isF32())
      return convert(input, output, count, [](From value) { return static_cast<float>(value); });
    return convert(input, output, count, [](From value) { return value; });
  }
}

#define SMELT_CAST(From, To)                                                                       \
  template void castLoop<From, To>(Type, Type, const From *, To *, int64_t);
#define SMELT_CASTS(From)                                                                          \
  SMELT_CAST(From, float)                                                                          \
  SMELT_CAST(From, double)                                                                         \
  SMELT_CAST(From, int64_t)                                                                        \
  SMELT_CAST(From, uint64_t)
SMELT_CASTS(float)
SMELT_CASTS(double)
SMELT_CASTS(int64_t)
SMELT_CASTS(uint64_t)
#undef SMELT_CASTS
#undef SMELT_CAST

} // namespace smelt::interpret

void smelt::roundValues(HostTensor &tensor, Type to) {
  visitStorage(tensor.getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (!std::is_integral_v<T>) {
      MutableArrayRef<T> values = tensor.mutableValues<T>();
      interpret::castLoop(tensor.getElementType(), to, values.data(), values.data(),
                          static_cast<int64_t>(values.size()));
    }
  });
}
