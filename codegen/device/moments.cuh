// Moments of rows in parts: a norm whose row lies in the tiles of several blocks.
//
// Problem: the mean and the variance of a row are needed by kernels that see the row in parts. A
// sum of squares loses all digits where the mean is far from 0. Method: every group of 32 columns
// has its own mean and its sum of squared deviations from that mean; groups are combined exactly
// (Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances", 1979, for groups of equal size). Memory holds two floats a group: [..., groups, 2].
// The order of the sums is such that equal elements have exactly that mean, and variance 0.
#pragma once

#include "device/reduce.cuh"
#include "device/vector.cuh"

namespace smelt {

inline constexpr int kMomentsGroup = 32; // columns

/// Sums of equal numbers are exact: each step doubles them.
template <int W> __device__ __forceinline__ float pairwiseSum(const float (&values)[W]) {
  static_assert((W & (W - 1)) == 0, "pairs of pairs");
  float sums[W];
#pragma unroll
  for (int i = 0; i < W; ++i)
    sums[i] = values[i];
#pragma unroll
  for (int count = W / 2; count > 0; count /= 2)
#pragma unroll
    for (int i = 0; i < count; ++i)
      sums[i] += sums[i + count];
  return sums[0];
}

/// Stores the moments of the group whose columns lie, W a thread, in the registers of 32 / W
/// neighbouring threads of a warp; all of them call. `values` are the columns as they are stored.
/// WholeWarps: all threads of the warp call, which saves a search for those that exchange with each other
/// (MATCH, REDUX, and a branch): a mask that differs from thread to thread costs it at every exchange.
template <int W, bool WholeWarps = false>
__device__ __forceinline__ void storeMoments(float *moments, const float (&values)[W]) {
  constexpr int kThreads = kMomentsGroup / W;
  static_assert(kThreads * W == kMomentsGroup && kThreads <= 32, "threads share a group evenly");
  int lane = threadIdx.x % 32;
  unsigned mask = WholeWarps || kThreads == 32
                      ? 0xffffffffu
                      : ((1u << kThreads % 32) - 1) << lane / kThreads * kThreads;
  float mean = pairwiseSum(values) * (1.0f / W), deviations[W];
#pragma unroll
  for (int i = 0; i < W; ++i)
    deviations[i] = (values[i] - mean) * (values[i] - mean);
  float squares = pairwiseSum(deviations);
#pragma unroll
  for (int step = 1; step < kThreads; step *= 2) { // groups of twice as many columns
    float otherMean = __shfl_xor_sync(mask, mean, step),
          otherSquares = __shfl_xor_sync(mask, squares, step), distance = otherMean - mean;
    squares = squares + otherSquares + distance * distance * (0.5f * W * step);
    mean = 0.5f * (mean + otherMean);
  }
  // The threads of a group have the same to store, at the same address: without a branch, all of them do.
  if (WholeWarps || lane % kThreads == 0)
    store<2>(moments, {mean, squares});
}

/// A whole row: its mean, and its mean squared deviation.
struct RowMoments {
  float mean, variance;
};

/// What an epilogue reads of a row: its mean, and what a norm multiplies by, computed once of a row's moments.
struct RowStatistics {
  float mean, scale;
};

/// The groups of one row, shared out to `Threads` neighbouring threads (a power of two up to 32
/// that divides Groups): loaded at one time, combined at a later one. For as few groups a thread as
/// registers hold.
template <int Groups, int Threads> struct RowGroups {
  static constexpr int kCount = Groups / Threads; // of this thread
  static constexpr int kVector = kCount % 2 == 0 ? 4 : 2;
  static_assert(Groups % Threads == 0 && Threads <= 32, "threads share the groups evenly");
  float values[2 * kCount];

  /// `moments` of the row; `part` is this thread's number among those of the row.
  __device__ __forceinline__ void load(const float *moments, int part) {
    const float *first = moments + part * 2 * kCount;
#pragma unroll
    for (int i = 0; i < 2 * kCount; i += kVector) {
      Vector<float, kVector> vector = loadVector<kVector>(first + i);
#pragma unroll
      for (int k = 0; k < kVector; ++k)
        values[i + k] = vector[k];
    }
  }

  __device__ __forceinline__ static float total(float value) {
#pragma unroll
    for (int step = 1; step < Threads; step *= 2)
      value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
  }

  /// The row's moments, for each of its threads. All threads of the warp call.
  __device__ __forceinline__ RowMoments combine() const {
    // Their number may be no power of two: the mean of distances from the first is exact where all
    // are equal.
    float first = __shfl_sync(0xffffffffu, values[0], 0, Threads), sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      sum += values[2 * i] - first;
    float mean = first + total(sum) * (1.0f / Groups);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      float distance = values[2 * i] - mean;
      squares += values[2 * i + 1] + float(kMomentsGroup) * distance * distance;
    }
    return {mean, total(squares) * (1.0f / (Groups * kMomentsGroup))};
  }
};

/// The same for any number of groups, which need not divide by `Threads`: a thread loads a few at a
/// time, and only what they amount to waits in its registers.
template <int Groups, int Threads> struct StreamedRowGroups {
  static constexpr int kStep = 8; // groups of a thread that are on their way together
  static constexpr int kVector = Groups % 2 == 0 ? 4 : 2;
  Moments found;

  __device__ __forceinline__ void load(const float *moments, int part) {
    found = MergeMoments::identity<Moments>();
#pragma unroll 1
    for (int first = part * kStep; first < Groups; first += Threads * kStep) {
      int count = Groups % kStep == 0 ? kStep : min(Groups - first, kStep);
      found = MergeMoments::combine(found, momentsOf(moments + 2 * first, count));
    }
  }

  /// The moments of `count` groups, at least one and at most kStep.
  __device__ __forceinline__ static Moments momentsOf(const float *groups, int count) {
    float values[2 * kStep] = {};
#pragma unroll
    for (int i = 0; i < 2 * kStep; i += kVector)
      if (i < 2 * count) {
        Vector<float, kVector> vector = loadVector<kVector>(groups + i);
#pragma unroll
        for (int k = 0; k < kVector; ++k)
          values[i + k] = vector[k];
      }
    float sum = 0, squares = 0; // of distances from the first, as in RowGroups
#pragma unroll
    for (int i = 0; i < kStep; ++i)
      sum += i < count ? values[2 * i] - values[0] : 0.0f;
    float mean = values[0] + sum / float(count);
#pragma unroll
    for (int i = 0; i < kStep; ++i) {
      float distance = i < count ? values[2 * i] - mean : 0.0f;
      squares += values[2 * i + 1] + float(kMomentsGroup) * distance * distance;
    }
    return {float(count * kMomentsGroup), mean, squares};
  }

  /// As RowGroups' combine().
  __device__ __forceinline__ RowMoments combine() const {
    Moments row = warpReduce<MergeMoments, Threads>(found);
    return {row.mean, row.variance()};
  }
};

} // namespace smelt
