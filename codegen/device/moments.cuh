// Moments of rows in parts: a norm whose row lies in the tiles of several blocks.
//
// Problem: the mean and the variance of a row are needed by kernels that see the row in parts. A
// sum of squares loses all digits where the mean is far from 0. Method: every group of 32 columns
// has its own mean and its sum of squared deviations from that mean; groups are combined exactly
// (Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances", 1979, for groups of equal size). Memory holds two floats a group: [..., groups, 2].
#pragma once

#include "device/vector.cuh"

namespace smelt {

inline constexpr int kMomentsGroup = 32; // columns

/// Stores the moments of the group whose columns lie, W a thread, in the registers of 32 / W
/// neighbouring threads of a warp; all of them call. `values` are the columns as they are stored.
template <int W>
__device__ __forceinline__ void storeMoments(float *moments, const float (&values)[W]) {
  constexpr int kThreads = kMomentsGroup / W;
  static_assert(kThreads * W == kMomentsGroup && kThreads <= 32, "threads share a group evenly");
  int lane = threadIdx.x % 32;
  unsigned mask =
      kThreads == 32 ? 0xffffffffu : ((1u << kThreads % 32) - 1) << lane / kThreads * kThreads;
  auto total = [mask](float value) {
#pragma unroll
    for (int step = 1; step < kThreads; step *= 2)
      value += __shfl_xor_sync(mask, value, step);
    return value;
  };
  float sum = 0, squares = 0;
#pragma unroll
  for (int i = 0; i < W; ++i)
    sum += values[i];
  float mean = total(sum) * (1.0f / kMomentsGroup);
#pragma unroll
  for (int i = 0; i < W; ++i)
    squares += (values[i] - mean) * (values[i] - mean);
  squares = total(squares);
  if (lane % kThreads == 0)
    store<2>(moments, {mean, squares});
}

/// A whole row: its mean, and its mean squared deviation.
struct RowMoments {
  float mean, variance;
};

/// Combines `Groups` groups.
template <int Groups> __device__ __forceinline__ RowMoments combineMoments(const float *moments) {
  // As many groups as registers hold; more are read twice.
  constexpr int kHeld = Groups <= 64 ? Groups : 1;
  constexpr int kVector = Groups % 2 == 0 ? 4 : 2;
  float held[kHeld][2];
  float sum = 0, squares = 0;
  if constexpr (kHeld == Groups) {
#pragma unroll
    for (int group = 0; group < Groups; group += kVector / 2) {
      float values[kVector];
      load<kVector>(moments + 2 * group, values);
#pragma unroll
      for (int i = 0; i < kVector / 2; ++i) {
        held[group + i][0] = values[2 * i];
        held[group + i][1] = values[2 * i + 1];
      }
    }
  }
  auto at = [&](int group, float (&values)[2]) {
    if constexpr (kHeld == Groups) {
      values[0] = held[group][0];
      values[1] = held[group][1];
    } else {
      load<2>(moments + 2 * group, values);
    }
  };
  constexpr int kUnrolled = kHeld == Groups ? Groups : 8;
#pragma unroll kUnrolled
  for (int group = 0; group < Groups; ++group) {
    float values[2];
    at(group, values);
    sum += values[0];
  }
  float mean = sum * (1.0f / Groups);
#pragma unroll kUnrolled
  for (int group = 0; group < Groups; ++group) {
    float values[2];
    at(group, values);
    float distance = values[0] - mean;
    squares += values[1] + float(kMomentsGroup) * distance * distance;
  }
  return {mean, squares * (1.0f / (Groups * kMomentsGroup))};
}

} // namespace smelt
