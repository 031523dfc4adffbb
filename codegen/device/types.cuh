// Scalar types of device code and the conversions between them.
//
// Problem: a kernel is compiled by NVRTC in tens of milliseconds only if it includes nothing of
// CUDA's or C++'s libraries. So the 16-bit floats, the fixed-width integers and a few type
// predicates live here. Method: `half` and `bfloat16` are storage only; arithmetic happens in
// float, after a conversion that is one PTX instruction (round to nearest even on the way down;
// exact on the way up).
#pragma once

#include "device/small_types.cuh"

namespace smelt {

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;

struct alignas(2) half {
  uint16_t bits;
};

struct alignas(2) bfloat16 {
  uint16_t bits;
};

template <class A, class B> inline constexpr bool kIsSame = false;
template <class A> inline constexpr bool kIsSame<A, A> = true;

/// True for the 16-bit storage types, whose arithmetic is done in float.
template <class T> inline constexpr bool kIsHalfWidth = kIsSame<T, half> || kIsSame<T, bfloat16>;

/// True for the storage types of small_types.cuh.
template <class T> inline constexpr bool kIsSmall = !kIsSame<typename SmallType<T>::compute, void>;

/// True for the floats of 8 bits that tensor cores multiply.
template <class T> inline constexpr bool kIsFloat8 = kIsSame<T, f8e4m3fn> || kIsSame<T, f8e5m2>;
/// Operands of one byte whose products have such sums.
template <class A, class B, class Sum>
inline constexpr bool kMultipliesBytes =
    kIsFloat8<A> || kIsFloat8<B> ? kIsFloat8<A> && kIsFloat8<B> && kIsSame<Sum, float>
                                 : sizeof(A) == 1 && sizeof(B) == 1 && kIsSame<Sum, int32_t>;

template <class T>
inline constexpr bool kIsFloat = kIsSame<T, float> || kIsSame<T, double> || kIsHalfWidth<T>;
template <class T> inline constexpr bool kIsInteger = !kIsFloat<T> && !kIsSame<T, bool>;

template <bool Condition, class A, class B> struct SelectType {
  using type = A;
};
template <class A, class B> struct SelectType<false, A, B> {
  using type = B;
};
template <bool Condition, class A, class B>
using Select = typename SelectType<Condition, A, B>::type;

/// Calls `body` with the constants Begin to End - 1. For loops whose index must be a constant: a
/// pragma is lost when the compiler merges such a loop's end with that of an inner loop of one
/// round.
template <int Value> struct Index {
  __device__ __forceinline__ constexpr operator int() const { return Value; }
};
template <int Begin, int End, class Body>
__device__ __forceinline__ void staticFor(const Body &body) {
  if constexpr (Begin < End) {
    body(Index<Begin>());
    staticFor<Begin + 1, End>(body);
  }
}

constexpr int ceilDiv(int a, int b) { return (a + b - 1) / b; }

__device__ __forceinline__ float toFloat(half x) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
  return result;
}

__device__ __forceinline__ float toFloat(bfloat16 x) {
  return __uint_as_float(static_cast<uint32_t>(x.bits) << 16);
}

__device__ __forceinline__ half toHalf(float x) {
  half result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
}

__device__ __forceinline__ half toHalf(double x) {
  half result;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(result.bits) : "d"(x));
  return result;
}

__device__ __forceinline__ bfloat16 toBfloat16(float x) {
  bfloat16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
}

/// The bits of a value as a type of the same size.
template <class To, class From> __device__ __forceinline__ To bitCast(From value) {
  static_assert(sizeof(To) == sizeof(From), "only between types of one size");
  union Bits {
    From from;
    To to;
    __device__ __forceinline__ Bits() {}
  } bits;
  bits.from = value;
  return bits.to;
}

/// 1.5 * 2^23: in floats of this size the last bit counts ones. Added to a small number, whose bits it
/// then holds, it saves a conversion, which takes eight times as long as an addition.
inline constexpr float kOnes = 12582912.0f;

/// An integer within 2^22 of 0.
__device__ __forceinline__ float wholeFloat(int x) {
  return __int_as_float(__float_as_int(kOnes) + x) - kOnes;
}

/// A whole float within 2^22 of 0; T may cut it off.
template <class T> __device__ __forceinline__ T wholeInteger(float x) {
  return static_cast<T>(__float_as_int(x + kOnes));
}

/// The nearest integer, halves to even, of a float within 2^21 of 0, plus another; T may cut it off.
template <class T> __device__ __forceinline__ T roundToInteger(float x, int added) {
  return static_cast<T>(__float_as_int(x + kOnes) + added);
}

/// The nearest whole number, halves to even, of a float within 2^21 of 0. A zero has no sign.
__device__ __forceinline__ float roundSmall(float x) { return (x + kOnes) - kOnes; }

/// Converts between any two scalar types of the IR. Float to integer truncates towards zero and
/// saturates; anything to bool is `x != 0`; integers reach the smaller floats through float, floats
/// the integers of 4 and 2 bits through int, whose low bits are kept.
template <class To, class From> __device__ __forceinline__ To convert(From x) {
  if constexpr (kIsSame<To, From>) {
    return x;
  } else if constexpr (kIsHalfWidth<From>) {
    return convert<To>(toFloat(x));
  } else if constexpr (kIsSmall<From>) {
    return convert<To>(SmallType<From>::decode(x));
  } else if constexpr (kIsSmall<To>) {
    return SmallType<To>::encode(static_cast<typename SmallType<To>::compute>(x));
  } else if constexpr (kIsSame<To, half>) {
    if constexpr (kIsSame<From, double>)
      return toHalf(x);
    else
      return toHalf(static_cast<float>(x));
  } else if constexpr (kIsSame<To, bfloat16>) {
    return toBfloat16(static_cast<float>(x));
  } else if constexpr (kIsSame<To, bool>) {
    return x != From(0);
  } else if constexpr (kIsSame<To, float> && (kIsSame<From, int8_t> || kIsSame<From, uint8_t>)) {
    return wholeFloat(x);
  } else {
    return static_cast<To>(x);
  }
}

/// Two floats as integers of 8 bits, rounded with halves to even and saturated: `low` in the lowest byte, `high` in the next one,
/// the lower half of `upper` above. Of the three instructions the assembler makes one for sm_90a, F2IP, a NaN 0. It would take
/// a maximum with 0 before them into it, too, F2IP.RELU, which an H200 refuses as illegal (ptxas 13.0): a sum stands between, which is
/// part of a product before it. Elsewhere each is clipped and rounded by itself; F2IP is not known to run there.
template <class T>
__device__ __forceinline__ uint32_t packRounded(float low, float high, uint32_t upper) {
  static_assert(kIsSame<T, int8_t> || kIsSame<T, uint8_t>, "packRounded packs bytes");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
  int first, second;
  uint32_t packed;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(first) : "f"(low + 0.0f));
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(second) : "f"(high + 0.0f));
  if constexpr (kIsSame<T, int8_t>)
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;"
        : "=r"(packed)
        : "r"(second), "r"(first), "r"(upper));
  else
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"
        : "=r"(packed)
        : "r"(second), "r"(first), "r"(upper));
  return packed;
#else
  constexpr float kLeast = kIsSame<T, int8_t> ? -128.0f : 0.0f, kMost = kLeast + 255.0f;
  auto byte = [](float x) -> uint32_t {
    return roundToInteger<uint8_t>(::fminf(::fmaxf(x, kLeast), kMost), 0);
  };
  return byte(low) | byte(high) << 8 | upper << 16;
#endif
}

/// Two floats rounded and packed into one register, `low` in the lower half.
template <class T> __device__ __forceinline__ uint32_t packPair(float low, float high) {
  static_assert(kIsHalfWidth<T>, "packPair packs half or bfloat16");
  uint32_t packed;
  if constexpr (kIsSame<T, half>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

/// The lower (0) or the upper (1) float of a pair.
template <class T> __device__ __forceinline__ float unpackPair(uint32_t pair, int which) {
  return toFloat(T{static_cast<uint16_t>(which == 0 ? pair : pair >> 16)});
}

} // namespace smelt
