// Two-operand loops.
#include "ir/interpret/elementwise.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace smelt::interpret {

namespace {

// A loop for each combination of strides: each vectorises.
template <typename T, typename Out, typename Function>
void apply(const T *lhs, int64_t lhsStride, const T *rhs, int64_t rhsStride, Out *output,
           int64_t count) {
  Function function;
  if (lhsStride && rhsStride) {
#pragma clang loop vectorize(assume_safety)
    for (int64_t i = 0; i < count; ++i)
      output[i] = function(lhs[i], rhs[i]);
  } else if (lhsStride) {
    T y = *rhs;
#pragma clang loop vectorize(assume_safety)
    for (int64_t i = 0; i < count; ++i)
      output[i] = function(lhs[i], y);
  } else if (rhsStride) {
    T x = *lhs;
#pragma clang loop vectorize(assume_safety)
    for (int64_t i = 0; i < count; ++i)
      output[i] = function(x, rhs[i]);
  } else {
    std::fill_n(output, count, function(*lhs, *rhs));
  }
}

template <typename T> using Wrapping = std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>;

int64_t divideIntegers(int64_t x, int64_t y) {
  if (y == 0)
    return 0;
  return y == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(x)) : x / y;
}

int64_t remainder(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }

uint64_t divideIntegers(uint64_t x, uint64_t y) { return y == 0 ? 0 : x / y; }

uint64_t remainder(uint64_t x, uint64_t y) { return y == 0 ? 0 : x % y; }

/// The remainder with the sign of the divisor.
int64_t modulo(int64_t x, int64_t y) {
  int64_t r = remainder(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

uint64_t modulo(uint64_t x, uint64_t y) { return remainder(x, y); }

/// By repeated squaring, modulo 2^64.
uint64_t powerOfInteger(uint64_t base, uint64_t y) {
  uint64_t result = 1;
  for (; y > 0; y /= 2, base *= base)
    result *= y % 2 ? base : 1;
  return result;
}

/// Negative exponents give the truncated fraction.
int64_t powerOfInteger(int64_t x, int64_t y) {
  if (y < 0)
    return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
  return static_cast<int64_t>(powerOfInteger(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
}

/// What exceeds the width is cut off behind the loops.
uint64_t shiftLeft(uint64_t x, uint64_t y) { return y > 63 ? 0 : x << y; }

uint64_t shiftRight(uint64_t x, uint64_t y) { return y > 63 ? 0 : x >> y; }
int64_t shiftRight(int64_t x, int64_t y) { return x >> (y < 0 || y > 63 ? 63 : y); }

#define SMELT_SCALAR(Name, body)                                                                   \
  struct Name {                                                                                    \
    template <typename T> auto operator()(T x, T y) const { body; }                                \
  };
SMELT_SCALAR(Add, return static_cast<T>(Wrapping<T>(x) + Wrapping<T>(y)))
SMELT_SCALAR(Subtract, return static_cast<T>(Wrapping<T>(x) - Wrapping<T>(y)))
SMELT_SCALAR(Multiply, return static_cast<T>(Wrapping<T>(x) * Wrapping<T>(y)))
SMELT_SCALAR(Minimum, return x < y || x != x ? x : y)
SMELT_SCALAR(Maximum, return x > y || x != x ? x : y)
SMELT_SCALAR(Equal, return static_cast<int64_t>(x == y))
SMELT_SCALAR(Less, return static_cast<int64_t>(x < y))
SMELT_SCALAR(LessEqual, return static_cast<int64_t>(x <= y))
SMELT_SCALAR(DivideFloats, return x / y)
SMELT_SCALAR(DivideIntegers, return divideIntegers(x, y))
SMELT_SCALAR(PowerOfFloat, return y == T(2) ? x * x : static_cast<T>(std::pow(x, y)))
SMELT_SCALAR(PowerOfInteger, return powerOfInteger(x, y))
SMELT_SCALAR(PowerByUnsigned, return static_cast<T>(powerOfInteger(uint64_t(x), uint64_t(y))))
SMELT_SCALAR(PowerOfUnsigned, return int64_t(y) < 0 ? T(x == 1) : powerOfInteger(x, y))
SMELT_SCALAR(FloatRemainder, return static_cast<T>(std::fmod(x, y)))
SMELT_SCALAR(FloatModulo, T r = std::fmod(x, y); if (r == T(0)) return std::copysign(r, y);
             return (r < T(0)) != (y < T(0)) ? r + y : r)
SMELT_SCALAR(IntegerRemainder, return remainder(x, y))
SMELT_SCALAR(IntegerModulo, return modulo(x, y))
SMELT_SCALAR(And, return static_cast<T>(x && y))
SMELT_SCALAR(Or, return static_cast<T>(x || y))
SMELT_SCALAR(Xor, return static_cast<T>(!x != !y))
SMELT_SCALAR(BitAnd, return x & y)
SMELT_SCALAR(BitOr, return x | y)
SMELT_SCALAR(BitXor, return x ^ y)
SMELT_SCALAR(ShiftLeft, return static_cast<T>(shiftLeft(x, y)))
SMELT_SCALAR(ShiftRight, return shiftRight(x, y))
#undef SMELT_SCALAR

template <typename T> BinaryLoop<T, T> commonBinaryLoop(Operation *op) {
  if (isa<AddOp>(op))
    return apply<T, T, Add>;
  if (isa<SubOp>(op))
    return apply<T, T, Subtract>;
  if (isa<MulOp>(op))
    return apply<T, T, Multiply>;
  if (isa<MinOp>(op))
    return apply<T, T, Minimum>;
  if (isa<MaxOp>(op))
    return apply<T, T, Maximum>;
  return nullptr;
}

template <typename T> BinaryLoop<T, T> floatLoop(Operation *op) {
  if (isa<DivOp>(op))
    return apply<T, T, DivideFloats>;
  if (isa<PowOp>(op))
    return apply<T, T, PowerOfFloat>;
  if (auto mod = dyn_cast<ModOp>(op))
    return mod.getFmod() ? apply<T, T, FloatRemainder> : apply<T, T, FloatModulo>;
  return commonBinaryLoop<T>(op);
}

} // namespace

template <> BinaryLoop<float, float> arithmeticLoop<float>(Operation *op) {
  return floatLoop<float>(op);
}
template <> BinaryLoop<double, double> arithmeticLoop<double>(Operation *op) {
  return floatLoop<double>(op);
}

/// Exponents have a type of their own.
template <typename T> static BinaryLoop<T, T> integerPowerLoop(PowOp op) {
  if (tensorType(op.getRhs()).getElementType().isUnsignedInteger(64))
    return apply<T, T, PowerByUnsigned>;
  if constexpr (std::is_same_v<T, uint64_t>)
    return apply<T, T, PowerOfUnsigned>;
  else
    return apply<T, T, PowerOfInteger>;
}

template <typename T> static BinaryLoop<T, T> bitLoop(Operation *op) {
  if (isa<BitAndOp>(op))
    return apply<T, T, BitAnd>;
  if (isa<BitOrOp>(op))
    return apply<T, T, BitOr>;
  if (isa<BitXorOp>(op))
    return apply<T, T, BitXor>;
  if (isa<ShiftLeftOp>(op))
    return apply<T, T, ShiftLeft>;
  return isa<ShiftRightOp>(op) ? apply<T, T, ShiftRight> : nullptr;
}

template <typename T> static BinaryLoop<T, T> integerLoop(Operation *op) {
  if (isa<DivOp>(op))
    return apply<T, T, DivideIntegers>;
  if (auto power = dyn_cast<PowOp>(op))
    return integerPowerLoop<T>(power);
  if (auto mod = dyn_cast<ModOp>(op))
    return mod.getFmod() ? apply<T, T, IntegerRemainder> : apply<T, T, IntegerModulo>;
  if (isa<AndOp>(op))
    return apply<T, T, And>;
  if (isa<OrOp>(op))
    return apply<T, T, Or>;
  if (isa<XorOp>(op))
    return apply<T, T, Xor>;
  if (auto loop = bitLoop<T>(op))
    return loop;
  return commonBinaryLoop<T>(op);
}

template <> BinaryLoop<int64_t, int64_t> arithmeticLoop<int64_t>(Operation *op) {
  return integerLoop<int64_t>(op);
}
template <> BinaryLoop<uint64_t, uint64_t> arithmeticLoop<uint64_t>(Operation *op) {
  return integerLoop<uint64_t>(op);
}

template <typename T> BinaryLoop<T, int64_t> comparisonLoop(Operation *op) {
  if (isa<EqualOp>(op))
    return apply<T, int64_t, Equal>;
  if (isa<LessOp>(op))
    return apply<T, int64_t, Less>;
  if (isa<LessEqualOp>(op))
    return apply<T, int64_t, LessEqual>;
  return nullptr;
}

template BinaryLoop<float, int64_t> comparisonLoop<float>(Operation *op);
template BinaryLoop<double, int64_t> comparisonLoop<double>(Operation *op);
template BinaryLoop<int64_t, int64_t> comparisonLoop<int64_t>(Operation *op);
template BinaryLoop<uint64_t, int64_t> comparisonLoop<uint64_t>(Operation *op);

} // namespace smelt::interpret
