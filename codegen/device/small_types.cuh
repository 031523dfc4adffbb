// Scalar types of at most 8 bits that are storage only: one value a byte, its code in the low bits
// and 0 in the others.
//
// Problem: quantised models store floats of 8 and 4 bits and integers of 4 and 2, which no device
// before sm_89 converts. Method: conversions in integer arithmetic, the same on every device; a
// format is five constants. Rounding is to nearest, ties to even (powers of two: up). What is
// beyond a format's largest number becomes its infinity or its NaN; f4e2m1, which has neither,
// keeps the largest and stores NaN as -0. Assumes: included by types.cuh alone.
#pragma once

namespace smelt {

using uint8_t = unsigned char;
using uint32_t = unsigned int;

/// A float of kBits bits; kOverflow is the code of what is too large. kHasOneNan: the code of -0 is
/// that of NaN, and neither has a sign.
template <int Bits, int Mantissa, int Bias, int Largest, int Overflow, int Nan, bool HasOneNan>
struct StoredFloat {
  static constexpr int kBits = Bits, kMantissa = Mantissa, kBias = Bias, kLargest = Largest;
  static constexpr int kOverflow = Overflow, kNan = Nan;
  static constexpr bool kHasOneNan = HasOneNan;
  uint8_t code;
};

using f8e4m3fn = StoredFloat<8, 3, 7, 0x7e, 0x7f, 0x7f, false>;
using f8e4m3fnuz = StoredFloat<8, 3, 8, 0x7f, 0x80, 0x80, true>;
using f8e5m2 = StoredFloat<8, 2, 15, 0x7b, 0x7c, 0x7e, false>;
using f8e5m2fnuz = StoredFloat<8, 2, 16, 0x7f, 0x80, 0x80, true>;
using f4e2m1 = StoredFloat<4, 1, 1, 0x7, 0x7, 0x8, false>;

/// A power of two, 2^(code - 127); 255 is NaN.
struct f8e8m0 {
  uint8_t code;
};

template <int Bits, bool Signed> struct StoredInteger {
  uint8_t code;
};

using i4 = StoredInteger<4, true>;
using u4 = StoredInteger<4, false>;
using i2 = StoredInteger<2, true>;
using u2 = StoredInteger<2, false>;

/// What the elements of a storage type are computed in; void for other types.
template <class T> struct SmallType {
  using compute = void;
};

template <int B, int M, int Bias, int L, int O, int N, bool One>
struct SmallType<StoredFloat<B, M, Bias, L, O, N, One>> {
  using compute = float;
  using Format = StoredFloat<B, M, Bias, L, O, N, One>;

  static __device__ __forceinline__ float decode(Format x) {
    uint32_t sign = (x.code >> (B - 1)) & 1u, magnitude = x.code & ((1u << (B - 1)) - 1u);
    uint32_t bits = sign << 31;
    if (One && x.code == N)
      return __uint_as_float(0x7fc00000u);
    if (magnitude > L)
      return __uint_as_float(bits | (O != N && magnitude == O ? 0x7f800000u : 0x7fc00000u));
    float scaled = magnitude >> M != 0
                       ? __uint_as_float((magnitude << (23 - M)) + ((127u - Bias) << 23))
                       : magnitude * __uint_as_float((128u - Bias - M) << 23);
    return __uint_as_float(__float_as_uint(scaled) | bits);
  }

  static __device__ __forceinline__ Format encode(float x) {
    uint32_t bits = __float_as_uint(x), magnitude = bits & 0x7fffffffu;
    uint32_t sign = (bits >> 31) << (B - 1), code;
    if (magnitude > 0x7f800000u)
      return {static_cast<uint8_t>(B == 8 && !One ? N | sign : N)};
    if (magnitude < (128u - Bias) << 23) {
      // Added to a number whose last bit is the smallest step, the magnitude leaves its code.
      constexpr uint32_t kBase = (151u - Bias - M) << 23;
      code = __float_as_uint(__uint_as_float(magnitude) + __uint_as_float(kBase)) - kBase;
    } else {
      constexpr int kDropped = 23 - M;
      uint32_t odd = (magnitude >> kDropped) & 1u;
      code = ((magnitude + (1u << (kDropped - 1)) - 1u + odd) >> kDropped) -
             (static_cast<uint32_t>(127 - Bias) << M);
    }
    code = code > L ? O : code;
    if (One && (code == 0 || code == N))
      sign = 0;
    return {static_cast<uint8_t>(code | sign)};
  }
};

template <> struct SmallType<f8e8m0> {
  using compute = float;
  static __device__ __forceinline__ float decode(f8e8m0 x) {
    uint32_t bits = x.code == 255 ? 0x7fc00000u : static_cast<uint32_t>(x.code) << 23;
    return __uint_as_float(x.code == 0 ? 0x00400000u : bits);
  }
  static __device__ __forceinline__ f8e8m0 encode(float x) {
    uint32_t bits = __float_as_uint(x), exponent = bits >> 23;
    if (bits == 0 || bits >= 0x7f800000u)
      return {255};
    uint32_t halfway = exponent == 0 ? 0x00600000u : 0x00400000u;
    return {static_cast<uint8_t>(exponent + ((bits & 0x7fffffu) >= halfway))};
  }
};

template <int Bits, bool Signed> struct SmallType<StoredInteger<Bits, Signed>> {
  using compute = int;
  static __device__ __forceinline__ int decode(StoredInteger<Bits, Signed> x) {
    int code = x.code & ((1 << Bits) - 1);
    return Signed && code >> (Bits - 1) != 0 ? code - (1 << Bits) : code;
  }
  static __device__ __forceinline__ StoredInteger<Bits, Signed> encode(int x) {
    return {static_cast<uint8_t>(x & ((1 << Bits) - 1))};
  }
};

} // namespace smelt
