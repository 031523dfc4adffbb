// Row functions by element type: floats through simd.h, doubles plainly.
#pragma once

#include "ir/interpret/simd.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smelt::interpret {

inline void softmaxRow(float *row, int64_t count) { simdKernels().softmaxRow(row, count); }

inline void softmaxRow(double *row, int64_t count) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t i = 0; i < count; ++i)
    largest = std::max(largest, row[i]);
  for (int64_t i = 0; i < count; ++i)
    sum += row[i] = std::exp(row[i] - largest);
  for (int64_t i = 0; i < count; ++i)
    row[i] /= sum;
}

inline void tanhRow(float *row, int64_t count) { simdKernels().tanh(row, row, count); }

inline void tanhRow(double *row, int64_t count) {
  std::transform(row, row + count, row, [](double x) { return std::tanh(x); });
}

inline void moments(const float *row, int64_t count, double &mean, double &variance) {
  simdKernels().moments(row, count, mean, variance);
}

inline void moments(const double *row, int64_t count, double &mean, double &variance) {
  mean = variance = 0;
  for (int64_t i = 0; i < count; ++i)
    mean += row[i];
  mean /= static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i)
    variance += (row[i] - mean) * (row[i] - mean);
  variance /= static_cast<double>(count);
}

inline void normalizeRow(const float *input, const float *scale, const float *bias, double mean,
                         double inverse, float *output, int64_t count) {
  simdKernels().normalizeRow(input, scale, bias, mean, static_cast<float>(inverse), output, count);
}

inline void normalizeRow(const double *input, const double *scale, const double *bias, double mean,
                         double inverse, double *output, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    output[i] = (input[i] - mean) * inverse * (scale ? scale[i] : 1.0) + (bias ? bias[i] : 0.0);
}

} // namespace smelt::interpret
