// The problem that tests of the attention templates solve: out = softmax(scale Q K^T + bias) V with
// rows of one head spread as projections leave them, (batch, sequence, head, size).
#pragma once

#include "device/math.cuh"
#include "device/vector.cuh"

namespace smelt {

/// Of every key; of every score, its own, or the same for all batches, or for all batches and heads.
enum class TestBias { kNone, kPerKey, kFull, kPerHead, kShared };

template <class T, int HeadSize, int ValueSize, int Vector, bool Causal, TestBias Bias, int Softcap,
          bool ZeroMaskedRows, int Heads, int KvHeads, class Out = T>
struct AttentionTestProblem {
  using Element = T;
  static constexpr int kHeadSize = HeadSize, kValueSize = ValueSize, kVector = Vector;
  static constexpr bool kCausal = Causal, kHasBias = Bias != TestBias::kNone;
  static constexpr bool kZeroMaskedRows = ZeroMaskedRows, kBiasByKey = Bias == TestBias::kPerKey;
  using BiasElement = T;
  static constexpr bool kBiasByBatch = Bias == TestBias::kFull;
  static constexpr bool kBiasByHead = Bias == TestBias::kFull || Bias == TestBias::kPerHead;
  static constexpr int kHeadsOfKeys = Heads / KvHeads; // that read the same keys
  static constexpr float kScale = HeadSize == 64 ? 0.125f : 0.11f;
  static constexpr float kSoftcap = Softcap;

  const T *qData, *kData, *vData; // (batches, queries or keys, heads or kvHeads, size)
  const T *biasData;              // (batches, keys) or ([batches,] [heads,] queries, keys)
  Out *outData;                   // (batches, queries, heads, value size)
  float *parts;                   // what attention_decode's blocks leave
  int batchCount, queryCount, keyCount, offset, reversed;

  __device__ int batches() const { return batchCount; }
  __device__ int heads() const { return Heads; }
  __device__ int queries() const { return queryCount; }
  __device__ int keys() const { return keyCount; }
  __device__ int causalOffset() const { return offset; }
  __device__ int kvHead(int h) const { return h / (Heads / KvHeads); }
  __device__ const T *q(int b, int h, int i) const {
    return qData + ((int64_t(b) * queryCount + i) * Heads + h) * HeadSize;
  }
  __device__ const T *k(int b, int h, int j) const {
    return kData + ((int64_t(b) * keyCount + j) * KvHeads + kvHead(h)) * HeadSize;
  }
  __device__ const T *v(int b, int h, int j) const {
    return vData + ((int64_t(b) * keyCount + j) * KvHeads + kvHead(h)) * ValueSize;
  }
  __device__ Out *out(int b, int h, int i) const {
    return outData + ((int64_t(b) * queryCount + i) * Heads + h) * ValueSize;
  }
  /// Only where there is one, as generated problems have it.
  template <TestBias Kind = Bias> __device__ float bias(int b, int h, int i, int j) const {
    static_assert(Kind != TestBias::kNone, "no bias is asked for");
    if constexpr (Bias == TestBias::kPerKey)
      return convert<float>(biasData[int64_t(b) * keyCount + j]);
    int64_t plane = (kBiasByBatch ? b * Heads : 0) + (kBiasByHead ? h : 0);
    return convert<float>(biasData[(plane * queryCount + i) * keyCount + j]);
  }
};

/// The same in double, one block of 128 threads a row; `scores` holds `keys` doubles for each
/// block.
template <class Problem>
__device__ void attentionReference(const Problem &problem, double *out, double *scores) {
  __shared__ double sums[128];
  double *row = scores + int64_t(blockIdx.x) * problem.keys();
  int64_t rows = int64_t(problem.batches()) * problem.queries() * problem.heads();
  for (int64_t index = blockIdx.x; index < rows; index += gridDim.x) {
    int h = index % problem.heads();
    int i = index / problem.heads() % problem.queries();
    int b = index / problem.heads() / problem.queries();
    for (int j = threadIdx.x; j < problem.keys(); j += 128) {
      double score = 0;
      for (int d = 0; d < Problem::kHeadSize; ++d)
        score += double(convert<float>(problem.q(b, h, i)[d])) *
                 double(convert<float>(problem.k(b, h, j)[d]));
      score *= double(Problem::kScale);
      if (Problem::kSoftcap != 0)
        score = Problem::kSoftcap * tanh(score / Problem::kSoftcap);
      if constexpr (Problem::kHasBias)
        score += double(problem.bias(b, h, i, j));
      if (Problem::kCausal && j > i + problem.causalOffset())
        score = -double(infinity());
      row[j] = score;
    }
    __syncthreads();
    double maximum = -double(infinity()), sum = 0;
    for (int j = 0; j < problem.keys(); ++j)
      maximum = row[j] > maximum ? row[j] : maximum;
    bool empty = maximum == -double(infinity());
    for (int j = threadIdx.x; j < problem.keys(); j += 128)
      sum += empty ? 0.0 : exp(row[j] - maximum);
    sums[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int t = 0; t < 128; ++t)
      sum += sums[t];
    bool zero = problem.keys() == 0 || (empty && Problem::kZeroMaskedRows);
    for (int d = threadIdx.x; d < Problem::kValueSize; d += 128) {
      double value = 0;
      for (int j = 0; j < problem.keys() && !empty; ++j)
        value += exp(row[j] - maximum) * double(convert<float>(problem.v(b, h, j)[d]));
      out[index % problem.heads() * Problem::kValueSize +
          index / problem.heads() * problem.heads() * Problem::kValueSize + d] =
          zero ? 0.0 : value / sum;
    }
    __syncthreads();
  }
}

} // namespace smelt
