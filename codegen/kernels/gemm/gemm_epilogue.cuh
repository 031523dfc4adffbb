// The way of a GEMM's sums to the generated epilogue.
//
// Sums leave registers through an exchange buffer in shared memory, 32 bits each, so that the epilogue
// gets up to eight consecutive columns whatever the fragments look like. Without a cluster the
// buffer holds one tile. In a cluster every block owns a band of the tile's rows; its buffer holds,
// for each rank, that rank's sums for the band. Blocks whose warps share K send several shares.
// They are added in the order of ranks and shares.
//
// A Problem of two products (kProducts) has columns that take turns: kTurnColumns of the one,
// as many of the other. Its epilogue gets both products' sums for the columns that it stores.
#pragma once

#include "device/moments.cuh"
#include "device/totals.cuh"
#include "kernels/gemm/gemm_exchange.cuh"

namespace smelt {

/// How the threads of a block share the groups of each row's moments, of every one of `tensors`.
struct MomentsShare {
  int threadsPerRow, rounds;
  bool holds; // the groups in registers; it deals them out evenly

  constexpr MomentsShare(int groups, int rows, int threads, int tensors)
      : threadsPerRow(1), rounds(1), holds(true) {
    constexpr int kMaxHeld = 32; // groups of a thread: two registers each
    int most = 1;
    while (most < 32 && 2 * most * rows <= threads)
      most *= 2;
    while (threadsPerRow < most && groups % (2 * threadsPerRow) == 0)
      threadsPerRow *= 2;
    holds = groups / threadsPerRow * ceilDiv(rows * threadsPerRow, threads) * tensors <= kMaxHeld;
    if (!holds)
      threadsPerRow = most;
    rounds = ceilDiv(rows * threadsPerRow, threads);
  }
};

/// The moments of `Rows` rows, of the Problem's tensors of them from number I on, by `Threads` threads of which
/// the first is number `First`. Their groups, or what they amount to, wait in registers while the block
/// multiplies, and are then combined into shared memory.
template <class Problem, int Rows, int Threads, int First = 0, int I = 0,
          bool Exists = (I < Problem::kRowMoments)>
struct TileMoments {
  __device__ __forceinline__ void load(const Problem &, int, int) {}
  __device__ __forceinline__ void combine(uint32_t) const {}
};

template <class Problem, int Rows, int Threads, int First, int I>
struct TileMoments<Problem, Rows, Threads, First, I, true> {
  static constexpr int kGroups = Problem::template momentGroups<I>();
  static constexpr MomentsShare kPlan{kGroups, Rows, Threads, Problem::kRowMoments};
  static constexpr int kShare = kPlan.threadsPerRow, kRounds = kPlan.rounds;
  using Groups =
      Select<kPlan.holds, RowGroups<kGroups, kShare>, StreamedRowGroups<kGroups, kShare>>;
  Groups groups[kRounds];
  TileMoments<Problem, Rows, Threads, First, I + 1> others;
  static_assert(First % 32 == 0, "whole warps share groups");

  __device__ __forceinline__ static int row(int round) {
    return (int(threadIdx.x) - First + round * Threads) / kShare;
  }

  __device__ __forceinline__ void load(const Problem &problem, int batch, int row0) {
#pragma unroll
    for (int round = 0; round < kRounds; ++round)
      groups[round].load(
          problem.template moments<I>(batch, min(row0 + row(round), problem.m() - 1)),
          threadIdx.x % kShare);
    others.load(problem, batch, row0);
  }

  /// `rows`: shared memory, the RowStatistics of every tensor for each row.
  __device__ __forceinline__ void combine(uint32_t rows) const {
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      RowMoments found = groups[round].combine();
      if (threadIdx.x % kShare == 0 && row(round) < Rows)
        ptx::storeShared(rows + (row(round) * Problem::kRowMoments + I) * sizeof(RowStatistics),
                         found.mean, Problem::template rowScale<I>(found));
    }
    others.combine(rows);
  }
};

/// Bytes of a struct of vectors; none of one without members.
template <class T> inline constexpr int kBytesOf = __is_empty(T) ? 0 : int(sizeof(T));

/// The way of one tile's sums to memory. Each block sends `Parts` shares of every sum, one a group
/// of its warps; `SumsPerThread` tells how many registers the main loop keeps busy. Threads from number
/// `MomentsFrom` on combine the moments: those that do not multiply, where there are any.
///
/// The Problem's epilogue comes in parts. `Columns<W>` and `Inputs<W>` hold what it reads from memory
/// for W columns, that which is the same in all rows (bias) and the rest (residual), fetched by
/// `columns<W>(n)` and `inputs<W>(batch, m, n)` long before the sums are ready; `prefetch(batch, m, n)`
/// asks for the lines of the latter. Of
/// kRowMoments tensors of row moments (device/moments.cuh) it reads the statistics of its row;
/// `moments<I>(batch, m)` is the address of the row's groups, `momentGroups<I>()` their number,
/// `rowScale<I>(moments)` what they scale the row by.
/// `epilogue<W, WholeWarps>(batch, m, n, sums, columns, inputs, rows, isOwner, counts)` computes and stores, given W sums a
/// product, floats or 32-bit integers (`Sum`), and RowStatistics of each tensor; with WholeWarps all threads of a warp
/// call it together. Where totals are results (device/totals.cuh), it counts what it stores in this thread's `Counts`, but
/// of threads that are given the same elements only one is their owner; `addCounts(counts)` ends it.
template <class Problem, int BlockM, int BlockN, int Threads, int ClusterK, int Parts,
          int SumsPerThread, int MomentsFrom = 0>
struct TileEpilogue {
  static constexpr int kWidth = Problem::kEpilogueWidth;
  static constexpr int kOwnedRows = BlockM / ClusterK;
  static_assert(BlockM % ClusterK == 0, "every block of the cluster owns the same number of rows");
  static_assert(kWidth == 1 || kWidth == 2 || kWidth == 4 || kWidth == 8,
                "the epilogue takes 1, 2, 4 or 8 columns");
  static constexpr int kProducts = Problem::kProducts;
  using Row = ExchangeRow<BlockN, kWidth, kProducts>;
  static constexpr int kStride = Row::kStride;
  static constexpr int kStored = BlockN / kProducts; // columns of the tile's results
  static_assert(kProducts == 1 || BlockN % (kProducts * kTurnColumns) == 0,
                "a tile holds whole groups of columns of each product");
  static_assert(!Problem::kStoresMoments || kStored % kMomentsGroup == 0,
                "a group of moments lies in one tile");
  using Sum = typename Problem::Sum;
  using Columns = typename Problem::template Columns<kWidth>;
  using Inputs = typename Problem::template Inputs<kWidth>;
  using Counts = typename Problem::Counts;
  static constexpr int kInputBytes = kBytesOf<Columns> + kBytesOf<Inputs>;
  static constexpr int kMoments = Problem::kRowMoments;

  // A pass is one vector of kWidth columns a thread. Inputs are fetched for a group of passes: if
  // one group holds them all, before the main loop, else each while the one before it is computed.
  static constexpr int kPasses = ceilDiv(kOwnedRows * kStored / kWidth, Threads);
  static constexpr bool kFewSums = SumsPerThread <= 32;
  // Blocks that multiply bytes share a multiprocessor: each of its threads has half the registers. Without wgmma the
  // addresses of fragments take some, too.
  static constexpr bool kSharesRegisters = sizeof(typename Problem::ElementA) == 1,
                        kHasFew = kSharesRegisters || !SMELT_HAS_CLUSTERS;
  static constexpr int kInputBudget = kFewSums ? 128 : kHasFew ? 32 : 64; // bytes
  static constexpr int kMaxGroup = kWidth >= 4 ? 8 : 4;
  static constexpr int kWithoutInputs =
      kFewSums ? 4 : ceilDiv(4, kProducts); // the sums of a pass take registers
  static constexpr int kFitting =
      kInputBytes == 0 ? kWithoutInputs : ceilDiv(kInputBudget, kInputBytes);
  static constexpr int kLimit = kFitting < kMaxGroup ? kFitting : kMaxGroup;
  static constexpr int kGroup = kPasses < kLimit ? kPasses : kLimit;
  static constexpr int kGroups = ceilDiv(kPasses, kGroup);
  static constexpr bool kFetchEarly = kGroups == 1;
  // Moments are exchanged among neighbours, which takes long where some threads of a warp have left. Passes that
  // overlap take registers: of those without wgmma some would spill.
  static constexpr bool kMayBeWhole =
      SMELT_HAS_CLUSTERS && Problem::kStoresMoments && kOwnedRows * kStored / kWidth % Threads == 0;
  static constexpr bool kFetchAhead = !kSharesRegisters || kGroup * kInputBytes <= 64;

  struct Group {
    Columns columns[kGroup];
    Inputs inputs[kGroup];
  };

  const Problem &problem;
  const uint32_t exchange;  // shared memory
  const uint32_t rows;      // shared memory: RowStatistics of the owned rows
  int batch, row0, column0; // of the owned rows in the results
  int rank;
  Group fetched;
  TileMoments<Problem, kOwnedRows, Threads - MomentsFrom, MomentsFrom> moments;

  __device__ __forceinline__ TileEpilogue(const Problem &problem, uint32_t exchange, uint32_t rows,
                                          int batch, int row0, int column0, int rank)
      : problem(problem), exchange(exchange), rows(rows), batch(batch),
        row0(row0 + rank * kOwnedRows), column0(column0 / kProducts), rank(rank) {}

  /// Of the owned rows: what lies behind it is computed and stored as this one is, once more.
  __device__ __forceinline__ int lastRow() const { return min(problem.m() - row0, kOwnedRows) - 1; }

  /// Every thread has a vector in every pass.
  __device__ __forceinline__ bool isWhole() const {
    return kMayBeWhole && row0 < problem.m() && column0 + kStored <= problem.n() / kProducts;
  }

  /// Position of this thread's vector in the results and in the owned rows; false if it has none
  /// inside them.
  __device__ __forceinline__ bool locate(int pass, int &row, int &column) const {
    int vector = threadIdx.x + pass * Threads;
    row = rowOfVector<kStored / kWidth, kOwnedRows>(vector);
    column = vector % (kStored / kWidth) * kWidth;
    if constexpr (kMayBeWhole) {
      row = min(row, lastRow());
      if (row < 0)
        return false;
    }
    return row < kOwnedRows && row0 + row < problem.m() &&
           column0 + column < problem.n() / kProducts;
  }

  /// No other thread has the vector.
  __device__ __forceinline__ bool isOwner(int pass) const {
    return !kMayBeWhole ||
           rowOfVector<kStored / kWidth, kOwnedRows>(threadIdx.x + pass * Threads) <= lastRow();
  }

  /// The sums of `product` for kWidth columns of the results, over all ranks and shares.
  __device__ __forceinline__ void total(int product, int row, int column,
                                        Sum (&sums)[kWidth]) const {
    Row::load(exchange, row, product, column, sums);
#pragma unroll
    for (int other = 1; other < ClusterK * Parts; ++other) {
      Sum share[kWidth];
      Row::load(exchange + other * kOwnedRows * kStride * 4, row, product, column, share);
#pragma unroll
      for (int c = 0; c < kWidth; ++c)
        sums[c] += share[c];
    }
  }

  __device__ __forceinline__ Group fetch(int group) const {
    Group result;
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      int row, column;
      if (locate(group * kGroup + i, row, column)) {
        result.columns[i] = problem.template columns<kWidth>(column0 + column);
        result.inputs[i] = problem.template inputs<kWidth>(batch, row0 + row, column0 + column);
      }
    }
    return result;
  }

  /// The same for a whole warp.
  __device__ __forceinline__ static bool combinesMoments() {
    if constexpr (kMoments == 0 || MomentsFrom == 0)
      return kMoments > 0;
    else
      return __shfl_sync(0xffffffffu, int(threadIdx.x), 0) >= MomentsFrom;
  }

  /// Call once before the main loop (after the wait for earlier kernels), and once after it.
  __device__ __forceinline__ void beforeMainLoop() {
    if (kFewSums && combinesMoments())
      moments.load(problem, batch, row0);
    if constexpr (kFetchEarly)
      fetched = fetch(0);
  }
  __device__ __forceinline__ void afterMainLoop() {
    if (!kFewSums && combinesMoments())
      moments.load(problem, batch, row0);
    if constexpr (!kFetchEarly)
      fetched = fetch(0);
    if (combinesMoments())
      moments.combine(rows);
  }

  /// Where this block's share `part` of the sum for (row, column) of the tile goes: in the memory
  /// of the row's owner.
  __device__ __forceinline__ uint32_t target(int part, int row, int column) const {
    int slot = (rank * Parts + part) * kOwnedRows + row % kOwnedRows;
    uint32_t local = exchange + Row::at(slot, column) * 4;
    if constexpr (ClusterK > 1)
      return ptx::mapToRank(local, row / kOwnedRows);
    else
      return local;
  }

  /// Writes one sum, or two neighbouring ones, to a target.
  __device__ __forceinline__ static void send(uint32_t target, Sum a) {
    if constexpr (ClusterK > 1)
      ptx::storeCluster(target, a);
    else
      ptx::storeShared(target, a);
  }
  __device__ __forceinline__ static void send(uint32_t target, Sum a, Sum b) {
    if constexpr (ClusterK > 1)
      ptx::storeCluster(target, a, b);
    else
      ptx::storeShared(target, a, b);
  }

  /// Writes what a warp of a warpgroup has of 64 rows, as wgmma leaves it.
  template <int Count>
  __device__ __forceinline__ void sendWarpgroup(const Sum (&sums)[Count]) const {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      uint32_t to = target(0, warp * 16 + 8 * h + lane / 4, lane % 4 * 2);
#pragma unroll
      for (int j = 0; j < Count / 4; ++j)
        send(to + 4 * Row::ofGroup(j), sums[4 * j + 2 * h], sums[4 * j + 2 * h + 1]);
    }
  }

  __device__ __forceinline__ void finishGroup(int group, Counts &counts) const {
    if (isWhole())
      finishVectors<true>(group, counts);
    else
      finishVectors<false>(group, counts);
  }

  template <bool IsWhole>
  __device__ __forceinline__ void finishVectors(int group, Counts &counts) const {
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      int row, column;
      if (!locate(group * kGroup + i, row, column) && !IsWhole)
        continue;
      Sum sums[kProducts * kWidth];
#pragma unroll
      for (int product = 0; product < kProducts; ++product) {
        Sum own[kWidth];
        total(product, row, column, own);
#pragma unroll
        for (int c = 0; c < kWidth; ++c)
          sums[product * kWidth + c] = own[c];
      }
      RowStatistics statistics[kMoments > 0 ? kMoments : 1];
#pragma unroll
      for (int m = 0; m < kMoments; ++m)
        ptx::loadShared(rows + (row * kMoments + m) * sizeof(RowStatistics), statistics[m].mean,
                        statistics[m].scale);
      problem.template epilogue<kWidth, IsWhole>(batch, row0 + row, column0 + column, sums,
                                                 fetched.columns[i], fetched.inputs[i], statistics,
                                                 isOwner(group * kGroup + i), counts);
    }
  }

  /// Adds, computes and stores the owned rows, once all sums have arrived.
  __device__ __forceinline__ void finish() {
    Counts counts;
#pragma unroll 1
    for (int group = 0; group < kGroups; ++group) {
      Group next;
      if (kFetchAhead && group + 1 < kGroups)
        next = fetch(group + 1);
      finishGroup(group, counts);
      if (!kFetchAhead && group + 1 < kGroups)
        next = fetch(group + 1);
      fetched = next;
    }
    problem.addCounts(counts);
  }
};

} // namespace smelt
