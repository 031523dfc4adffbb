// The hot loops. This file is compiled once for each instruction set level with SMELT_SIMD_LEVEL
// naming it.
//
// Nothing here may be merged at link time with another level's code, or a wide instruction would
// reach a narrow machine: every function lies in the level's own namespace, Eigen's too (the build
// defines `Eigen` as a name of the level's own), and the C++ library is kept out.
// tests/ir/interpret/simd_symbols_test.py checks the object files.
#include "ir/interpret/simd.h"

#include "ir/interpret/half.h"
#include "ir/interpret/vector_math.h"

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>

namespace smelt::interpret::SMELT_SIMD_LEVEL {

namespace {

/// Independent partial results: enough for the widest level to keep its units busy, summed in a
/// fixed order.
constexpr int kLanes = 32;

template <typename T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using ColumnMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

template <typename T> void gemm(const GemmProblem<T> &problem) {
  using Stride = Eigen::OuterStride<>;
  Eigen::Map<const RowMajor<T>, 0, Stride> a(problem.a, problem.m, problem.k,
                                             Stride(problem.aStride));
  Eigen::Map<RowMajor<T>, 0, Stride> c(problem.c, problem.m, problem.n, Stride(problem.cStride));
  if (problem.bTransposed) {
    Eigen::Map<const ColumnMajor<T>, 0, Stride> b(problem.b, problem.k, problem.n,
                                                  Stride(problem.bStride));
    c.noalias() = a * b;
  } else {
    Eigen::Map<const RowMajor<T>, 0, Stride> b(problem.b, problem.k, problem.n,
                                               Stride(problem.bStride));
    c.noalias() = a * b;
  }
}

template <float (*function)(float)> void map(const float *input, float *output, int64_t count) {
#pragma clang loop vectorize(assume_safety)
  for (int64_t i = 0; i < count; ++i)
    output[i] = function(input[i]);
}

/// Combines `load(i)` over [0, count) in kLanes independent partial results, then combines these.
template <typename T, typename Load, typename Combine>
T reduceLanes(int64_t count, T initial, Load load, Combine combine) {
  T lanes[kLanes];
  for (T &lane : lanes)
    lane = initial;
  int64_t whole = count - count % kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane)
      lanes[lane] = combine(lanes[lane], load(i + lane));
  for (int64_t i = whole; i < count; ++i)
    lanes[i - whole] = combine(lanes[i - whole], load(i));
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int lane = 0; lane < width; ++lane)
      lanes[lane] = combine(lanes[lane], lanes[lane + width]);
  return lanes[0];
}

constexpr auto kLarger = [](float a, float b) { return b > a ? b : a; };
constexpr auto kSum = [](double a, double b) { return a + b; };

double sumOf(const float *row, int64_t count) {
  return reduceLanes<double>(
      count, 0.0, [&](int64_t i) { return static_cast<double>(row[i]); }, kSum);
}

void softmaxRow(float *row, int64_t count) {
  float largest =
      reduceLanes<float>(count, -__builtin_inff(), [&](int64_t i) { return row[i]; }, kLarger);
  for (int64_t i = 0; i < count; ++i)
    row[i] = expFast(row[i] - largest);
  float scale = static_cast<float>(1.0 / sumOf(row, count));
  for (int64_t i = 0; i < count; ++i)
    row[i] *= scale;
}

void moments(const float *row, int64_t count, double &mean, double &variance) {
  double center = sumOf(row, count) / static_cast<double>(count);
  auto squaredDistance = [&](int64_t i) { return (row[i] - center) * (row[i] - center); };
  mean = center;
  variance = reduceLanes<double>(count, 0.0, squaredDistance, kSum) / static_cast<double>(count);
}

void normalizeRow(const float *input, const float *scale, const float *bias, double mean,
                  float inverse, float *output, int64_t count) {
  // Two floats hold the mean: subtracting one after the other rounds only once.
  auto high = static_cast<float>(mean), low = static_cast<float>(mean - static_cast<double>(high));
  if (scale && bias)
    for (int64_t i = 0; i < count; ++i)
      output[i] = ((input[i] - high) - low) * inverse * scale[i] + bias[i];
  else if (scale)
    for (int64_t i = 0; i < count; ++i)
      output[i] = ((input[i] - high) - low) * inverse * scale[i];
  else
    for (int64_t i = 0; i < count; ++i)
      output[i] = ((input[i] - high) - low) * inverse + (bias ? bias[i] : 0.0f);
}

void convertHalf(const uint16_t *input, float *output, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    output[i] = halfToFloat(input[i]);
}

float nearestHalf(float value) { return halfToFloat(floatToHalf(value)); }

} // namespace

extern const SimdKernels kKernels;
const SimdKernels kKernels = {SMELT_SIMD_NAME, gemm<float>,     gemm<double>,     map<expFast>,
                              map<tanhFast>,   map<erfFast>,    map<sigmoidFast>, map<siluFast>,
                              map<geluFast>,   softmaxRow,      moments,          normalizeRow,
                              convertHalf,     map<nearestHalf>};

} // namespace smelt::interpret::SMELT_SIMD_LEVEL
