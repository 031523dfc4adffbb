// The 64 rows of a warpgroup: their scores, their softmax, and what they sum up.
//
// Problem: between Q K^T and P V stand, for every score, a multiplication, a maximum, an exponential and
// a sum on the ordinary cores, about as long as both products take on the tensor cores. Method: one
// instruction each. Exponentials are powers of two, the scale folds into their argument; masks are only
// looked at in steps that cross an edge; sums of rows stay with the thread until the end; what was
// summed up is rescaled only in a warp where a maximum has moved.
//
// Assumes: registers laid out as wgmma leaves them (device/wgmma.cuh): a thread holds, of rows
// lane / 4 and lane / 4 + 8 of its warp's 16, columns lane % 4 * 2 and the next of every eight.
#pragma once

#include "device/math.cuh"
#include "device/vector.cuh"
#include "device/wgmma.cuh"

namespace smelt {

template <class Problem, int BlockKV, int ValueColumns> struct AttentionRows {
  using Element = typename Problem::Element;
  static constexpr int kKeyTiles = BlockKV / 8, kValueTiles = ValueColumns / 8;
  /// What depends on keys alone lies in shared memory, edges included.
  static constexpr bool kBiasByKey = Problem::kHasBias && Problem::kBiasByKey;

  // Where the scale goes: into the exponent's argument if nothing stands between, else onto the scores.
  static constexpr bool kDeferScale =
      !Problem::kHasBias && Problem::kSoftcap == 0.0f && Problem::kScale > 0.0f;
  static constexpr float kExponentScale = kDeferScale ? Problem::kScale * kLog2E : kLog2E;

  float scores[BlockKV / 2], sums[ValueColumns / 2];
  uint32_t probabilities[BlockKV / 16][4];
  float rowMax[2], rowSum[2], rescale[2];

  __device__ __forceinline__ void clearStatistics() {
    for (int h = 0; h < 2; ++h)
      rowMax[h] = -infinity(), rowSum[h] = 0.0f;
  }

  __device__ __forceinline__ void clearSums() {
#pragma unroll
    for (int i = 0; i < ValueColumns / 2; ++i)
      sums[i] = 0.0f;
  }

  __device__ __forceinline__ void clear() {
    clearStatistics();
    clearSums();
  }

  /// Element of `scores` in row half h, column c of key tile j.
  __device__ __forceinline__ static constexpr int indexOf(int j, int h, int c) {
    return 4 * j + 2 * h + c;
  }

  /// Scale, softcap and bias, where they cannot be deferred. bias(j, h, c) is of the element.
  template <class Bias> __device__ __forceinline__ void finishScores(const Bias &bias) {
    if constexpr (!kDeferScale)
      staticFor<0, kKeyTiles>([&](auto j) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          float &score = scores[4 * j + r];
          if constexpr (Problem::kSoftcap != 0.0f)
            score = Problem::kSoftcap *
                    approx::tanh(score * (Problem::kScale * (1.0f / Problem::kSoftcap)));
          if constexpr (!Problem::kHasBias)
            score *= Problem::kSoftcap != 0.0f ? 1.0f : Problem::kScale;
          else
            score = ::fmaf(score, Problem::kSoftcap != 0.0f ? 1.0f : Problem::kScale,
                           bias(int(j), r / 2, r % 2));
        }
      });
  }

  /// Hides, of row half h, the columns from visible[h] on; both count from this thread's first.
  __device__ __forceinline__ void mask(const int (&visible)[2]) {
    staticFor<0, kKeyTiles>([&](auto j) {
#pragma unroll
      for (int r = 0; r < 4; ++r)
        if (8 * j + r % 2 >= visible[r / 2])
          scores[4 * j + r] = -infinity();
    });
  }

  /// The largest score of each row half, the running maximum included.
  __device__ __forceinline__ void findMaximum(float (&maximum)[2]) const {
    float odd[2] = {scores[1], scores[3]}; // two chains a row: one waits for itself
    for (int h = 0; h < 2; ++h)
      maximum[h] = ::fmaxf(rowMax[h], scores[2 * h]);
    staticFor<1, kKeyTiles>([&](auto j) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        maximum[h] = ::fmaxf(maximum[h], scores[indexOf(j, h, 0)]);
        odd[h] = ::fmaxf(odd[h], scores[indexOf(j, h, 1)]);
      }
    });
    for (int h = 0; h < 2; ++h)
      maximum[h] = ::fmaxf(maximum[h], odd[h]);
    for (int offset = 1; offset < 4; offset *= 2)
      for (int h = 0; h < 2; ++h)
        maximum[h] = ::fmaxf(maximum[h], __shfl_xor_sync(0xffffffffu, maximum[h], offset));
  }

  /// The scores' factor in the exponent. Biases may be the lowest finite floats, which would overflow:
  /// so far out scores are equal or worlds apart, at any scale.
  __device__ __forceinline__ static float exponentScale(float maximum) {
    constexpr float kFarOut = 0x1p120f, kSmall = 0x1p-60f;
    return Problem::kHasBias && ::fabsf(maximum) > kFarOut ? kSmall : kExponentScale;
  }

  /// Turns scores into probabilities relative to the new maximum, and says by what earlier sums are to
  /// be rescaled. Rows that have seen only -infinity keep a maximum of -infinity and sums of 0.
  __device__ __forceinline__ void updateSoftmax() {
    float maximum[2];
    findMaximum(maximum);
    updateSoftmax(maximum);
  }

  /// The same with a maximum that findMaximum() has found.
  __device__ __forceinline__ void updateSoftmax(const float (&maximum)[2]) {
    float scale[2], reference[2], odd[2] = {};
    for (int h = 0; h < 2; ++h) {
      float finite = maximum[h] == -infinity() ? 0.0f : maximum[h];
      scale[h] = exponentScale(finite);
      reference[h] = finite * scale[h];
      rescale[h] = ptx::exp2Approx((rowMax[h] - finite) * kExponentScale);
      rowMax[h] = maximum[h];
      rowSum[h] *= rescale[h];
    }
    staticFor<0, kKeyTiles>([&](auto j) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float &first = scores[indexOf(j, h, 0)], &second = scores[indexOf(j, h, 1)];
        first = ptx::exp2Approx(::fmaf(first, scale[h], -reference[h]));
        second = ptx::exp2Approx(::fmaf(second, scale[h], -reference[h]));
        rowSum[h] += first;
        odd[h] += second;
      }
    });
    for (int h = 0; h < 2; ++h)
      rowSum[h] += odd[h];
  }

  /// Whether what was summed up has to be rescaled for any row of the warp: rare after a few steps. The answer waits for
  /// all probabilities, as their sums, which are never negative, might change it.
  __device__ __forceinline__ bool hasMoved() const {
    return __any_sync(0xffffffffu, rescale[0] != 1.0f || rescale[1] != 1.0f || rowSum[0] < 0.0f ||
                                       rowSum[1] < 0.0f);
  }

  /// Brings what was summed up to the new maximum, once no multiplication adds to it.
  __device__ __forceinline__ void rescaleSums() {
    staticFor<0, kValueTiles>([&](auto d) {
#pragma unroll
      for (int r = 0; r < 4; ++r)
        sums[4 * d + r] *= rescale[r / 2];
    });
  }

  /// The probabilities as an operand of 16-bit elements.
  __device__ __forceinline__ void packProbabilities() {
    staticFor<0, BlockKV / 16>([&](auto j) {
#pragma unroll
      for (int r = 0; r < 4; ++r)
        probabilities[j][r] = packPair<Element>(scores[8 * j + 2 * r], scores[8 * j + 2 * r + 1]);
    });
  }

  /// The sum of a whole row's probabilities, from the four threads that hold it.
  __device__ __forceinline__ float totalOf(int h) const {
    float total = rowSum[h];
    for (int offset = 1; offset < 4; offset *= 2)
      total += __shfl_xor_sync(0xffffffffu, total, offset);
    return total;
  }
};

} // namespace smelt
