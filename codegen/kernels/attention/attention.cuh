// softmax(Q K^T) V on the tensor cores, in one pass over the keys (flash attention, forward).
//
// Problem: attention as primitives writes a queries x keys matrix of scores to memory and reads it
// back several times. Here scores live in registers, and memory traffic is that of Q, K, V and the
// output.
//
// Method
//   - A warp owns 16 or 32 query rows. For each step of keys it multiplies Q K^T (mma.sync), applies
//     scale, softcap, bias and masks in float, updates the running maximum and sum of every row,
//     and multiplies the 16-bit probabilities, already laid out as an operand, with V. Exponentials
//     are powers of two; without bias and softcap the scale folds into their argument.
//   - K and V of later steps arrive by cp.async while this one is computed.
//   - Short sequences have too few rows for the chip: blocks of 16 rows put several warps on each
//     row and divide every step's keys among them; their results merge at the end.
//   - Causal blocks stop at their last visible key, skip steps that a warp cannot see, and mask
//     only steps that cross the diagonal; the longest blocks start first.
//
// Assumes: rows of one head lie at a constant distance from each other; kVector divides kHeadSize
// and kValueSize; Config::kThreads threads; Config::sharedBytes(kHeadSize, kValueSize) of shared
// memory, 16-byte aligned; grid (ceil(queries / blockQ), heads, min(batches, 65535)). Problem::bias
// is asked only for existing queries and keys. A row whose keys are all at -infinity yields NaN, or
// 0 with kZeroMaskedRows; one without keys yields 0. Cost: 4 * queries * keys * head size FLOPs a
// head (half if causal), O(queries + keys) memory.
#pragma once

#include "device/math.cuh"
#include "device/vector.cuh"
#include "kernels/attention/attention_block.cuh"
#include "kernels/attention/attention_config.cuh"
#include "kernels/attention/attention_part.cuh"

namespace smelt {

template <class Config, class Problem> struct AttentionTask {
  using Element = typename Problem::Element;
  static constexpr AttentionTiling kTiling = Config::kTiling;
  static constexpr int kBlockQ = kTiling.blockQ, kBlockKV = kTiling.blockKV;
  static constexpr int kThreads = kTiling.threads(), kStages = kTiling.stages;
  static constexpr int kWarpsQ = kTiling.warpsQ(), kWarpsKV = kTiling.warpsKV();
  static constexpr int kRowTiles = kTiling.rowTiles(), kWarpKeys = kTiling.warpKeys();
  static constexpr int kHead = AttentionTiling::padded(Problem::kHeadSize);
  static constexpr int kValue = AttentionTiling::padded(Problem::kValueSize);
  static constexpr int kHeadSteps = kHead / 16, kKeyTiles = kWarpKeys / 8;
  static constexpr int kValueTiles = kValue / 8;
  static constexpr int kVector = Problem::kVector;
  /// Fragments of Q stay in registers as long as they leave room for the sums.
  static constexpr bool kKeepQueries = kRowTiles * (kHeadSteps * 4 + kValueTiles * 4) <= 128;

  /// The bias of a step is fetched during the one before, as long as registers allow.
  static constexpr bool kBiasAhead = Problem::kHasBias && kRowTiles * kKeyTiles <= 8 &&
                                     (!Config::kCopiesFirst || kValueTiles <= 16);

  static constexpr int kSteps = Config::kSteps;

  static_assert(kIsHalfWidth<Element>, "operands are half or bfloat16");
  static_assert(kSteps < 2 || !Problem::kCausal, "causal blocks see different numbers of steps");
  static_assert(kBlockQ % 16 == 0 && kTiling.warps % kWarpsQ == 0 && kBlockQ % (16 * kWarpsQ) == 0,
                "warps share the 16-row pieces of blockQ evenly");
  static_assert(kBlockKV % (16 * kWarpsKV) == 0, "a warp takes whole 16-key pieces of a step");
  static_assert(Problem::kHeadSize % kVector == 0 && Problem::kValueSize % kVector == 0,
                "vectors tile the head sizes");

  using TileQ = SharedTile<Element, kBlockQ, kHead>;
  using TileK = SharedTile<Element, kBlockKV, kHead>;
  using TileV = SharedTile<Element, kBlockKV, kValue>;
  using Block = AttentionBlock<Problem, TileQ, TileK, TileV, kThreads, kStages,
                               Config::kPacksHeads ? Problem::kHeadsOfKeys : 1>;

  // Where the scale goes: into the exponent's argument if nothing stands between, else onto the
  // scores. Scores times kExponentScale are powers of two.
  static constexpr bool kDeferScale =
      !Problem::kHasBias && Problem::kSoftcap == 0.0f && Problem::kScale > 0.0f;
  static constexpr float kExponentScale = kDeferScale ? Problem::kScale * kLog2E : kLog2E;

  const Problem &problem;
  Block block;
  const int warp, lane;
  const int warpRow, firstKey; // of the warp's rows in the block, of its keys in a step
  uint32_t queries[kRowTiles][kHeadSteps][4];
  float scores[kRowTiles][kKeyTiles][4];
  float sums[kRowTiles][kValueTiles][4];
  float biases[kRowTiles][kKeyTiles][4];
  float rowMax[kRowTiles][2], rowSum[kRowTiles][2];

  __device__ __forceinline__ AttentionTask(const Problem &problem, char *sharedMemory)
      : problem(problem), block(problem, sharedMemory), warp(threadIdx.x / 32),
        lane(threadIdx.x % 32), warpRow(warp % kWarpsQ * kRowTiles * 16),
        firstKey(warp / kWarpsQ * kWarpKeys) {}

  /// Copies the step's keys and values, each as one group.
  __device__ __forceinline__ void copyStep(int step) const {
    if (step < block.steps)
      block.copyKeys(step);
    ptx::copyAsyncCommit();
    if (step < block.steps)
      block.copyValues(step);
    ptx::copyAsyncCommit();
  }

  // --- Scores ---

  __device__ __forceinline__ void loadQueries() {
    staticFor<0, kRowTiles>([&](auto i) {
      staticFor<0, kHeadSteps>([&](auto d) {
        loadFragmentA<TileQ>(block.shared, warpRow + 16 * i, 2 * d, queries[i][d]);
      });
    });
  }

  /// scores = Q K^T over this warp's keys of the step.
  __device__ __forceinline__ void multiplyKeys(uint32_t tile) {
    staticFor<0, kRowTiles>([&](auto i) {
      staticFor<0, kKeyTiles>([&](auto j) {
        for (int r = 0; r < 4; ++r)
          scores[i][j][r] = 0.0f;
      });
    });
    staticFor<0, kHeadSteps>([&](auto d) {
      if constexpr (!kKeepQueries)
        staticFor<0, kRowTiles>([&](auto i) {
          loadFragmentA<TileQ>(block.shared, warpRow + 16 * i, 2 * d, queries[i][0]);
        });
      staticFor<0, kKeyTiles / 2>([&](auto j) {
        uint32_t k[4];
        loadFragmentBTransposed<TileK>(tile, firstKey + 16 * j, 2 * d, k);
        staticFor<0, kRowTiles>([&](auto i) {
          const uint32_t (&q)[4] = queries[i][kKeepQueries ? int(d) : 0];
          ptx::mma(scores[i][2 * j], q, k[0], k[1], Element());
          ptx::mma(scores[i][2 * j + 1], q, k[2], k[3], Element());
        });
      });
    });
  }

  /// Row and key of element r of score tile (i, j) in the step that starts at `key0`.
  __device__ __forceinline__ int rowOf(int i, int r) const {
    return block.row0 + warpRow + 16 * i + lane / 4 + r / 2 * 8;
  }
  __device__ __forceinline__ int keyOf(int key0, int j, int r) const {
    return key0 + firstKey + 8 * j + lane % 4 * 2 + r % 2;
  }

  __device__ __forceinline__ bool visible(int row, int key) const {
    return key < problem.keys() &&
           (!Problem::kCausal || key <= block.queryOf(row) + problem.causalOffset());
  }

  /// Scale, softcap and bias, where they cannot be deferred, then the mask.
  __device__ __forceinline__ void finishScores(int key0) {
    int warpQuery = block.queryOf(block.row0 + warpRow);
    bool masked = key0 + kBlockKV > problem.keys() ||
                  (Problem::kCausal && key0 + kBlockKV > warpQuery + problem.causalOffset() + 1);
    staticFor<0, kRowTiles>([&](auto i) {
      staticFor<0, kKeyTiles>([&](auto j) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          float &score = scores[i][j][r];
          if constexpr (!kDeferScale)
            score *= Problem::kScale;
          if constexpr (Problem::kSoftcap != 0.0f)
            score = Problem::kSoftcap * approx::tanh(score * (1.0f / Problem::kSoftcap));
          if constexpr (Problem::kHasBias)
            score += kBiasAhead ? biases[i][j][r] : biasOf(key0, i, j, r);
        }
      });
    });
    if (masked)
      staticFor<0, kRowTiles>([&](auto i) {
        staticFor<0, kKeyTiles>([&](auto j) {
#pragma unroll
          for (int r = 0; r < 4; ++r)
            if (!visible(rowOf(i, r), keyOf(key0, j, r)))
              scores[i][j][r] = -infinity();
        });
      });
  }

  __device__ __forceinline__ float biasOf(int key0, int i, int j, int r) const {
    int row = min(rowOf(i, r), block.rows() - 1);
    return problem.bias(block.batch, block.headOf(row), block.queryOf(row),
                        min(keyOf(key0, j, r), problem.keys() - 1));
  }

  /// Fetches the biases of the step that starts at `key0`, long before they are added.
  __device__ __forceinline__ void fetchBias(int key0) {
    staticFor<0, kRowTiles>([&](auto i) {
      staticFor<0, kKeyTiles>([&](auto j) {
#pragma unroll
        for (int r = 0; r < 4; ++r)
          biases[i][j][r] = biasOf(key0, i, j, r);
      });
    });
  }

  // --- Softmax ---

  /// Turns scores into probabilities relative to the running maximum, and rescales what was summed
  /// under the old one. Rows that have seen only -infinity keep a maximum of -infinity and sums of
  /// 0. (All rows advance together: one row alone would be a chain of dependent instructions.)
  __device__ __forceinline__ void updateSoftmax() {
    float maximum[kRowTiles][2], reference[kRowTiles][2], rescale[kRowTiles][2];
    forRows([&](int i, int h) { maximum[i][h] = rowMax[i][h]; });
    staticFor<0, kKeyTiles>([&](auto j) {
      forRows([&](int i, int h) {
        maximum[i][h] =
            ::fmaxf(maximum[i][h], ::fmaxf(scores[i][j][2 * h], scores[i][j][2 * h + 1]));
      });
    });
    forRows([&](int i, int h) {
      maximum[i][h] = ::fmaxf(maximum[i][h], __shfl_xor_sync(0xffffffffu, maximum[i][h], 1));
    });
    forRows([&](int i, int h) {
      maximum[i][h] = ::fmaxf(maximum[i][h], __shfl_xor_sync(0xffffffffu, maximum[i][h], 2));
    });
    bool moved = false; // some row's maximum
    forRows([&](int i, int h) {
      reference[i][h] = maximum[i][h] == -infinity() ? 0.0f : maximum[i][h];
      rescale[i][h] = ptx::exp2Approx((rowMax[i][h] - reference[i][h]) * kExponentScale);
      moved = moved || rescale[i][h] != 1.0f;
      rowMax[i][h] = maximum[i][h];
      rowSum[i][h] *= rescale[i][h];
    });
    staticFor<0, kKeyTiles>([&](auto j) {
      forRows([&](int i, int h) {
#pragma unroll
        for (int r = 2 * h; r < 2 * h + 2; ++r) {
          scores[i][j][r] = exponential(scores[i][j][r], reference[i][h]);
          rowSum[i][h] += scores[i][j][r];
        }
      });
    });
    if (__any_sync(0xffffffffu, moved)) // after a few steps maxima rarely move
      staticFor<0, kValueTiles>([&](auto d) {
        forRows([&](int i, int h) {
          sums[i][d][2 * h] *= rescale[i][h];
          sums[i][d][2 * h + 1] *= rescale[i][h];
        });
      });
  }

  /// Calls body(i, h) for the rows of this thread: half h of 16-row piece i.
  template <class Body> __device__ __forceinline__ static void forRows(const Body &body) {
    staticFor<0, kRowTiles>([&](auto i) {
      body(i, 0);
      body(i, 1);
    });
  }

  /// e^(score - reference). With a bias the difference comes first: a bias of the lowest finite
  /// float would overflow if it were scaled before.
  __device__ __forceinline__ static float exponential(float score, float reference) {
    if constexpr (Problem::kHasBias)
      return ptx::exp2Approx((score - reference) * kExponentScale);
    else
      return ptx::exp2Approx(::fmaf(score, kExponentScale, -reference * kExponentScale));
  }

  /// sums += P V over this warp's keys of the step.
  __device__ __forceinline__ void multiplyValues(uint32_t tile) {
    staticFor<0, kKeyTiles / 2>([&](auto j) {
      uint32_t probabilities[kRowTiles][4];
      staticFor<0, kRowTiles>([&](auto i) {
#pragma unroll
        for (int r = 0; r < 4; ++r)
          probabilities[i][r] = packPair<Element>(scores[i][2 * j + r / 2][r % 2 * 2],
                                                  scores[i][2 * j + r / 2][r % 2 * 2 + 1]);
      });
      staticFor<0, kValueTiles / 2>([&](auto d) {
        uint32_t v[4];
        loadFragmentB<TileV>(tile, firstKey + 16 * j, 2 * d, v);
        staticFor<0, kRowTiles>([&](auto i) {
          ptx::mma(sums[i][2 * d], probabilities[i], v[0], v[1], Element());
          ptx::mma(sums[i][2 * d + 1], probabilities[i], v[2], v[3], Element());
        });
      });
    });
  }

  // --- Output ---
  //
  // Every warp leaves its unnormalised rows, with their maximum and sum, in the exchange buffer;
  // then each thread merges the warpsKV versions of kVector columns of one row and stores them.

  static constexpr int kExchangeStride = kValue + AttentionTiling::kRowPadding;

  __device__ __forceinline__ uint32_t rowAddress(int part, int row) const {
    return block.shared + (part * kBlockQ + row) * kExchangeStride * 4;
  }
  __device__ __forceinline__ uint32_t statisticsAddress(int part, int row) const {
    return block.shared + (kWarpsKV * kBlockQ * kExchangeStride + (part * kBlockQ + row) * 2) * 4;
  }

  __device__ __forceinline__ void leaveRows() {
    int part = warp / kWarpsQ;
    staticFor<0, kRowTiles>([&](auto i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        int row = warpRow + 16 * i + 8 * h + lane / 4;
        float sum = rowSum[i][h];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        if (lane % 4 == 0)
          ptx::storeShared(statisticsAddress(part, row), rowMax[i][h], sum);
        staticFor<0, kValueTiles>([&](auto d) {
          ptx::storeShared(rowAddress(part, row) + (8 * d + lane % 4 * 2) * 4, sums[i][d][2 * h],
                           sums[i][d][2 * h + 1]);
        });
      }
    });
  }

  /// Columns of a row from all warps that share it.
  __device__ __forceinline__ AttentionPart<kVector> mergeWarps(int row, int column) const {
    return mergeParts<kWarpsKV, kVector>(
        kExponentScale, [&](int part) { return statisticsAddress(part, row); },
        [&](int part) { return rowAddress(part, row) + column * 4; });
  }

  __device__ __forceinline__ void storeColumns(int row, int column,
                                               AttentionPart<kVector> &part) const {
    part.normalize(problem);
    int index = block.row0 + row;
    store<kVector>(problem.out(block.batch, block.headOf(index), block.queryOf(index)) + column,
                   part.sums);
  }

  static constexpr int kVectors = Problem::kValueSize / kVector;
  /// Calls body(index, row, column) for this thread's vectors of the rows that exist.
  template <class Body> __device__ __forceinline__ void forVectors(const Body &body) const {
    for (int index = threadIdx.x; index < kBlockQ * kVectors; index += kThreads)
      if (block.row0 + index / kVectors < block.rows())
        body(index, index / kVectors, index % kVectors * kVector);
  }

  __device__ __forceinline__ void storeRows() const {
    forVectors([&](int, int row, int column) {
      AttentionPart<kVector> part = mergeWarps(row, column);
      storeColumns(row, column, part);
    });
  }

  // --- One block of rows ---

  __device__ __forceinline__ void clear() {
    staticFor<0, kRowTiles>([&](auto i) {
      for (int h = 0; h < 2; ++h) {
        rowMax[i][h] = -infinity();
        rowSum[i][h] = 0.0f;
      }
      staticFor<0, kValueTiles>([&](auto d) {
        for (int r = 0; r < 4; ++r)
          sums[i][d][r] = 0.0f;
      });
    });
  }

  /// Which step of a block's is compiled: the first multiplies its keys before its values arrive, and
  /// one that is alone has nothing to look ahead to.
  enum class Step { kOnly, kFirst, kLater };

  /// One step of keys and values.
  template <Step Which> __device__ __forceinline__ void attendStep(int step, int warpKeyEnd) {
    constexpr int kPending = 2 * (kStages - 1); // groups behind this step's keys and values
    int key0 = block.key0 + step * kBlockKV;
    bool sees = !Problem::kCausal || key0 + firstKey < warpKeyEnd;
    ptx::copyAsyncWait<Which == Step::kOnly    ? 1
                       : Which == Step::kFirst ? kPending - 1
                                               : kPending - 2>();
    __syncthreads(); // and nobody reads the step before this any more
    if constexpr (kKeepQueries && Which != Step::kLater)
      loadQueries();
    if constexpr (Which != Step::kOnly && Config::kCopiesFirst)
      copyStep(step + kStages - 1);
    if (sees)
      multiplyKeys(block.stageK(step));
    if constexpr (Which != Step::kOnly && !Config::kCopiesFirst)
      copyStep(step + kStages - 1);
    if (sees) {
      finishScores(key0);
      if constexpr (kBiasAhead && Which != Step::kOnly)
        if (step + 1 < block.steps)
          fetchBias(key0 + kBlockKV);
      updateSoftmax();
    }
    if constexpr (Which != Step::kLater) {
      ptx::copyAsyncWait<Which == Step::kOnly ? 0 : kPending>();
      __syncthreads();
    }
    if (sees)
      multiplyValues(block.stageV(step));
  }

  /// All steps of a block whose keys, if it has any, fit in one.
  __device__ __forceinline__ void attendOnly(int warpKeyEnd) {
    if constexpr (kBiasAhead)
      if (problem.keys() > 0)
        fetchBias(0);
    block.copyQueries(); // in one group with the keys
    block.copyKeys(0);
    ptx::copyAsyncCommit();
    block.copyValues(0);
    ptx::copyAsyncCommit();
    clear();
    attendStep<Step::kOnly>(0, warpKeyEnd);
  }

  /// Any number of steps, or exactly kSteps.
  __device__ __forceinline__ void attendAll(int warpKeyEnd) {
    if constexpr (kBiasAhead)
      if (block.steps > 0)
        fetchBias(block.key0);
    block.copyQueries(); // in one group with the first keys
    for (int step = 0; step < kStages - 1; ++step)
      copyStep(step);
    clear();
    if (block.steps > 0)
      attendStep<Step::kFirst>(0, warpKeyEnd);
    int steps = block.steps;
    // Two steps in a row, of a known number, would spill in the longer tilings.
    if constexpr (kSteps == 0)
      ptx::hide(steps);
    for (int step = 1; step < steps; ++step)
      attendStep<Step::kLater>(step, warpKeyEnd);
    ptx::copyAsyncWait<0>();
  }

  /// Leaves the rows of the block, once it has been moved to them, in the exchange buffer.
  __device__ __forceinline__ void attend() {
    int lastQuery = block.queryOf(block.row0 + warpRow + kRowTiles * 16 - 1);
    int warpKeyEnd = lastQuery + 1 + problem.causalOffset();
    if constexpr (kSteps == 1)
      attendOnly(warpKeyEnd);
    else
      attendAll(warpKeyEnd);
    __syncthreads(); // the exchange buffer lies over the stages
    leaveRows();
    __syncthreads();
  }

  __device__ __forceinline__ void run(int batch, int head, int rows) {
    block.moveTo(batch, head, rows);
    if constexpr (kSteps > 1)
      block.steps = kSteps;
    attend();
    storeRows();
    __syncthreads(); // and the next block's copies over the exchange buffer
  }
};

template <class Config, class Problem>
__device__ __forceinline__ void attention(const Problem &problem, char *shared) {
  attendRows<AttentionTask<Config, Problem>>(problem, shared);
}

} // namespace smelt
