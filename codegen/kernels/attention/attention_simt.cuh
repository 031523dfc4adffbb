// softmax(Q K^T) V in true 32-bit arithmetic, on the ordinary cores, in one pass over the keys.
//
// Problem: attention of models in float, to float's accuracy, without writing the scores to memory.
//
// Method
//   - The same Problem and the same walk over the keys as attention.cuh, with FFMA in place of mma.
//   - 128 threads, 16 along the rows by 8 along the keys: a row's scores lie in eight neighbouring
//     lanes, so its maximum and sum are three shuffles away, and its probabilities pass through
//     shared memory within one warp.
//   - All reads of shared memory are 16 bytes along the head; a thread's rows and keys lie threads
//     apart, which keeps the permuted tiles free of bank conflicts.
//
// Assumes: as attention.cuh, with Element = float; kThreads threads, sharedBytes(kHeadSize,
// kValueSize) of shared memory. Head sizes are padded to multiples of 32: others are right, not
// fast. Cost: 4 * queries * keys * head size FLOPs a head (half if causal) at 256 a clock and
// multiprocessor; O(queries + keys) memory.
#pragma once

#include "device/math.cuh"
#include "device/reduce.cuh"
#include "device/vector.cuh"
#include "kernels/attention/attention_block.cuh"
#include "kernels/attention/attention_config.cuh"

namespace smelt {

template <class Config, class Problem> struct AttentionSimtTask {
  static constexpr AttentionSimtTiling kTiling = Config::kTiling;
  static constexpr int kBlockQ = kTiling.blockQ, kBlockKV = kTiling.blockKV;
  static constexpr int kThreads = kTiling.threads(), kStages = kTiling.stages;
  static constexpr int kThreadsQ = AttentionSimtTiling::kThreadsQ;
  static constexpr int kThreadsKV = AttentionSimtTiling::kThreadsKV;
  static constexpr int kHead = AttentionSimtTiling::padded(Problem::kHeadSize);
  static constexpr int kValue = AttentionSimtTiling::padded(Problem::kValueSize);
  static constexpr int kQuad = 4; // floats of one 16-byte read
  static constexpr int kRows = kBlockQ / kThreadsQ, kKeys = kBlockKV / kThreadsKV; // of a thread
  static constexpr int kColumnQuads = kValue / kThreadsKV / kQuad;
  static constexpr int kVector = Problem::kVector;

  static_assert(kIsSame<typename Problem::Element, float>, "operands are float");
  static_assert(kBlockQ % kThreadsQ == 0, "threads share the rows evenly");
  static_assert(kBlockKV % 32 == 0, "rows of probabilities are whole groups of eight reads");
  static_assert(Problem::kHeadSize % kVector == 0 && Problem::kValueSize % kVector == 0,
                "vectors tile the head sizes");

  using TileQ = SharedTile<float, kBlockQ, kHead>;
  using TileK = SharedTile<float, kBlockKV, kHead>;
  using TileV = SharedTile<float, kBlockKV, kValue>;
  using TileP = SharedTile<float, kBlockQ, kBlockKV>;
  using Block = AttentionBlock<Problem, TileQ, TileK, TileV, kThreads, kStages>;

  const Problem &problem;
  Block block;
  const uint32_t probabilities; // shared memory
  const int threadRow, threadKey;
  float scores[kRows][kKeys];
  float sums[kRows][kColumnQuads][kQuad];
  float rowMax[kRows], rowSum[kRows];

  __device__ __forceinline__ AttentionSimtTask(const Problem &problem, char *sharedMemory)
      : problem(problem), block(problem, sharedMemory),
        probabilities(block.shared + Block::kOperandBytes), threadRow(threadIdx.x / kThreadsKV),
        threadKey(threadIdx.x % kThreadsKV) {}

  __device__ __forceinline__ int rowOf(int i) const { return threadRow + i * kThreadsQ; }
  __device__ __forceinline__ int keyOf(int j) const { return threadKey + j * kThreadsKV; }
  __device__ __forceinline__ int chunkOf(int d) const { return threadKey + d * kThreadsKV; }

  /// Copies the step's keys and values as one group.
  __device__ __forceinline__ void copyStep(int step) const {
    if (step < block.steps) {
      block.copyKeys(step);
      block.copyValues(step);
    }
    ptx::copyAsyncCommit();
  }

  // --- One step of keys ---

  __device__ __forceinline__ void multiplyKeys(uint32_t tile) {
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kKeys; ++j)
        scores[i][j] = 0.0f;
#pragma unroll 4
    for (int chunk = 0; chunk < kHead / kQuad; ++chunk) {
      float q[kRows][kQuad];
      staticFor<0, kRows>(
          [&](auto i) { ptx::loadShared(block.shared + TileQ::offset(rowOf(i), chunk), q[i]); });
      staticFor<0, kKeys>([&](auto j) {
        float k[kQuad];
        ptx::loadShared(tile + TileK::offset(keyOf(j), chunk), k);
        staticFor<0, kRows>([&](auto i) {
#pragma unroll
          for (int s = 0; s < kQuad; ++s)
            scores[i][j] = ::fmaf(q[i][s], k[s], scores[i][j]);
        });
      });
    }
  }

  __device__ __forceinline__ float finishScore(float score, int query, int key) const {
    if (key >= problem.keys() || (Problem::kCausal && key > query + problem.causalOffset()))
      return -infinity();
    score *= Problem::kScale;
    if constexpr (Problem::kSoftcap != 0.0f)
      score = Problem::kSoftcap * tanh(score * (1.0f / Problem::kSoftcap));
    if constexpr (Problem::kHasBias)
      score += problem.bias(block.batch, block.head, min(query, problem.queries() - 1), key);
    return score;
  }

  /// Turns scores into probabilities relative to the running maximum, rescales what was summed
  /// under the old one, and leaves the probabilities in shared memory.
  __device__ __forceinline__ void updateSoftmax(int key0) {
    __syncwarp(); // the previous step's probabilities have been read
    staticFor<0, kRows>([&](auto i) {
      float maximum = rowMax[i];
      staticFor<0, kKeys>([&](auto j) {
        scores[i][j] = finishScore(scores[i][j], block.row0 + rowOf(i), key0 + keyOf(j));
        maximum = ::fmaxf(maximum, scores[i][j]);
      });
      for (int mask = 1; mask < kThreadsKV; mask *= 2)
        maximum = ::fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, mask));
      float reference = maximum == -infinity() ? 0.0f : maximum;
      float rescale = ptx::exp2Approx((rowMax[i] - reference) * kLog2E);
      rowMax[i] = maximum;
      float sum = 0.0f;
      staticFor<0, kKeys>([&](auto j) {
        float probability = ptx::exp2Approx((scores[i][j] - reference) * kLog2E);
        sum += probability;
        int key = keyOf(j);
        ptx::storeShared(probabilities + TileP::offset(rowOf(i), key / kQuad) + key % kQuad * 4,
                         probability);
      });
      rowSum[i] = ::fmaf(rowSum[i], rescale, sum);
      staticFor<0, kColumnQuads>([&](auto d) {
#pragma unroll
        for (int c = 0; c < kQuad; ++c)
          sums[i][d][c] *= rescale;
      });
    });
    __syncwarp();
  }

  __device__ __forceinline__ void multiplyValues(uint32_t tile) {
#pragma unroll 2
    for (int chunk = 0; chunk < kBlockKV / kQuad; ++chunk) {
      float p[kRows][kQuad];
      staticFor<0, kRows>(
          [&](auto i) { ptx::loadShared(probabilities + TileP::offset(rowOf(i), chunk), p[i]); });
      staticFor<0, kQuad>([&](auto s) {
        staticFor<0, kColumnQuads>([&](auto d) {
          float v[kQuad];
          ptx::loadShared(tile + TileV::offset(chunk * kQuad + s, chunkOf(d)), v);
          staticFor<0, kRows>([&](auto i) {
#pragma unroll
            for (int c = 0; c < kQuad; ++c)
              sums[i][d][c] = ::fmaf(p[i][s], v[c], sums[i][d][c]);
          });
        });
      });
    }
  }

  // --- One block of rows ---

  __device__ __forceinline__ void storeRows() const {
    staticFor<0, kRows>([&](auto i) {
      float total = warpReduce<Sum, kThreadsKV>(rowSum[i]);
      float scale = normalization(problem, total);
      int row = block.row0 + rowOf(i);
      if (row < problem.queries())
        staticFor<0, kColumnQuads>([&](auto d) {
          constexpr int kPiece = kVector < kQuad ? kVector : kQuad;
          staticFor<0, kQuad / kPiece>([&](auto piece) {
            int column = chunkOf(d) * kQuad + piece * kPiece;
            float values[kPiece];
#pragma unroll
            for (int c = 0; c < kPiece; ++c)
              values[c] = sums[i][d][piece * kPiece + c] * scale;
            if (column < Problem::kValueSize)
              store<kPiece>(problem.out(block.batch, block.head, row) + column, values);
          });
        });
    });
  }

  __device__ __forceinline__ void run(int batch, int head, int rows) {
    block.moveTo(batch, head, rows);
    block.copyQueries(); // in one group with the first step
    for (int step = 0; step < kStages - 1; ++step)
      copyStep(step);
    staticFor<0, kRows>([&](auto i) {
      rowMax[i] = -infinity();
      rowSum[i] = 0.0f;
      staticFor<0, kColumnQuads>([&](auto d) {
        for (int c = 0; c < kQuad; ++c)
          sums[i][d][c] = 0.0f;
      });
    });
    for (int step = 0; step < block.steps; ++step) {
      if constexpr (kStages == 1) { // nothing arrives ahead: there is room for one step only
        __syncthreads();
        copyStep(step);
      }
      ptx::copyAsyncWait<kStages == 1 ? 0 : kStages - 2>();
      __syncthreads(); // this step has arrived, and nobody reads the one before it any more
      if constexpr (kStages > 1)
        copyStep(step + kStages - 1);
      multiplyKeys(block.stageK(step));
      updateSoftmax(step * kBlockKV);
      multiplyValues(block.stageV(step));
    }
    storeRows();
    ptx::copyAsyncWait<0>();
    __syncthreads(); // the next block's copies overwrite the stages
  }
};

template <class Config, class Problem>
__device__ __forceinline__ void attentionSimt(const Problem &problem, char *shared) {
  attendRows<AttentionSimtTask<Config, Problem>>(problem, shared);
}

} // namespace smelt
