// Tiled: a block for each 64 x 64 tile of C, its operands in shared memory.
//
// Of A and B, 64 x 16 and 16 x 64 elements at a time come to shared memory, where each is read 64 times: the
// traffic of device memory falls by as much. A thread computes 4 x 4 elements of the tile, so that eight
// loads from shared memory feed 16 multiplications; 64 divides m and n, 16 divides k.
#include "device/types.cuh"

using namespace smelt;

constexpr int kBlock = 64, kDepth = 16, kThreads = 256, kTile = 4;

extern "C" __global__ void __launch_bounds__(kThreads)
    ladderGemm(half *c, const half *a, const half *b, int m, int n, int k) {
  __shared__ float tileA[kDepth][kBlock + 1], tileB[kDepth][kBlock];
  int row0 = blockIdx.y * kBlock, column0 = blockIdx.x * kBlock;
  int row = threadIdx.x / 16, column = threadIdx.x % 16; // and those 16, 32 and 48 further on
  float sums[kTile][kTile] = {};
  for (int k0 = 0; k0 < k; k0 += kDepth) {
    for (int i = threadIdx.x; i < kBlock * kDepth; i += kThreads) {
      tileA[i % kDepth][i / kDepth] = toFloat(a[int64_t(row0 + i / kDepth) * k + k0 + i % kDepth]);
      tileB[i / kBlock][i % kBlock] =
          toFloat(b[int64_t(k0 + i / kBlock) * n + column0 + i % kBlock]);
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kDepth; ++d)
#pragma unroll
      for (int i = 0; i < kTile; ++i)
#pragma unroll
        for (int j = 0; j < kTile; ++j)
          sums[i][j] += tileA[d][row + 16 * i] * tileB[d][column + 16 * j];
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kTile; ++i)
#pragma unroll
    for (int j = 0; j < kTile; ++j)
      c[int64_t(row0 + row + 16 * i) * n + column0 + column + 16 * j] = toHalf(sums[i][j]);
}
