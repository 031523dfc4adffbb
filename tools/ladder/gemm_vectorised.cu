// Vectorised: 128 x 128 tiles, 8 x 8 elements a thread, 16 bytes an access.
//
// Loads of one element leave most of what a load instruction can move unused. Here a thread brings eight
// elements of A and of B at once, and reads four floats of shared memory at once: four loads feed 64
// multiplications. A lies transposed in shared memory, so that both operands are read along a row. What
// the next step needs is on its way in registers while this one is computed. 128 divides m and n, 16 k.
#include "device/types.cuh"

using namespace smelt;

constexpr int kBlock = 128, kDepth = 16, kThreads = 256, kTile = 8, kPadding = 4;

struct alignas(16) Vector {
  half elements[8];
};

extern "C" __global__ void __launch_bounds__(kThreads)
    ladderGemm(half *c, const half *a, const half *b, int m, int n, int k) {
  __shared__ alignas(16) float tileA[kDepth][kBlock + kPadding], tileB[kDepth][kBlock];
  int row0 = blockIdx.y * kBlock, column0 = blockIdx.x * kBlock;
  int row = threadIdx.x / 16 * kTile,
      column = threadIdx.x % 16 * 4; // and four columns 64 further on
  int rowA = threadIdx.x / 2, depthA = threadIdx.x % 2 * 8;
  int depthB = threadIdx.x / 16, columnB = threadIdx.x % 16 * 8;
  const half *fromA = a + int64_t(row0 + rowA) * k + depthA;
  const half *fromB = b + int64_t(depthB) * n + column0 + columnB;
  Vector nextA = *reinterpret_cast<const Vector *>(fromA);
  Vector nextB = *reinterpret_cast<const Vector *>(fromB);
  float sums[kTile][kTile] = {};
  for (int k0 = 0; k0 < k; k0 += kDepth) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      tileA[depthA + i][rowA] = toFloat(nextA.elements[i]);
      tileB[depthB][columnB + i] = toFloat(nextB.elements[i]);
    }
    __syncthreads();
    if (k0 + kDepth < k) {
      nextA = *reinterpret_cast<const Vector *>(fromA + k0 + kDepth);
      nextB = *reinterpret_cast<const Vector *>(fromB + int64_t(k0 + kDepth) * n);
    }
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      float valuesA[kTile], valuesB[kTile];
#pragma unroll
      for (int i = 0; i < kTile; i += 4) {
        float4 ofA = *reinterpret_cast<const float4 *>(&tileA[d][row + i]);
        float4 ofB = *reinterpret_cast<const float4 *>(&tileB[d][column + 16 * i]);
        valuesA[i] = ofA.x, valuesA[i + 1] = ofA.y, valuesA[i + 2] = ofA.z, valuesA[i + 3] = ofA.w;
        valuesB[i] = ofB.x, valuesB[i + 1] = ofB.y, valuesB[i + 2] = ofB.z, valuesB[i + 3] = ofB.w;
      }
#pragma unroll
      for (int i = 0; i < kTile; ++i)
#pragma unroll
        for (int j = 0; j < kTile; ++j)
          sums[i][j] += valuesA[i] * valuesB[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kTile; ++i)
#pragma unroll
    for (int j = 0; j < kTile; j += 4) {
      uint2 packed = {packPair<half>(sums[i][j], sums[i][j + 1]),
                      packPair<half>(sums[i][j + 2], sums[i][j + 3])};
      *reinterpret_cast<uint2 *>(c + int64_t(row0 + row + i) * n + column0 + column + 16 * j) =
          packed;
    }
}
