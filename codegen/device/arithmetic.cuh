// Integer arithmetic as the IR means it, bits, and index clamping.
//
// No operand value is undefined behaviour: divisions by zero give 0, the most negative number
// divided by -1 wraps.
#pragma once

#include "device/math.cuh"

namespace smelt {

/// Quotient rounded towards minus infinity; divisor > 0.
__device__ __forceinline__ int divideFloor(int a, int b) { return a / b - (a % b < 0 ? 1 : 0); }

/// Quotient rounded towards zero, 0 for a divisor of 0; exact division for floats.
template <class T> __device__ __forceinline__ T divide(T a, T b) {
  if constexpr (kIsSame<T, float> || kIsSame<T, double>) {
    return a / b;
  } else {
    if (b == T(0))
      return T(0);
    return T(-1) < T(0) && b == T(-1) ? T(T(0) - a) : T(a / b);
  }
}

/// Remainder with the sign of the dividend.
template <class T> __device__ __forceinline__ T moduloTruncate(T a, T b) {
  if constexpr (kIsSame<T, float> || kIsSame<T, double>)
    return fmod(a, b);
  else
    return b == T(0) || (T(-1) < T(0) && b == T(-1)) ? T(0) : T(a % b);
}

/// Remainder with the sign of the divisor, also where it is 0.
template <class T> __device__ __forceinline__ T moduloFloor(T a, T b) {
  T remainder = moduloTruncate(a, b);
  if constexpr (kIsFloat<T>)
    if (remainder == T(0))
      return b < T(0) ? -T(0) : T(0);
  return remainder != T(0) && (remainder < T(0)) != (b < T(0)) ? T(remainder + b) : remainder;
}

template <class T> __device__ __forceinline__ T absolute(T a) {
  if constexpr (kIsSame<T, float> || kIsSame<T, double>)
    return abs(a);
  else
    return a < T(0) ? T(T(0) - a) : a;
}

/// a to the power b; integers by repeated squaring, 0 for a negative exponent unless a is 1 or -1.
/// An integer exponent of an integer keeps its type, which may be the wider one.
template <class T, class Exponent> __device__ __forceinline__ T power(T a, Exponent b) {
  if constexpr (kIsFloat<T>) {
    return T(b) == T(2) ? a * a : pow(a, T(b));
  } else if constexpr (!kIsInteger<Exponent>) {
    return power(a, T(b));
  } else {
    bool isMinusOne = T(-1) < T(0) && a == T(-1);
    if (b < Exponent(0))
      return a == T(1) ? T(1) : isMinusOne ? (b % Exponent(2) == Exponent(0) ? T(1) : T(-1)) : T(0);
    T result = T(1);
    for (; b != Exponent(0); b = Exponent(b / Exponent(2)), a = T(a * a))
      if (b % Exponent(2) != Exponent(0))
        result = T(result * a);
    return result;
  }
}

/// Bits beyond the width are lost; a count that is negative, or the width or more, leaves none.
template <class T> __device__ __forceinline__ T shiftLeft(T a, T b) {
  constexpr int kWidth = 8 * sizeof(T);
  return b < T(0) || b >= T(kWidth) ? T(0) : T(uint64_t(a) << int(b));
}

/// The sign fills what becomes free, all of it for such counts.
template <class T> __device__ __forceinline__ T shiftRight(T a, T b) {
  constexpr int kWidth = 8 * sizeof(T);
  if (b < T(0) || b >= T(kWidth))
    return a < T(0) ? T(-1) : T(0);
  return T(a >> int(b));
}

__device__ __forceinline__ bool isNan(float x) { return x != x; }
__device__ __forceinline__ bool isNan(double x) { return x != x; }
__device__ __forceinline__ bool isInfinite(float x) { return ::fabsf(x) == infinity(); }
__device__ __forceinline__ bool isInfinite(double x) { return ::fabs(x) == double(infinity()); }

/// isInfinite(rounded<Storage>(x)) in one instruction: half way beyond the largest number, floats round to infinity.
template <class Storage> __device__ __forceinline__ bool becomesInfinite(float x) {
  static_assert(kIsHalfWidth<Storage>, "of half or bfloat16");
  constexpr float kFirst = kIsSame<Storage, half> ? 65520.0f : 0x1.ffp127f;
  return ::fabsf(x) >= kFirst;
}

/// Rounds a value to a storage type and back.
template <class Storage, class T> __device__ __forceinline__ T rounded(T x) {
  return convert<T>(convert<Storage>(x));
}

/// An index of an axis of `size` elements, counted from the end where negative, moved inside.
template <class T> __device__ __forceinline__ int clampIndex(T index, int size) {
  if constexpr (sizeof(T) < sizeof(int)) // which may not hold the size
    return clampIndex(int(index), size);
  if (index < T(0))
    index = T(index + T(size));
  return index < T(0) ? 0 : index >= T(size) ? size - 1 : int(index);
}

} // namespace smelt
