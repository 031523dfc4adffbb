// Online softmax: one pass over the keys, and no score in memory.
//
// A warp owns one query, each lane four of its 128 elements and of its row of O. Key after key, the warp adds up
// the score and keeps the largest one so far and the sum of the others relative to it; when a larger
// comes, sum and row are scaled down. Memory holds Q, K, V and O only, but every query reads all keys for itself.
#include "device/ptx.cuh"

using namespace smelt;

constexpr int kHead = 128, kOwn = kHead / 32;

struct alignas(8) Quarter {
  half elements[kOwn];
};

__device__ __forceinline__ void load(const half *row, float (&values)[kOwn]) {
  Quarter own = reinterpret_cast<const Quarter *>(row)[threadIdx.x % 32];
#pragma unroll
  for (int i = 0; i < kOwn; ++i)
    values[i] = toFloat(own.elements[i]);
}

extern "C" __global__ void __launch_bounds__(256)
    ladderAttention(half *o, const half *q, const half *k, const half *v, int tokens, float scale) {
  constexpr float kLog2E = 1.4426950408889634f; // powers of two are what the hardware computes
  int row = blockIdx.x * 8 + threadIdx.x / 32;
  if (row >= tokens)
    return;
  int64_t head = int64_t(blockIdx.y) * tokens * kHead;
  float query[kOwn], sums[kOwn] = {}, largest = -__int_as_float(0x7f800000), total = 0;
  load(q + head + int64_t(row) * kHead, query);
#pragma unroll 2
  for (int key = 0; key < tokens; ++key) {
    float ofK[kOwn], ofV[kOwn], score = 0;
    load(k + head + int64_t(key) * kHead, ofK);
    load(v + head + int64_t(key) * kHead, ofV);
#pragma unroll
    for (int i = 0; i < kOwn; ++i)
      score += query[i] * ofK[i];
    for (int distance = 16; distance > 0; distance /= 2)
      score += __shfl_xor_sync(0xffffffffu, score, distance);
    score *= scale * kLog2E;
    float before = largest;
    largest = fmaxf(largest, score);
    float shrink = ptx::exp2Approx(before - largest), weight = ptx::exp2Approx(score - largest);
    total = total * shrink + weight;
#pragma unroll
    for (int i = 0; i < kOwn; ++i)
      sums[i] = sums[i] * shrink + weight * ofV[i];
  }
  Quarter result;
#pragma unroll
  for (int i = 0; i < kOwn; ++i)
    result.elements[i] = toHalf(sums[i] / total);
  reinterpret_cast<Quarter *>(o + head + int64_t(row) * kHead)[threadIdx.x % 32] = result;
}
