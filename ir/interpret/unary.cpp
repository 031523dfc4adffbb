// One-operand loops. The transcendental functions of floats are the vectorised ones of simd.h,
// those of doubles the C++ library's.
#include "ir/interpret/elementwise.h"

#include "ir/interpret/simd.h"

#include <cmath>

using namespace mlir;

namespace smelt::interpret {

namespace {

template <typename T, typename Function> void apply(const T *input, T *output, int64_t count) {
#pragma clang loop vectorize(assume_safety)
  for (int64_t i = 0; i < count; ++i)
    output[i] = Function()(input[i]);
}

// Each struct is the meaning of one op for one element.
#define SMELT_SCALAR(Name, expression)                                                             \
  struct Name {                                                                                    \
    template <typename T> T operator()(T x) const { return static_cast<T>(expression); }           \
  };
SMELT_SCALAR(Absolute, std::abs(x))
SMELT_SCALAR(Negate, -x)
SMELT_SCALAR(Exponential, std::exp(x))
SMELT_SCALAR(ExponentialMinusOne, std::expm1(x))
SMELT_SCALAR(Logarithm, std::log(x))
SMELT_SCALAR(SquareRoot, std::sqrt(x))
SMELT_SCALAR(ReciprocalRoot, T(1) / std::sqrt(x))
SMELT_SCALAR(Reciprocal, T(1) / x)
SMELT_SCALAR(Sine, std::sin(x))
SMELT_SCALAR(Cosine, std::cos(x))
SMELT_SCALAR(Tangent, std::tan(x))
SMELT_SCALAR(InverseSine, std::asin(x))
SMELT_SCALAR(InverseCosine, std::acos(x))
SMELT_SCALAR(InverseTangent, std::atan(x))
SMELT_SCALAR(HyperbolicSine, std::sinh(x))
SMELT_SCALAR(HyperbolicCosine, std::cosh(x))
SMELT_SCALAR(HyperbolicTangent, std::tanh(x))
SMELT_SCALAR(InverseHyperbolicSine, std::asinh(x))
SMELT_SCALAR(InverseHyperbolicCosine, std::acosh(x))
SMELT_SCALAR(InverseHyperbolicTangent, std::atanh(x))
SMELT_SCALAR(ErrorFunction, std::erf(x))
SMELT_SCALAR(Sigmoid, T(1) / (T(1) + std::exp(-x)))
SMELT_SCALAR(Silu, x / (T(1) + std::exp(-x)))
SMELT_SCALAR(Relu, x > T(0) || x != x ? x : T(0))
SMELT_SCALAR(Softplus, (x > T(0) ? x : T(0)) + std::log1p(std::exp(x > T(0) ? -x : x)))
SMELT_SCALAR(Floor, std::floor(x))
SMELT_SCALAR(Ceiling, std::ceil(x))
SMELT_SCALAR(RoundToEven, std::nearbyint(x))
SMELT_SCALAR(Sign, x > T(0) ? T(1) : x < T(0) ? T(-1) : x)
SMELT_SCALAR(GeluErf, T(0.5) * x * std::erfc(x * T(-0.70710678118654752440)))
SMELT_SCALAR(GeluTanh,
             T(0.5) * x *
                 (T(1) + std::tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x))))
// Unsigned arithmetic wraps around where signed would be undefined.
SMELT_SCALAR(NegateInteger, -static_cast<uint64_t>(x))
SMELT_SCALAR(AbsoluteInteger, x < 0 ? -static_cast<uint64_t>(x) : static_cast<uint64_t>(x))
SMELT_SCALAR(IsPositive, x > T(0))
SMELT_SCALAR(Same, x)
SMELT_SCALAR(LogicalNot, x == 0)
SMELT_SCALAR(BitwiseNot, ~x)
#undef SMELT_SCALAR

/// tanh-approximated GELU through the vectorised tanh, a piece at a time that stays in the
/// first-level cache.
void geluTanhFloat(const float *input, float *output, int64_t count) {
  constexpr int64_t kPiece = 512;
  float inner[kPiece];
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    int64_t size = std::min(kPiece, count - begin);
    for (int64_t i = 0; i < size; ++i) {
      float x = input[begin + i];
      inner[i] = 0.797884561f * (x + 0.044715f * x * x * x);
    }
    simdKernels().tanh(inner, inner, size);
    for (int64_t i = 0; i < size; ++i)
      output[begin + i] = 0.5f * input[begin + i] * (1.0f + inner[i]);
  }
}

template <typename T> UnaryLoop<T> trigonometricLoop(Operation *op) {
  if (isa<SinOp>(op))
    return apply<T, Sine>;
  if (isa<CosOp>(op))
    return apply<T, Cosine>;
  if (isa<TanOp>(op))
    return apply<T, Tangent>;
  if (isa<AsinOp>(op))
    return apply<T, InverseSine>;
  if (isa<AcosOp>(op))
    return apply<T, InverseCosine>;
  if (isa<AtanOp>(op))
    return apply<T, InverseTangent>;
  if (isa<SinhOp>(op))
    return apply<T, HyperbolicSine>;
  if (isa<CoshOp>(op))
    return apply<T, HyperbolicCosine>;
  if (isa<AsinhOp>(op))
    return apply<T, InverseHyperbolicSine>;
  if (isa<AcoshOp>(op))
    return apply<T, InverseHyperbolicCosine>;
  if (isa<AtanhOp>(op))
    return apply<T, InverseHyperbolicTangent>;
  return nullptr;
}

template <typename T> UnaryLoop<T> commonUnaryLoop(Operation *op) {
  if (isa<Expm1Op>(op))
    return apply<T, ExponentialMinusOne>;
  if (isa<LogOp>(op))
    return apply<T, Logarithm>;
  if (isa<SqrtOp>(op))
    return apply<T, SquareRoot>;
  if (isa<RsqrtOp>(op))
    return apply<T, ReciprocalRoot>;
  if (isa<ReciprocalOp>(op))
    return apply<T, Reciprocal>;
  if (isa<SoftplusOp>(op))
    return apply<T, Softplus>;
  if (isa<FloorOp>(op))
    return apply<T, Floor>;
  if (isa<CeilOp>(op))
    return apply<T, Ceiling>;
  if (isa<RoundOp>(op))
    return apply<T, RoundToEven>;
  if (isa<AbsOp>(op))
    return apply<T, Absolute>;
  if (isa<NegOp>(op))
    return apply<T, Negate>;
  if (isa<ReluOp>(op))
    return apply<T, Relu>;
  if (isa<SignOp>(op))
    return apply<T, Sign>;
  return trigonometricLoop<T>(op);
}

} // namespace

template <> UnaryLoop<float> unaryLoop<float>(Operation *op) {
  const SimdKernels &simd = simdKernels();
  if (isa<ExpOp>(op))
    return simd.exp;
  if (isa<TanhOp>(op))
    return simd.tanh;
  if (isa<ErfOp>(op))
    return simd.erf;
  if (isa<SigmoidOp>(op))
    return simd.sigmoid;
  if (isa<SiluOp>(op))
    return simd.silu;
  if (auto gelu = dyn_cast<GeluOp>(op))
    return gelu.getTanh() ? geluTanhFloat : simd.gelu;
  return commonUnaryLoop<float>(op);
}

template <> UnaryLoop<double> unaryLoop<double>(Operation *op) {
  if (isa<ExpOp>(op))
    return apply<double, Exponential>;
  if (isa<TanhOp>(op))
    return apply<double, HyperbolicTangent>;
  if (isa<ErfOp>(op))
    return apply<double, ErrorFunction>;
  if (isa<SigmoidOp>(op))
    return apply<double, Sigmoid>;
  if (isa<SiluOp>(op))
    return apply<double, Silu>;
  if (auto gelu = dyn_cast<GeluOp>(op))
    return gelu.getTanh() ? apply<double, GeluTanh> : apply<double, GeluErf>;
  return commonUnaryLoop<double>(op);
}

template <> UnaryLoop<int64_t> unaryLoop<int64_t>(Operation *op) {
  if (isa<AbsOp>(op))
    return apply<int64_t, AbsoluteInteger>;
  if (isa<NegOp>(op))
    return apply<int64_t, NegateInteger>;
  if (isa<ReluOp>(op))
    return apply<int64_t, Relu>;
  if (isa<SignOp>(op))
    return apply<int64_t, Sign>;
  if (isa<NotOp>(op))
    return apply<int64_t, LogicalNot>;
  if (isa<BitNotOp>(op))
    return apply<int64_t, BitwiseNot>;
  if (isa<FloorOp, CeilOp, RoundOp>(op))
    return apply<int64_t, Same>;
  return nullptr;
}

template <> UnaryLoop<uint64_t> unaryLoop<uint64_t>(Operation *op) {
  if (isa<NegOp>(op))
    return apply<uint64_t, NegateInteger>;
  if (isa<SignOp>(op))
    return apply<uint64_t, IsPositive>;
  if (isa<BitNotOp>(op))
    return apply<uint64_t, BitwiseNot>;
  return isa<AbsOp, ReluOp, FloorOp, CeilOp, RoundOp>(op) ? apply<uint64_t, Same> : nullptr;
}

} // namespace smelt::interpret
