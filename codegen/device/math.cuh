// Scalar functions of the IR's elementwise operators, in float and double.
//
// Two accuracies. Functions directly in `smelt` are within about 2 ulp of the exact value (the
// sigmoid family within about 4) and serve 32-bit models. Those in `smelt::approx` spend one or two
// special-function instructions, err by less than 1e-6 absolute or 2^-18 relative, and are for
// results that are rounded to 16 bits, or quantised, right away. No global fast-math flag is assumed or
// wanted.
#pragma once

#include "device/ptx.cuh"

namespace smelt {

inline constexpr float kLog2E = 1.44269504088896341f;

__device__ __forceinline__ float infinity() { return __int_as_float(0x7f800000); }

#define SMELT_UNARY(name, floatCall, doubleCall)                                                   \
  __device__ __forceinline__ float name(float x) { return floatCall; }                             \
  __device__ __forceinline__ double name(double x) { return doubleCall; }

SMELT_UNARY(abs, ::fabsf(x), ::fabs(x))
SMELT_UNARY(ceil, ::ceilf(x), ::ceil(x))
SMELT_UNARY(floor, ::floorf(x), ::floor(x))
SMELT_UNARY(roundEven, ::rintf(x), ::rint(x))
SMELT_UNARY(sqrt, ::sqrtf(x), ::sqrt(x))
SMELT_UNARY(rsqrt, ::rsqrtf(x), ::rsqrt(x))
SMELT_UNARY(reciprocal, 1.0f / x, 1.0 / x)
SMELT_UNARY(exp, ::expf(x), ::exp(x))
SMELT_UNARY(expm1, ::expm1f(x), ::expm1(x))
SMELT_UNARY(log, ::logf(x), ::log(x))
SMELT_UNARY(sin, ::sinf(x), ::sin(x))
SMELT_UNARY(cos, ::cosf(x), ::cos(x))
SMELT_UNARY(tan, ::tanf(x), ::tan(x))
SMELT_UNARY(asin, ::asinf(x), ::asin(x))
SMELT_UNARY(acos, ::acosf(x), ::acos(x))
SMELT_UNARY(atan, ::atanf(x), ::atan(x))
SMELT_UNARY(sinh, ::sinhf(x), ::sinh(x))
SMELT_UNARY(cosh, ::coshf(x), ::cosh(x))
SMELT_UNARY(tanh, ::tanhf(x), ::tanh(x))
SMELT_UNARY(asinh, ::asinhf(x), ::asinh(x))
SMELT_UNARY(acosh, ::acoshf(x), ::acosh(x))
SMELT_UNARY(atanh, ::atanhf(x), ::atanh(x))
SMELT_UNARY(erf, ::erff(x), ::erf(x))
SMELT_UNARY(sigmoid, __fdividef(1.0f, 1.0f + ::expf(-x)), 1.0 / (1.0 + ::exp(-x)))
SMELT_UNARY(silu, x *sigmoid(x), x *sigmoid(x))
SMELT_UNARY(softplus, ::fmaxf(x, 0.0f) + ::log1pf(::expf(-::fabsf(x))),
            ::fmax(x, 0.0) + ::log1p(::exp(-::fabs(x))))
/// x * Phi(x), Phi the normal distribution function: by erfc, which does not cancel for negative x.
SMELT_UNARY(gelu, 0.5f * x * ::erfcf(x * -0.70710678118654752f),
            0.5 * x * ::erfc(x * -0.70710678118654752440))
/// The tanh form of GELU: x/2 * (1 + tanh(u)) = x * sigmoid(2 u), u = sqrt(2/pi) * (x + 0.044715
/// x^3).
SMELT_UNARY(geluTanh, x *sigmoid(1.5957691216057308f * x * ::fmaf(0.044715f * x, x, 1.0f)),
            x *sigmoid(1.5957691216057307117 * x * ::fma(0.044715 * x, x, 1.0)))
#undef SMELT_UNARY

__device__ __forceinline__ float pow(float x, float y) { return ::powf(x, y); }
__device__ __forceinline__ double pow(double x, double y) { return ::pow(x, y); }
__device__ __forceinline__ float fmod(float x, float y) { return ::fmodf(x, y); }
__device__ __forceinline__ double fmod(double x, double y) { return ::fmod(x, y); }

/// One of two values. Integers are selected by an instruction that the compiler does not see: it
/// makes minima of comparisons and selections, and where two are nested and an operand is negated,
/// ptxas 13.0 makes of them a VIMNMX3 without the negation: min(min(s, -x), x) becomes min(s, x, x).
template <class T> __device__ __forceinline__ T choose(bool condition, T a, T b) {
  if constexpr (kIsInteger<T> && sizeof(T) <= sizeof(int)) {
    int result;
    asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; selp.s32 %0, %1, %2, p; }"
        : "=r"(result)
        : "r"(int(a)), "r"(int(b)), "r"(int(condition)));
    return T(result);
  } else {
    return condition ? a : b;
  }
}

/// x / y as the division rounds it, given 1 / y rounded, for a third of its instructions: a product and
/// Markstein's correction. x is finite. Exact where |y| is within 2^60 of 1 but for quotients near the
/// subnormal ones, which may be off by one of their units.
__device__ __forceinline__ float divideFiniteByNumber(float x, float y, float reciprocal) {
  float quotient = x * reciprocal;
  return ::fmaf(::fmaf(-quotient, y, x), reciprocal, quotient);
}

/// The same of any x: infinity and NaN have no correction.
__device__ __forceinline__ float divideByNumber(float x, float y, float reciprocal) {
  float quotient = x * reciprocal;
  return ::fabsf(quotient) < infinity() ? divideFiniteByNumber(x, y, reciprocal) : quotient;
}

/// Maximum and minimum as ONNX and NumPy mean them: NaN if either operand is NaN.
template <class T> __device__ __forceinline__ T maximum(T a, T b) {
  if constexpr (kIsSame<T, float>) {
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
  } else if constexpr (kIsSame<T, double>) {
    return a > b || a != a ? a : b;
  } else {
    return choose(a > b, a, b);
  }
}

template <class T> __device__ __forceinline__ T minimum(T a, T b) {
  if constexpr (kIsSame<T, float>) {
    float result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
  } else if constexpr (kIsSame<T, double>) {
    return a < b || a != a ? a : b;
  } else {
    return choose(a < b, a, b);
  }
}

/// -1, 0 or 1; NaN stays NaN.
template <class T> __device__ __forceinline__ T sign(T x) {
  return x > T(0) ? T(1) : (x < T(0) ? T(-1) : x);
}

namespace approx {

__device__ __forceinline__ float exp(float x) { return ptx::exp2Approx(x * kLog2E); }

__device__ __forceinline__ float sigmoid(float x) { return ptx::reciprocalApprox(1.0f + exp(-x)); }

__device__ __forceinline__ float silu(float x) { return x * sigmoid(x); }

/// 1 - 2 / (1 + e^2x): absolute error about 1e-7.
__device__ __forceinline__ float tanh(float x) {
  return ::fmaf(-2.0f, ptx::reciprocalApprox(1.0f + exp(2.0f * x)), 1.0f);
}

/// x * Phi(x). The tail Q(|x|) = 1 - Phi(|x|) is 2 to the power of a polynomial, the minimax fit of
/// its logarithm weighted by |x| Q(|x|): absolute error 7e-7, one special-function instruction, and
/// no cancellation for negative x. Past |x| = 64 the tail is 0, which also serves infinities.
__device__ __forceinline__ float gelu(float x) {
  float magnitude = ::fminf(::fabsf(x), 64.0f);
  float exponent = ::fmaf(magnitude, -4.73223708e-4f, 7.08401724e-3f);
  exponent = ::fmaf(magnitude, exponent, -5.18261739e-2f);
  exponent = ::fmaf(magnitude, exponent, -4.59993606e-1f);
  exponent = ::fmaf(magnitude, exponent, -1.15078739f);
  exponent = ::fmaf(magnitude, exponent, -1.00003768f);
  return ::fmaf(-magnitude, ptx::exp2Approx(exponent), maximum(x, 0.0f));
}

/// The tanh form of GELU, as x * sigmoid(2 u); what e is raised to is one polynomial, with log2(e) in its coefficients.
__device__ __forceinline__ float geluTanh(float x) {
  float exponent = x * ::fmaf(-0.102943240f, x * x, -2.30220819f);
  return x * ptx::reciprocalApprox(1.0f + ptx::exp2Approx(exponent));
}

} // namespace approx
} // namespace smelt
