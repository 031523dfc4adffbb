// One block of an attention kernel: which rows of which head it computes, and where their queries,
// keys and values come from.
//
// Problem: the attention templates differ in how they multiply and in who holds what. The operands'
// way into shared memory and the walk over heads and batches are here. Method: queries lie at the
// start of the block's shared memory, behind them a ring of stages, each one step of keys and
// values. A block's rows are the queries of one head or, `Group` heads read the same keys, of all of
// them: row r is query r / Group of head r % Group of the group. Assumes: all threads of the block take
// part in every call.
#pragma once

#include "device/tile.cuh"

namespace smelt {

/// What a row's sums are multiplied with, given the sum of its probabilities. Without keys the
/// output is an empty sum, whatever becomes of rows whose keys are all masked.
template <class Problem>
__device__ __forceinline__ float normalization(const Problem &problem, float total) {
  bool isZero = Problem::kZeroMaskedRows ? total == 0.0f : problem.keys() == 0;
  return isZero ? 0.0f : ptx::reciprocalApprox(total);
}

template <class Problem, class TileQ, class TileK, class TileV, int Threads, int Stages,
          int Group = 1>
struct AttentionBlock {
  using Element = typename Problem::Element;
  static constexpr int kBlockQ = TileQ::kRows, kBlockKV = TileK::kRows;
  static constexpr int kStageBytes = TileK::kBytes + TileV::kBytes;
  static constexpr int kOperandBytes = TileQ::kBytes + Stages * kStageBytes;
  static_assert(Stages >= 1, "a step lies in a stage");

  const Problem &problem;
  const uint32_t shared;
  int batch, head, row0; // the first head of a group; row0: first row of the block
  int key0 = 0, steps;   // first key, and steps of those that some row sees
  LinearRows<Element> keys, values;

  __device__ __forceinline__ AttentionBlock(const Problem &problem, char *sharedMemory)
      : problem(problem), shared(ptx::sharedAddress(sharedMemory)) {}

  __device__ __forceinline__ int rows() const { return problem.queries() * Group; }
  __device__ __forceinline__ int queryOf(int row) const { return row / Group; }
  __device__ __forceinline__ int headOf(int row) const { return head + row % Group; }

  __device__ __forceinline__ void moveTo(int newBatch, int newHead, int block) {
    batch = newBatch;
    head = newHead;
    row0 = block * kBlockQ;
    int lastQuery = queryOf(min(row0 + kBlockQ, rows()) - 1);
    int visibleKeys = Problem::kCausal ? min(problem.keys(), lastQuery + problem.causalOffset() + 1)
                                       : problem.keys();
    steps = visibleKeys > 0 ? ceilDiv(visibleKeys, kBlockKV) : 0;
    const Element *key = problem.k(batch, head, 0), *value = problem.v(batch, head, 0);
    keys = {key, problem.k(batch, head, 1) - key};
    values = {value, problem.v(batch, head, 1) - value};
  }

  /// Keeps one of `parts` parts of the steps, as even as whole steps allow; some may be empty.
  __device__ __forceinline__ void keepPart(int part, int parts) {
    int share = steps / parts, rest = steps % parts; // the first `rest` parts have one more
    key0 = (part * share + min(part, rest)) * kBlockKV;
    steps = share + (part < rest);
  }

  __device__ __forceinline__ uint32_t stageK(int step) const {
    return shared + TileQ::kBytes + step % Stages * kStageBytes;
  }
  __device__ __forceinline__ uint32_t stageV(int step) const {
    return stageK(step) + TileK::kBytes;
  }

  // The caller commits the groups.
  __device__ __forceinline__ void copyQueries() const {
    auto source = [this](int row, int d) {
      return problem.q(batch, headOf(row), queryOf(row)) + d;
    };
    copyTile<TileQ, Along::kColumns, Problem::kVector, Threads, Group == 1, true>(
        shared, source, row0, 0, rows(), Problem::kHeadSize);
  }
  __device__ __forceinline__ void copyKeys(int step) const {
    auto source = [this](int j, int d) { return keys.row(j) + d; };
    copyTile<TileK, Along::kColumns, Problem::kVector, Threads, true, true>(
        stageK(step), source, key0 + step * kBlockKV, 0, problem.keys(), Problem::kHeadSize);
  }
  __device__ __forceinline__ void copyValues(int step) const {
    auto source = [this](int j, int d) { return values.row(j) + d; };
    copyTile<TileV, Along::kColumns, Problem::kVector, Threads, true, true>(
        stageV(step), source, key0 + step * kBlockKV, 0, problem.keys(), Problem::kValueSize);
  }
};

/// The kernel's body: this block's rows of one head, for every batch that its grid column serves.
template <class Task, class Problem>
__device__ __forceinline__ void attendRows(const Problem &problem, char *shared) {
  ptx::gridDependencyWait();
  ptx::gridDependencyLaunch();
  Task task(problem, shared);
  int block = Problem::kCausal ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  for (int batch = blockIdx.z; batch < problem.batches(); batch += gridDim.z)
    task.run(batch, blockIdx.y, block);
}

} // namespace smelt
