// softmax(Q K^T) V of few queries on many keys, at the speed of memory (decoding, 16-bit elements).
//
// Problem: a step of decoding has one query a head. The keys and values are all there is to read, each
// once, but attention.cuh gives every query head a block of its own, which reads the keys of its group of
// heads again, and a block all keys of a row: with few heads most multiprocessors have no work.
//
// Method
//   - The heads that read the same keys are the rows of one block, with all their queries (attention_block.cuh).
//   - Several steps of keys and values are on their way to shared memory while one is multiplied;
//     blocks are small enough for two on a multiprocessor, so that one still reads when the other ends.
//   - The keys of a row are cut into parts, one a block. kParts of 2 to 8: the blocks of a cluster; each
//     sends what its rows came to to the blocks that merge them, every block an equal share of the columns,
//     through distributed shared memory. 0: any number, which leave their rows in device memory; attentionCombine,
//     a second kernel, merges them. Either way the order of all sums follows from the sizes alone.
//
// Assumes: what attention.cuh does; grid (kvHeads * ceil(rows / blockQ), parts, min(batches, 65535)), of
// `queries * kHeadsOfKeys` rows; of kParts > 1, clusters of (1, kParts, 1) blocks. With kParts 0 the problem has
// `float *parts`, a record of attentionRecord() floats for every block, aligned to 16 bytes.
#pragma once

#include "kernels/attention/attention.cuh"

namespace smelt {

template <class Config, class Problem> struct AttentionDecodeTask : AttentionTask<Config, Problem> {
  using Base = AttentionTask<Config, Problem>;
  using Base::block, Base::kBlockQ, Base::kThreads, Base::kVector, Base::kVectors, Base::problem;
  using Part = AttentionPart<kVector>;
  static constexpr int kParts = Config::kParts;

  __device__ __forceinline__ AttentionDecodeTask(const Problem &problem, char *shared)
      : Base(problem, shared) {}

  // --- Parts in a cluster ---
  //
  // Vectors go to its blocks in turn. What arrives lies behind everything else, so that a block that is
  // ahead disturbs nobody.

  static constexpr int kOwned = kParts > 1 ? ceilDiv(kBlockQ *kVectors, kParts) : 0; // vectors

  __device__ __forceinline__ uint32_t receivedStatistics(int part, int row) const {
    constexpr int kOffset = Config::kTiling.sharedBytes(Problem::kHeadSize, Problem::kValueSize);
    return block.shared + kOffset + (part * kBlockQ + row) * 8;
  }
  __device__ __forceinline__ uint32_t receivedVector(int part, int slot) const {
    return receivedStatistics(kParts, 0) + (part * kOwned + slot) * kVector * 4;
  }

  __device__ __forceinline__ void sendVector(uint32_t address, const float (&sums)[kVector]) const {
    if constexpr (kVector % 2 == 0) {
#pragma unroll
      for (int c = 0; c < kVector; c += 2)
        ptx::storeCluster(address + c * 4, sums[c], sums[c + 1]);
    } else {
#pragma unroll
      for (int c = 0; c < kVector; ++c)
        ptx::storeCluster(address + c * 4, sums[c]);
    }
  }

  /// Sends every vector to the block that merges it, and the statistics of its row to all.
  __device__ __forceinline__ void sendRows(int part) const {
    this->forVectors([&](int index, int row, int column) {
      Part merged = this->mergeWarps(row, column);
      uint32_t target = receivedVector(part, index / kParts);
      sendVector(ptx::mapToRank(target, index % kParts), merged.sums);
      if (column == 0)
        for (int rank = 0; rank < kParts; ++rank)
          ptx::storeCluster(ptx::mapToRank(receivedStatistics(part, row), rank), merged.maximum,
                            merged.total);
    });
  }

  __device__ __forceinline__ void mergeReceived(int rank) const {
    for (int slot = threadIdx.x; slot < kOwned; slot += kThreads) {
      int index = slot * kParts + rank, row = index / kVectors;
      if (row >= kBlockQ || block.row0 + row >= block.rows())
        break;
      Part merged = mergeParts<kParts, kVector>(
          Base::kExponentScale, [&](int part) { return receivedStatistics(part, row); },
          [&](int part) { return receivedVector(part, slot); });
      this->storeColumns(row, index % kVectors * kVector, merged);
    }
  }

  // --- Parts in device memory ---

  __device__ __forceinline__ void leaveParts() const {
    int64_t number = (int64_t(block.batch) * gridDim.x + blockIdx.x) * gridDim.y + blockIdx.y;
    float *record = problem.parts + number * attentionRecord(kBlockQ, Problem::kValueSize);
    this->forVectors([&](int, int row, int column) {
      Part merged = this->mergeWarps(row, column);
      store<kVector>(record + row * Problem::kValueSize + column, merged.sums);
      if (column == 0) {
        float statistics[2] = {merged.maximum, merged.total};
        store<2>(record + kBlockQ * Problem::kValueSize + row * 2, statistics);
      }
    });
  }

  /// One block's part of the keys of `rows`, a number, of the heads that start with `head`.
  __device__ __forceinline__ void run(int batch, int head, int rows) {
    block.moveTo(batch, head, rows);
    if constexpr (kParts != 1)
      block.keepPart(blockIdx.y, gridDim.y);
    if constexpr (kParts > 1)
      ptx::clusterArrive(); // this block has started, and has read what it received before
    this->attend();
    if constexpr (kParts > 1) {
      ptx::clusterWait();
      sendRows(blockIdx.y);
      ptx::clusterArrive();
      ptx::clusterWait();
      mergeReceived(blockIdx.y);
    } else if constexpr (kParts == 1) {
      this->storeRows();
    } else {
      leaveParts();
    }
    __syncthreads(); // and the next block's copies over the exchange buffer
  }
};

template <class Config, class Problem>
__device__ __forceinline__ void attentionDecode(const Problem &problem, char *shared) {
  ptx::gridDependencyWait();
  ptx::gridDependencyLaunch();
  AttentionDecodeTask<Config, Problem> task(problem, shared);
  int blocksOfGroup = ceilDiv(task.block.rows(), Config::kTiling.blockQ);
  int head = blockIdx.x / blocksOfGroup * Problem::kHeadsOfKeys;
  for (int batch = blockIdx.z; batch < problem.batches(); batch += gridDim.z)
    task.run(batch, head, blockIdx.x % blocksOfGroup);
}

/// The second kernel: merges the `parts` parts that blocks of `Config` have left. Four neighbouring threads
/// share a vector; grid (ceil(blockQ * vectors of a row / kCombinedVectors), gridDim.x of the first
/// kernel, min(batches, 65535)).
template <class Config, class Problem>
__device__ __forceinline__ void attentionCombine(const Problem &problem, int parts) {
  ptx::gridDependencyWait();
  ptx::gridDependencyLaunch();
  using Task = AttentionDecodeTask<Config, Problem>;
  constexpr int kVector = Task::kVector, kBlockQ = Task::kBlockQ;
  constexpr int kSharing = Config::kCombineThreads / Config::kCombinedVectors;
  Task task(problem, nullptr);
  int blocksOfGroup = ceilDiv(task.block.rows(), kBlockQ);
  int index = blockIdx.x * Config::kCombinedVectors + threadIdx.x / kSharing;
  int row = index / Task::kVectors, column = index % Task::kVectors * kVector;
  for (int batch = blockIdx.z; batch < problem.batches(); batch += gridDim.z) {
    task.block.moveTo(batch, blockIdx.y / blocksOfGroup * Problem::kHeadsOfKeys,
                      blockIdx.y % blocksOfGroup);
    bool exists = row < kBlockQ && task.block.row0 + row < task.block.rows();
    constexpr int kRecord = attentionRecord(kBlockQ, Problem::kValueSize);
    const float *record =
        problem.parts + (int64_t(batch) * gridDim.y + blockIdx.y) * parts * kRecord;
    AttentionPart<kVector> merged;
#pragma unroll 4
    for (int part = threadIdx.x % kSharing; exists && part < parts; part += kSharing) {
      const float *left = record + int64_t(part) * kRecord;
      AttentionPart<kVector> other;
      load<kVector>(left + row * Problem::kValueSize + column, other.sums);
      const float *statistics = left + kBlockQ * Problem::kValueSize + row * 2;
      other.maximum = statistics[0], other.total = statistics[1];
      merged.add(other, Task::kExponentScale);
    }
#pragma unroll
    for (int lanes = 1; lanes < kSharing; lanes *= 2) {
      AttentionPart<kVector> other;
      other.maximum = __shfl_xor_sync(0xffffffffu, merged.maximum, lanes);
      other.total = __shfl_xor_sync(0xffffffffu, merged.total, lanes);
#pragma unroll
      for (int c = 0; c < kVector; ++c)
        other.sums[c] = __shfl_xor_sync(0xffffffffu, merged.sums[c], lanes);
      merged.add(other, Task::kExponentScale);
    }
    if (exists && threadIdx.x % kSharing == 0)
      task.storeColumns(row, column, merged);
  }
}

} // namespace smelt
