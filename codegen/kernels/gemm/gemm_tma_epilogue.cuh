// The way of gemm_tma's sums to the generated epilogue, and what is made ready for it.
//
// Problem: no barrier of the block may hold up the warps that multiply, nothing may lie over the stages,
// and an epilogue that waits for memory, or for the statistics of its rows, takes longer than a short
// product. Method: a warp's sums pass through its own piece of shared memory, a few columns at a time;
// what the epilogue reads is asked for one panel ahead, once for all rows where it is the same; other
// warps combine the moments of rows (MomentsAhead) while these multiply.
//
// Assumes: as gemm_tma.cuh; of two products (gemm_epilogue.cuh), no moments to store. Gain, on one H200: 4096x3072x768 with moments to combine takes 39
// us, 36 without; in BERT-base at 8x512, with the rest of the norm, 44 where it took 49 when the warps that
// multiply combined them. Panels that lie in the results whole are finished without branches: on an H100 GPT-2 at
// 8x1024 takes 4.92 ms (5.07), ConvNeXt-T of 16 images 0.976 (0.999), ViT-B of 64 5.06 (5.14); and without any other text for
// those at the last rows MiniLM at 32x128 0.333 (0.343), CLIP of 32 0.290 (0.293). Moments that whole warps exchange, on an
// H200, BERT-base at 8x512: attention's projection 16.3 us (17.5), the MLP's second product 34.6 (35.7). What a norm multiplies
// a row by computed once a row, in models, by turns on one H200: MiniLM at 32x128 2.9 %, Whisper's encoder 2.3, BERT-base at 8x512
// 1.9, GPT-2 at 8x1024 1.8, CLIP 1.4, ConvNeXt-T 0.9, BERT-base at 1x128 0.6. What the first panel reads, asked for before the last
// steps are multiplied: DistilBERT at 8x128 1.7 %, T5 1.2, Whisper's encoder 0.9; BERT-base's kernels at 8x512 1 to 2.
#pragma once

#include "device/moments.cuh"
#include "kernels/gemm/gemm_epilogue.cuh"

namespace smelt {

/// The way of one warp's sums, 16 rows of every 64 of its warpgroup's `Chains` * 64, to the Problem's
/// epilogue (gemm_epilogue.cuh says what that is): `Columns` columns of 16 rows at a time, through
/// `exchange`, which is this warp's own.
template <class Problem, int BlockN, int Columns, int Chains> struct WarpEpilogue {
  static constexpr int kRows = 16, kWidth = Problem::kEpilogueWidth;
  static constexpr int kProducts = Problem::kProducts;
  static constexpr int kStored = Columns / kProducts; // columns of the results
  static_assert(kProducts == 1 ||
                    (Columns % (kProducts * kTurnColumns) == 0 && !Problem::kStoresMoments),
                "a panel holds whole groups of columns of each product");
  using Row = ExchangeRow<Columns, kWidth, kProducts>;
  static constexpr int kStride = Row::kStride;
  static constexpr int kVectors = kStored / kWidth; // of a row
  static constexpr int kPasses = ceilDiv(kRows * kVectors, 32);
  static constexpr int kPanelsAcross = BlockN / Columns, kPanels = Chains * kPanelsAcross;
  static constexpr int kMoments = Problem::kRowMoments;
  using Sum = typename Problem::Sum;
  using Sums = Sum[Chains][BlockN / 2];
  using OfColumns = typename Problem::template Columns<kWidth>;
  using Inputs = typename Problem::template Inputs<kWidth>;
  using Counts = typename Problem::Counts;
  // A pass is one vector a thread, in all passes of a panel of the same columns where vectors are
  // wide enough. Inputs are fetched for a group of passes; where one group makes up all that a panel
  // needs and registers allow, while those before are computed.
  static constexpr bool kSameColumns = 32 % kVectors == 0;
  static constexpr int kInputBytes = kBytesOf<Inputs> + (kSameColumns ? 0 : kBytesOf<OfColumns>);
  static constexpr int kColumnBytes = kSameColumns ? kBytesOf<OfColumns> : 0, kBudget = 96,
                       kAheadBudget = 64;
  static constexpr int kFitting = kInputBytes == 0 ? 4
                                  : kInputBytes + kColumnBytes < kBudget
                                      ? (kBudget - kColumnBytes) / kInputBytes
                                      : 1;
  // Groups are whole: a pass behind the last one would store rows of other warps.
  static constexpr int kGroup = kFitting >= 4 && kPasses % 4 == 0   ? 4
                                : kFitting >= 2 && kPasses % 2 == 0 ? 2
                                                                    : 1;
  static constexpr int kGroups = kPasses / kGroup;
  static constexpr bool kFetchAhead =
      kGroups == 1 && kGroup * kInputBytes + kColumnBytes <= kAheadBudget;

  struct Group {
    OfColumns columns[kSameColumns ? 1 : kGroup];
    Inputs inputs[kGroup];
  };

  /// Where a panel begins: in the rows of the warp's warpgroup, from the warp's first on, and in the
  /// results.
  struct Panel {
    int row, column;
  };

  const Problem &problem;
  const uint32_t exchange, rows; // shared memory; rows: RowStatistics from the warp's first row on
  const int row0, column0;       // of the warp's rows in the results

  __device__ __forceinline__ Panel place(int panel) const {
    return {Chains == 1 ? 0 : panel / kPanelsAcross * 64,
            column0 + (Chains == 1 ? panel : panel % kPanelsAcross) * kStored};
  }

  /// Position in the panel of this thread's vector.
  __device__ __forceinline__ static void locate(int pass, int &row, int &column) {
    int vector = threadIdx.x % 32 + pass * 32;
    row = rowOfVector<kVectors, kRows>(vector);
    column = vector % kVectors * kWidth;
  }

  /// Without branches, which would wait for what they load: threads whose vectors lie outside C fetch
  /// others.
  __device__ __forceinline__ Group fetch(Panel panel, int group = 0) const {
    Group result;
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      int row, column;
      locate(group * kGroup + i, row, column);
      row = min(row0 + panel.row + row, problem.m() - 1);
      column = min(panel.column + column, problem.n() / kProducts - kWidth);
      if (i == 0 || !kSameColumns)
        result.columns[i] = problem.template columns<kWidth>(column);
      result.inputs[i] = problem.template inputs<kWidth>(0, row, column);
    }
    return result;
  }

  template <int Index> __device__ __forceinline__ void send(const Sums &sums) const {
    constexpr int kChain = Index / kPanelsAcross, kFirst = Index % kPanelsAcross * (Columns / 8);
    int lane = threadIdx.x % 32;
    uint32_t target = exchange + Row::at(lane / 4, lane % 4 * 2) * 4;
#pragma unroll
    for (int j = 0; j < Columns / 8; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        int sum = 4 * (kFirst + j) + 2 * h;
        ptx::storeShared(target + (8 * h * kStride + Row::ofGroup(j)) * 4, sums[kChain][sum],
                         sums[kChain][sum + 1]);
      }
  }

  /// Brings the sums of a panel into rows. The panel before has been read.
  __device__ __forceinline__ void exchangeSums(int panel, const Sums &sums) const {
    __syncwarp();
    staticFor<0, kPanels>([&](auto candidate) {
      if (candidate == panel)
        send<candidate>(sums);
    });
    __syncwarp();
  }

  /// The sums of all products for the kWidth results at (row, column) of a panel.
  __device__ __forceinline__ void load(int row, int column, Sum (&sums)[kProducts * kWidth]) const {
#pragma unroll
    for (int product = 0; product < kProducts; ++product) {
      Sum own[kWidth];
      Row::load(exchange, row, product, column, own);
#pragma unroll
      for (int c = 0; c < kWidth; ++c)
        sums[product * kWidth + c] = own[c];
    }
  }

  /// Where the panels tile the columns, all of them go the same way.
  __device__ __forceinline__ void finish(Panel panel, const Group &fetched, Counts &counts,
                                         int group = 0) const {
    int columns = problem.n() / kProducts;
    if (row0 + panel.row >= problem.m() || panel.column >= columns)
      return;
    if (kRows * kVectors % 32 == 0 && (columns % kStored == 0 || panel.column + kStored <= columns))
      finishPasses<false>(panel, fetched, group, counts);
    else
      finishPasses<true>(panel, fetched, group, counts);
  }

  /// Without branches the passes of a panel overlap: two warps of a scheduler alone hide little. Threads
  /// whose rows lie outside compute and store the last one once more.
  template <bool MayEnd>
  __device__ __forceinline__ void finishPasses(Panel panel, const Group &fetched, int group,
                                               Counts &counts) const {
    int lastRow = problem.m() - 1 - row0 - panel.row;
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      // Statistics are soon there: with all passes at once under way those that store moments, too, spill.
      if (kMoments > 0 && Problem::kStoresMoments && i == kGroup / 2)
        __syncwarp();
      int row, column;
      locate(group * kGroup + i, row, column);
      if (MayEnd && (row >= kRows || panel.column + column >= problem.n() / kProducts))
        continue;
      bool isOwner = row <= lastRow;
      row = min(row, lastRow);
      RowStatistics statistics[kMoments > 0 ? kMoments : 1];
#pragma unroll
      for (int m = 0; m < kMoments; ++m)
        ptx::loadShared(rows + ((panel.row + row) * kMoments + m) * sizeof(RowStatistics),
                        statistics[m].mean, statistics[m].scale);
      Sum total[kProducts * kWidth];
      load(row, column, total);
      problem.template epilogue<kWidth, !MayEnd>(0, row0 + panel.row + row, panel.column + column,
                                                 total, fetched.columns[kSameColumns ? 0 : i],
                                                 fetched.inputs[i], statistics, isOwner, counts);
    }
  }

  /// What the panel `first` reads, if there are registers for it while the last step is multiplied.
  __device__ __forceinline__ Group begin(int first) const {
    Group fetched;
    if constexpr (kFetchAhead)
      fetched = fetch(place(first));
    return fetched;
  }

  /// One panel from `first`, for which begin() has `fetched`, to `end` after the other, by one text: unrolled, the
  /// compiler would compute the addresses of all panels at once, for which there are no registers.
  __device__ __forceinline__ void run(const Sums &sums, Group fetched, int first, int end) const {
    Counts counts;
#pragma unroll 1
    for (int panel = first; panel < end; ++panel) {
      if constexpr (kFetchAhead) {
        Group next = fetch(place(min(panel + 1, end - 1)));
        exchangeSums(panel, sums);
        finish(place(panel), fetched, counts);
        fetched = next;
      } else {
        exchangeSums(panel, sums);
#pragma unroll 1
        for (int group = 0; group < kGroups; ++group)
          finish(place(panel), fetch(place(panel), group), counts, group);
      }
    }
    problem.addCounts(counts);
  }
};

/// The statistics of `Rows` rows, each by a few neighbours of `Threads` threads, into shared memory: the
/// RowStatistics of every tensor for each row.
template <class Problem, int Rows, int Threads, int I = 0, bool Exists = (I < Problem::kRowMoments)>
struct MomentsAhead {
  __device__ __forceinline__ static void run(const Problem &, int, int, uint32_t) {}
};

template <class Problem, int Rows, int Threads, int I>
struct MomentsAhead<Problem, Rows, Threads, I, true> {
  static constexpr int kGroups = Problem::template momentGroups<I>();
  static constexpr int kShare = kGroups % 8 == 0 ? 8 : kGroups % 4 == 0 ? 4 : 1; // threads of a row
  static constexpr int kHeld = kGroups / kShare, kMaxHeld = 12; // groups of a thread, in registers
  using Groups =
      Select<(kHeld <= kMaxHeld), RowGroups<kGroups, kShare>, StreamedRowGroups<kGroups, kShare>>;
  static constexpr int kRowsAtOnce = Threads / kShare;
  // Rows of a thread whose loads are on their way together: each of its row's threads finishes one.
  static constexpr int kRounds = kShare == 1 || kHeld > 6 ? 1 : kHeld > 3 ? 2 : 4;

  __device__ __forceinline__ static void run(const Problem &problem, int row0, int thread,
                                             uint32_t rows) {
    int part = thread % kShare;
#pragma unroll 1
    for (int base = 0; base < Rows; base += kRounds * kRowsAtOnce) { // for whole warps
      int first = base + thread / kShare;
      Groups groups[kRounds];
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        int row = min(first + round * kRowsAtOnce, Rows - 1);
        groups[round].load(problem.template moments<I>(0, min(row0 + row, problem.m() - 1)), part);
      }
      RowMoments own = groups[0].combine();
#pragma unroll
      for (int round = 1; round < kRounds; ++round) {
        RowMoments found = groups[round].combine();
        if (part == round)
          own = found;
      }
      int row = first + part * kRowsAtOnce;
      if (part < kRounds && row < Rows)
        ptx::storeShared(rows + (row * Problem::kRowMoments + I) * sizeof(RowStatistics), own.mean,
                         Problem::template rowScale<I>(own));
    }
    MomentsAhead<Problem, Rows, Threads, I + 1>::run(problem, row0, thread, rows);
  }
};

} // namespace smelt
