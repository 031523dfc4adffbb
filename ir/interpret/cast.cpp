// Casts: between storages, and to the rounding or wrapping of the declared type.
#include "ir/interpret/elementwise.h"

#include "ir/interpret/half.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace smelt::interpret {

namespace {

bool isNarrow(Type type) { return type.isF16() || type.isBF16(); }

/// Whether every value of `from` is one of `to`.
bool holdsAll(IntegerType to, IntegerType from) {
  bool toUnsigned = to.isUnsigned() || to.getWidth() == 1,
       fromUnsigned = from.isUnsigned() || from.getWidth() == 1;
  if (toUnsigned == fromUnsigned)
    return to.getWidth() >= from.getWidth();
  return !toUnsigned && to.getWidth() > from.getWidth();
}

/// Least and largest value that the type and an int64 hold.
std::pair<int64_t, int64_t> range(Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (type.isUnsignedInteger())
    return {0, width == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << width) - 1};
  return {llvm::minIntN(width), llvm::maxIntN(width)};
}

template <typename From> int64_t truncate(From value, std::pair<int64_t, int64_t> bounds) {
  if (value != value)
    return 0;
  if (value <= static_cast<From>(bounds.first))
    return bounds.first;
  // As a float the largest int64 is 2^63, which is out of range itself.
  return value >= static_cast<From>(bounds.second) ? bounds.second : static_cast<int64_t>(value);
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
  return isNarrow(to) || from.isF64();
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
  if constexpr (std::is_same_v<To, int64_t>) {
    if (to.isInteger(1))
      return convert(input, output, count, [](From value) { return value != From(0); });
    if constexpr (std::is_same_v<From, int64_t>)
      return convert(input, output, count, [&](From value) { return wrapInteger(to, value); });
    auto bounds = range(to);
    return convert(input, output, count, [&](From value) { return truncate(value, bounds); });
  } else {
    // Integers go to 16-bit floats through double, which holds them all but the very large.
    using Wide = std::conditional_t<std::is_same_v<From, int64_t>, double, From>;
    if (to.isF16())
      return convert(input, output, count,
                     [](From value) { return roundToHalf(static_cast<Wide>(value)); });
    if (to.isBF16())
      return convert(input, output, count,
                     [](From value) { return roundToBfloat16(static_cast<Wide>(value)); });
    if (from.isF64() && to.isF32())
      return convert(input, output, count, [](From value) { return static_cast<float>(value); });
    return convert(input, output, count, [](From value) { return value; });
  }
}

#define SMELT_CAST(From, To)                                                                       \
  template void castLoop<From, To>(Type, Type, const From *, To *, int64_t);
SMELT_CAST(float, float)
SMELT_CAST(float, double)
SMELT_CAST(float, int64_t)
SMELT_CAST(double, float)
SMELT_CAST(double, double)
SMELT_CAST(double, int64_t)
SMELT_CAST(int64_t, float)
SMELT_CAST(int64_t, double)
SMELT_CAST(int64_t, int64_t)
#undef SMELT_CAST

} // namespace smelt::interpret
