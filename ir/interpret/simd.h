// The hot loops, compiled once for each instruction set level and chosen for the machine at run
// time, so that one portable binary runs contractions and exponentials at the machine's width.
#pragma once

#include <cstdint>

namespace smelt::interpret {

/// c[m, n] = a[m, k] b[k, n]; b is stored [n, k] where `bTransposed`. Strides are elements between
/// rows.
template <typename T> struct GemmProblem {
  int64_t m, n, k;
  const T *a;
  int64_t aStride;
  const T *b;
  int64_t bStride;
  bool bTransposed;
  T *c;
  int64_t cStride;
};

/// Elementwise functions of floats; in place where both pointers are the same. Relative error about
/// 2e-7.
using FloatFunction = void (*)(const float *input, float *output, int64_t count);

struct SimdKernels {
  const char *name;
  void (*gemmFloat)(const GemmProblem<float> &);
  void (*gemmDouble)(const GemmProblem<double> &);
  FloatFunction exp, tanh, erf, sigmoid, silu, gelu;
  /// exp(x - max) / sum over one row, in place.
  void (*softmaxRow)(float *row, int64_t count);
  /// Mean and variance of one row, accumulated in double.
  void (*moments)(const float *row, int64_t count, double &mean, double &variance);
  /// output = (input - mean) * inverse * scale + bias; scale and bias may be null. The mean is
  /// double so that rows far from zero keep their digits.
  void (*normalizeRow)(const float *input, const float *scale, const float *bias, double mean,
                       float inverse, float *output, int64_t count);
  void (*halfToFloat)(const uint16_t *input, float *output, int64_t count);
  FloatFunction roundToHalf; ///< the nearest halves, as half.h rounds
};

/// The widest level that this machine has.
const SimdKernels &simdKernels();
/// Every level that this machine has, the portable one first: for tests.
int simdLevels(const SimdKernels *levels[3]);

} // namespace smelt::interpret
