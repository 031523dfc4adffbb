// The way of tensor cores' sums to memory, for the steps of the ladder.
#pragma once

#include "device/types.cuh"

namespace smelt {

/// Stores the sums of 16 rows by 8 columns that a warp holds as after mma.sync: `sums` of each thread are
/// columns lane % 4 * 2 and the next, of row lane / 4 and of the row eight further on.
__device__ __forceinline__ void storeSums(half *target, int64_t distance, const float *sums) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    half *place = target + (lane / 4 + 8 * h) * distance + lane % 4 * 2;
    *reinterpret_cast<uint32_t *>(place) = packPair<half>(sums[2 * h], sums[2 * h + 1]);
  }
}

} // namespace smelt
