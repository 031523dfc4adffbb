// softmax(Q K^T) V as attention_tma.cuh computes it, of heads whose keys are one step: blocks take heads, and each warpgroup
// rows of them.
//
// Problem: by attention_tma.cuh two warpgroups wait for the same operands, multiply, and compute exponentials at the same time,
// and of a single step nothing of a warpgroup's own overlaps: tensor cores and the others take turns. 197 rows are three blocks
// of 64 and five more rows, which take as long as any.
//
// Method
//   - A block takes head after head, whose keys and values come once, for all of its rows. Its blocks of 64 rows go to three
//     warpgroups in turn, the next head's to those that are free: each has queries of its own under way (querySlots), and
//     multiplies when these are there.
//   - They compute exponentials one after the other, which keeps them apart (5 % of ViT's 197 rows; the search for the maximum in
//     turn too took 10 % longer, scores in turn 26).
//   - A head's keys and values are given back by all warpgroups, those too that had no rows of it.
//   - Warps without rows multiply with their warpgroup, and leave out the rest.
//   - There is no running maximum, and nothing to rescale.
//
// Assumes: as attention_tma.cuh, with Config::kTiling.takesHeads; keys() at most kBlockKV; not causal, and biases by key alone;
// any grid in x up to the number of heads.
// Cost: as attention_tma.cuh. Of ViT's 40 us in the model 18 are the time of reading, 15 softmax's.
// Gain over attention_tma.cuh, on one H200, 64 x 12 heads of 64: 197 x 197 34.5 us (39.0), 160 x 160 25.1 (35.9), 128 x 128 15.3
// (16.6), 77 x 77 12.3 (13.4); with a padding mask 192 x 192 31 (41), 140 x 140 23 (32), 128 x 128 16.8 (18.4), of 32 elements 12.8
// (15.8), 64 x 64 6.9 (9.7 by kAttentionRows64). In models, by turns (where the warpgroups' counters took two registers more, which
// spilled beside biases, all this took 1 to 6 % less): ViT-B of 64 images 1.6 %, of 32 1.8, MiniLM at 32x128 2.2, DistilBERT at
// 64x128 0.9, BERT at 32x128 0.6.
#pragma once

#include "kernels/attention/attention_tma.cuh"

namespace smelt {

template <class Config, class Problem>
struct AttentionTmaHeadsTask : AttentionTmaTask<Config, Problem> {
  using Base = AttentionTmaTask<Config, Problem>;
  using Rows = typename Base::Rows;
  using Ring = typename Base::Ring;
  using Tile = typename Base::Tile;
  static constexpr int kGroups = Base::kGroups, kGroupRows = Base::kGroupRows;
  static constexpr int kGroupThreads = 128;
  static_assert(Base::kTiling.takesHeads, "each warpgroup has barriers for its queries");
  static_assert(kGroups == 3, "as many take turns");
  static constexpr bool kBiasByKey = Rows::kBiasByKey;
  static_assert(!Problem::kCausal && (!Problem::kHasBias || kBiasByKey),
                "rows of a head have the same keys, and the same biases");

  using Base::Base;

  // --- The heads of this block: one in gridDim.x. Its blocks of rows are counted over all of them ---

  __device__ __forceinline__ int blocksOfHead() const {
    return ceilDiv(this->problem.queries(), kGroupRows);
  }
  __device__ __forceinline__ int heads() const {
    return this->problem.heads() * this->problem.batches();
  }
  __device__ __forceinline__ int headCount() const {
    return (heads() - int(blockIdx.x) + int(gridDim.x) - 1) / int(gridDim.x);
  }
  __device__ __forceinline__ Tile headOf(int ordinal) const {
    int index = inDirection(this->problem.reversed, blockIdx.x + ordinal * gridDim.x, heads());
    return {index / this->problem.heads(), index % this->problem.heads(), 0};
  }

  // --- Queries: each warpgroup has slots of its own ---

  /// Of a block of rows, by its number among all of this block.
  struct QuerySlot {
    int group, slot, parity;
    __device__ __forceinline__ explicit QuerySlot(int number)
        : group(number % kGroups), slot(number / kGroups % Base::kQuerySlots),
          parity(number / kGroups / Base::kQuerySlots % 2) {}
  };

  __device__ __forceinline__ uint32_t queriesFull(int slot, int group) const {
    return this->barrier(6 * Base::kStages + slot * kGroups + group);
  }
  __device__ __forceinline__ uint32_t queriesEmpty(int slot, int group) const {
    return queriesFull(Base::kQuerySlots + slot, group);
  }

  __device__ __forceinline__ void initBarriers() const {
    for (int stage = 0; stage < Base::kStages; ++stage)
      for (typename Base::Held ring : {Base::kKeys, Base::kValues}) {
        mbarrier::init(this->full(ring, stage), 1);
        mbarrier::init(this->empty(ring, stage), Base::kConsumers / 32);
      }
    for (int stage = 0; stage < Base::kStages; ++stage) {
      mbarrier::init(this->full(Base::kBiases, stage), Base::kPreparingThreads);
      mbarrier::init(this->empty(Base::kBiases, stage), Base::kConsumers / 32);
    }
    for (int slot = 0; slot < Base::kQuerySlots; ++slot)
      for (int group = 0; group < kGroups; ++group) {
        mbarrier::init(queriesFull(slot, group), 1);
        mbarrier::init(queriesEmpty(slot, group), Base::kGroupWarps);
      }
    mbarrier::publishInit();
  }

  // --- The thread that asks for boxes ---

  template <int Panel, int Size>
  __device__ __forceinline__ void copyKeys(typename Base::Held held, uint32_t target,
                                           const TensorMap &map, const Tile &tile,
                                           const Ring &ring) const {
    uint32_t full = this->full(held, ring.stage);
    mbarrier::wait(this->empty(held, ring.stage), ring.parity ^ 1);
    mbarrier::arriveExpecting(full, Base::kBlockKV * Size * 2);
    this->template copyPanels<Panel, Size, Base::kBlockKV>(
        target, map, 0, tile.head / Problem::kHeadsOfKeys, tile.batch, full);
  }

  __device__ __forceinline__ void copyRows(const Tile &tile, int row, int number) const {
    QuerySlot slot(number);
    uint32_t full = queriesFull(slot.slot, slot.group);
    mbarrier::wait(queriesEmpty(slot.slot, slot.group), slot.parity ^ 1);
    mbarrier::arriveExpecting(full, kGroupRows * Base::kHead * 2);
    this->template copyPanels<Base::kPanelQK, Base::kHead, kGroupRows>(
        this->queries(slot.slot, slot.group), this->mapQ, row, tile.head, tile.batch, full);
  }

  __device__ __forceinline__ void produce() const {
    for (const TensorMap *map : {&this->mapQ, &this->mapK, &this->mapV})
      tma::prefetch(*map);
    ptx::gridDependencyWait();
    ptx::gridDependencyLaunch();
    Ring ring;
    int number = 0;
#pragma unroll 1
    for (int ordinal = 0; ordinal < headCount(); ++ordinal) {
      Tile tile = headOf(ordinal);
      copyKeys<Base::kPanelQK, Base::kHead>(Base::kKeys, this->keys(ring.stage), this->mapK, tile,
                                            ring);
      copyKeys<Base::kPanelV, Base::kValue>(Base::kValues, this->values(ring.stage), this->mapV,
                                            tile, ring);
      ring.advance();
#pragma unroll 1
      for (int block = 0; block < blocksOfHead(); ++block)
        copyRows(tile, block * kGroupRows, number++);
    }
  }

  // --- The warps that compute biases by key ---

  __device__ __forceinline__ void prepare() const {
    if constexpr (kBiasByKey) {
      ptx::gridDependencyWait();
      Ring ring;
#pragma unroll 1
      for (int ordinal = 0; ordinal < headCount(); ++ordinal) {
        Tile tile = headOf(ordinal);
        mbarrier::wait(this->empty(Base::kBiases, ring.stage), ring.parity ^ 1);
        this->prepareStep(tile, 0, ring.stage);
        mbarrier::arrive(this->full(Base::kBiases, ring.stage));
        ring.advance();
      }
    }
  }

  // --- The warpgroups that compute ---

  /// Starts scores = Q K^T, of many keys by two instructions: of blocks of 512 threads ptxas takes none of more than 200 columns.
  __device__ __forceinline__ void startScores(Rows &rows, uint32_t queries, int stage) const {
    constexpr int kFirst = Base::kBlockKV > 128 ? Base::kBlockKV - 112 : Base::kBlockKV,
                  kSecond = Base::kBlockKV - kFirst;
    constexpr int kRowBytes = Base::kPanelQK * 2, kUnused = 16;
    wgmma::Operand q = wgmma::describe<kRowBytes>(queries, 8 * kRowBytes, kUnused);
    wgmma::Operand k = wgmma::describe<kRowBytes>(this->keys(stage), 8 * kRowBytes, kUnused);
    wgmma::fence();
    staticFor<0, Base::kHead / 16>([&](auto d) {
      constexpr int kPanel = d * 16 / Base::kPanelQK, kInside = d * 16 % Base::kPanelQK * 2;
      uint64_t rowsOfQ = q.at(kPanel * kGroupRows * kRowBytes + kInside);
      constexpr int kKeys = kPanel * Base::kBlockKV * kRowBytes + kInside;
      multiply<kFirst, (d > 0)>(rows.scores[0], rowsOfQ, k.at(kKeys));
      if constexpr (kSecond > 0)
        multiply<kSecond, (d > 0)>(rows.scores[kFirst / 2], rowsOfQ,
                                   k.at(kKeys + kFirst * kRowBytes));
    });
    wgmma::commit();
  }
  template <int Columns, bool Adds>
  __device__ __forceinline__ static void multiply(float &first, uint64_t q, uint64_t k) {
    using Element = typename Base::Element;
    wgmma::Multiply<Columns, Element, Element, false>::template run<Adds>(
        reinterpret_cast<float (&)[Columns / 2]>(first), q, k);
  }

  /// Finishes and masks scores, and finds their maximum.
  __device__ __forceinline__ void findMaximum(Rows &rows, float (&maximum)[2],
                                              const Ring &ring) const {
    if constexpr (kBiasByKey) {
      mbarrier::wait(this->full(Base::kBiases, ring.stage), ring.parity);
      this->addBiasByKey(rows, ring.stage);
    } else {
      rows.finishScores([](int, int, int) { return 0.0f; });
      if (this->problem.keys() < Base::kBlockKV) {
        int visible = this->problem.keys() - Base::threadColumn();
        rows.mask({visible, visible});
      }
    }
    rows.findMaximum(maximum);
  }

  // Warpgroups compute exponentials in turn, as their blocks of rows follow each other: at the same time they would end at the
  // same time, and multiply at the same time.

  __device__ __forceinline__ static void awaitTurn(int group) {
    if (group == 0)
      ptx::barrierSync<1, 2 * kGroupThreads>();
    else if (group == 1)
      ptx::barrierSync<2, 2 * kGroupThreads>();
    else
      ptx::barrierSync<3, 2 * kGroupThreads>();
  }
  __device__ __forceinline__ static void giveTurn(int group) {
    if (group == 0)
      ptx::barrierArrive<2, 2 * kGroupThreads>();
    else if (group == 1)
      ptx::barrierArrive<3, 2 * kGroupThreads>();
    else
      ptx::barrierArrive<1, 2 * kGroupThreads>();
  }

  /// The block of rows from `row` on of head `ordinal`, whose queries have come to `place`. `number`: as in copyRows().
  __device__ __forceinline__ void attend(int ordinal, int row, int number, uint32_t place,
                                         const Ring &ring) const {
    Rows rows;
    float maximum[2];
    bool hasRows = row + Base::Output::warpRow() < this->problem.queries();
    mbarrier::wait(this->full(Base::kKeys, ring.stage), ring.parity);
    startScores(rows, place, ring.stage);
    wgmma::wait<0>();
    wgmma::pin(rows.scores);
    rows.clearStatistics();
    if (hasRows)
      findMaximum(rows, maximum, ring);
    if (number > 0)
      awaitTurn(number % kGroups);
    if (hasRows)
      rows.updateSoftmax(maximum);
    rows.packProbabilities();
    if (number + 1 < headCount() * blocksOfHead())
      giveTurn(number % kGroups);
    rows.clearSums();
    wgmma::pin(rows.sums);
    mbarrier::wait(this->full(Base::kValues, ring.stage), ring.parity);
    this->startValues(rows, ring.stage);
    wgmma::wait<0>();
    wgmma::pin(rows.sums);
    if (hasRows) {
      Tile tile = headOf(ordinal);
      typename Base::Output{this->problem, tile.batch, tile.head}.run(rows, row, place);
    }
  }

  __device__ __forceinline__ void consume(int group) const {
    ptx::gridDependencyWait();
    Ring ring;
    int number = group; // of the warpgroup's next block of rows
#pragma unroll 1
    for (int ordinal = 0; ordinal < headCount(); ++ordinal) {
      int first = ordinal * blocksOfHead();
#pragma unroll 1
      for (; number < first + blocksOfHead(); number += kGroups) {
        QuerySlot slot(number);
        mbarrier::wait(queriesFull(slot.slot, slot.group), slot.parity);
        attend(ordinal, (number - first) * kGroupRows, number, this->queries(slot.slot, slot.group),
               ring);
        Base::release(queriesEmpty(slot.slot, slot.group));
      }
      // Who had no rows of the head may be ahead of its copies, whose phase must have begun.
      for (typename Base::Held held : {Base::kKeys, Base::kValues, Base::kBiases})
        if (held != Base::kBiases || kBiasByKey) {
          mbarrier::wait(this->full(held, ring.stage), ring.parity);
          __syncwarp(); // for all of its lanes
          Base::release(this->empty(held, ring.stage));
        }
      ring.advance();
    }
  }
};

/// The kernel's body. The maps are parameters of the kernel.
template <class Config, class Problem>
__device__ __forceinline__ void attentionTmaHeads(const Problem &problem, const TensorMap &mapQ,
                                                  const TensorMap &mapK, const TensorMap &mapV,
                                                  char *sharedMemory) {
  using Task = AttentionTmaHeadsTask<Config, Problem>;
  Task task(problem, mapQ, mapK, mapV, ptx::sharedAddress(sharedMemory));
  if (threadIdx.x == 0)
    task.initBarriers();
  __syncthreads();
  int group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0); // the same for the whole warp
  if (group == Task::kGroups) {
    wgmma::lowerRegisters<Config::kProducerRegisters>();
    if (threadIdx.x == Task::kConsumers)
      task.produce();
    else if (threadIdx.x >= Task::kConsumers + 32)
      task.prepare();
  } else {
    wgmma::raiseRegisters<Config::kConsumerRegisters>();
    task.consume(group);
  }
}

} // namespace smelt
