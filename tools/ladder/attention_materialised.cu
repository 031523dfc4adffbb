// Materialised: scores, softmax, and their product with V, one kernel after the other.
//
// O = softmax(Q K^T / sqrt(d)) V for each head, Q, K, V and O [heads][tokens][d] with d = 128, 16-bit floats
// with float sums, as in all steps. A thread computes one score, a warp normalises one row, a thread
// computes one element of O. The scores of all heads, tokens x tokens each, are written to memory, read and
// written by the softmax, and read once more for every element of O.
#include "device/types.cuh"

using namespace smelt;

constexpr int kHead = 128;

extern "C" __global__ void __launch_bounds__(256)
    ladderScores(half *scores, const half *q, const half *k, int tokens, float scale) {
  int row = blockIdx.y * 8 + threadIdx.x / 32, column = blockIdx.x * 32 + threadIdx.x % 32;
  if (row >= tokens || column >= tokens)
    return;
  const half *ofQ = q + (int64_t(blockIdx.z) * tokens + row) * kHead;
  const half *ofK = k + (int64_t(blockIdx.z) * tokens + column) * kHead;
  float sum = 0;
  for (int d = 0; d < kHead; ++d)
    sum += toFloat(ofQ[d]) * toFloat(ofK[d]);
  scores[(int64_t(blockIdx.z) * tokens + row) * tokens + column] = toHalf(sum * scale);
}

__device__ __forceinline__ float largestOfWarp(float x) {
  for (int distance = 16; distance > 0; distance /= 2)
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, distance));
  return x;
}

__device__ __forceinline__ float sumOfWarp(float x) {
  for (int distance = 16; distance > 0; distance /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, distance);
  return x;
}

/// `rows` of `tokens` scores become probabilities.
extern "C" __global__ void __launch_bounds__(256)
    ladderSoftmax(half *scores, int rows, int tokens) {
  int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  half *own = scores + int64_t(row) * tokens;
  float largest = -__int_as_float(0x7f800000), sum = 0;
  for (int i = lane; i < tokens; i += 32)
    largest = fmaxf(largest, toFloat(own[i]));
  largest = largestOfWarp(largest);
  for (int i = lane; i < tokens; i += 32)
    sum += expf(toFloat(own[i]) - largest);
  float inverse = 1 / sumOfWarp(sum);
  for (int i = lane; i < tokens; i += 32)
    own[i] = toHalf(expf(toFloat(own[i]) - largest) * inverse);
}

extern "C" __global__ void __launch_bounds__(256)
    ladderValues(half *o, const half *probabilities, const half *v, int tokens) {
  int row = blockIdx.y * 8 + threadIdx.x / 32, column = blockIdx.x * 32 + threadIdx.x % 32;
  if (row >= tokens)
    return;
  const half *own = probabilities + (int64_t(blockIdx.z) * tokens + row) * tokens;
  const half *ofV = v + int64_t(blockIdx.z) * tokens * kHead + column;
  float sum = 0;
  for (int i = 0; i < tokens; ++i)
    sum += toFloat(own[i]) * toFloat(ofV[int64_t(i) * kHead]);
  o[(int64_t(blockIdx.z) * tokens + row) * kHead + column] = toHalf(sum);
}
