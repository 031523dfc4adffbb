// The online softmax of rows of scores that a warp holds as after mma.sync, for the steps of the ladder.
#pragma once

#include "device/ptx.cuh"

namespace smelt {

/// Two rows of each thread, eight apart: those that its sums belong to. Scores are multiplied with `scale`,
/// which holds log2 e: powers of two are what the hardware computes.
struct OnlineRows {
  float scale;
  float largest[2] = {-__int_as_float(0x7f800000), -__int_as_float(0x7f800000)};
  float total[2] = {0, 0}; ///< of this thread's columns

  /// Scores become weights in place, sums of those before are scaled down. `Sums` and `Scores` hold four floats for
  /// each eight columns: two columns of the first row, two of the second.
  template <int Scores, int Sums>
  __device__ __forceinline__ void take(float (&scores)[Scores], float (&sums)[Sums]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float most = largest[h];
#pragma unroll
      for (int i = 0; i < Scores; i += 4)
        most = fmaxf(most, fmaxf(scores[i + 2 * h], scores[i + 2 * h + 1]));
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1)); // four threads share a row
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
      float shrink = ptx::exp2Approx((largest[h] - most) * scale);
      largest[h] = most;
      total[h] *= shrink;
#pragma unroll
      for (int i = 0; i < Sums; i += 4) {
        sums[i + 2 * h] *= shrink;
        sums[i + 2 * h + 1] *= shrink;
      }
#pragma unroll
      for (int i = 0; i < Scores; i += 4)
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          float &score = scores[i + 2 * h + c];
          score = ptx::exp2Approx(score * scale - most * scale);
          total[h] += score;
        }
    }
  }

  /// Divides sums by the totals of their rows.
  template <int Sums> __device__ __forceinline__ void finish(float (&sums)[Sums]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float all = total[h] + __shfl_xor_sync(0xffffffffu, total[h], 1);
      float inverse = 1 / (all + __shfl_xor_sync(0xffffffffu, all, 2));
#pragma unroll
      for (int i = 0; i < Sums; i += 4) {
        sums[i + 2 * h] *= inverse;
        sums[i + 2 * h + 1] *= inverse;
      }
    }
  }
};

/// The weights of 16 columns, from number 16 `j` on, as operand A of a multiplication.
template <int Scores>
__device__ __forceinline__ void packWeights(const float (&scores)[Scores], int j,
                                            uint32_t (&a)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    a[i] = packPair<half>(scores[8 * j + 2 * i], scores[8 * j + 2 * i + 1]);
}

} // namespace smelt
