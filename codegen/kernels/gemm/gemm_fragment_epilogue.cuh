// The way of gemm_tma's sums to memory without leaving the registers: four threads turn what they hold.
//
// Problem: by way of shared memory (gemm_tma_epilogue.cuh) a warp writes its sums as floats and reads them as
// rows, one panel after the other, and waits for each: a tile of 128 x 256 takes 7.7 thousand clocks so, half of
// what its product takes at K = 768. Method: the epilogue computes where wgmma leaves the sums, in pairs of
// columns. The four threads of a row (a quad) hold four groups of eight columns, a pair of each. Of what is
// read and stored in rows, each thread takes one whole group, 16 bytes; a 4 x 4 transposition among the quad
// (two exchanges by __shfl_xor_sync, of two words each) brings groups to pairs and pairs to groups. Large tiles
// have a text for each panel of 32 columns.
//
// Assumes: as gemm_tma.cuh; inputs of each element and results are of 16 bits, in whole vectors of eight
// columns (Problem::kInFragments); moments are of results, as they are stored.
// Gain, over the way by shared memory, of the fastest tiling on one H200: 4096x2304x768 24.5 us (26.8), 4096x768x768
// with a residual 9.8 (10.4), 4096x3072x768 with GELU 33.9 (36.1); a tile of 128 x 256 is finished in 5 thousand
// clocks. A text for each panel instead of one: 1 to 5 %, also where power limits the clock.
#pragma once

#include "device/moments.cuh"
#include "kernels/gemm/gemm_epilogue.cuh"

namespace smelt {

/// Exchanges words among the four threads of a quad: afterwards word i is thread i's word of the number that
/// this thread has in the quad. All threads of the warp call.
__device__ __forceinline__ void transposeQuad(uint32_t (&words)[4]) {
#pragma unroll
  for (int step = 1; step < 4; step *= 2) {
    bool isUpper = threadIdx.x & step;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & step)
        continue;
      uint32_t &lower = words[i], &upper = words[i + step];
      uint32_t other = __shfl_xor_sync(0xffffffffu, isUpper ? lower : upper, step);
      (isUpper ? lower : upper) = other;
    }
  }
}

/// Members that are Vector<16-bit type, W> each, as words: for W of 8 four each, for 2 one.
template <class Members> union VectorWords {
  static constexpr int kCount = kBytesOf<Members> / 4;
  Members members;
  uint32_t words[kCount > 0 ? kCount : 1];
  __device__ __forceinline__ VectorWords() {}
  __device__ __forceinline__ VectorWords(const Members &members) : members(members) {}
};

/// Columns 2 t and 2 t + 1 of four groups of eight, of thread t of a quad, out of group t of each.
template <class Pairs, class Vectors>
__device__ __forceinline__ void pairsOf(const Vectors &vectors, Pairs (&pairs)[4]) {
  constexpr int kTensors = VectorWords<Pairs>::kCount;
  VectorWords<Vectors> from(vectors);
  VectorWords<Pairs> to[4];
#pragma unroll
  for (int tensor = 0; tensor < kTensors; ++tensor) {
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      words[i] = from.words[4 * tensor + i];
    transposeQuad(words);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      to[i].words[tensor] = words[i];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    pairs[i] = to[i].members;
}

/// The other way.
template <class Vectors, class Pairs>
__device__ __forceinline__ Vectors vectorsOf(const Pairs (&pairs)[4]) {
  constexpr int kTensors = VectorWords<Pairs>::kCount;
  VectorWords<Vectors> to;
  VectorWords<Pairs> from[4] = {pairs[0], pairs[1], pairs[2], pairs[3]};
#pragma unroll
  for (int tensor = 0; tensor < kTensors; ++tensor) {
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      words[i] = from[i].words[tensor];
    transposeQuad(words);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      to.words[4 * tensor + i] = words[i];
  }
  return to.members;
}

/// The way of one warp's sums, 16 rows of every 64 of its warpgroup's `Chains` * 64, to the results: panels of
/// 32 columns of them, in `Shares` parts that a block each finishes. The Problem has, beside what gemm_epilogue.cuh says,
///   Results<W>                          what is stored of W columns, in vectors of 16-bit types
///   results<W>(batch, m, n, sums, columns, inputs, rows)   computes them
///   put<W>(batch, m, n, results)        stores them, and their moments with those of the quad
template <class Problem, int BlockN, int Chains, int Shares> struct FragmentEpilogue {
  static constexpr int kRows = 16, kProducts = Problem::kProducts;
  static constexpr int kGroups = 4, kGroup = 8,
                       kPair = 2;                  // groups of columns, one a thread of a quad
  static constexpr int kStored = kFragmentColumns; // columns of a panel of the results
  static constexpr int kPanelsAcross = BlockN / (kStored * kProducts);
  static constexpr int kPanels = Chains * kPanelsAcross;
  static constexpr int kMoments = Problem::kRowMoments;
  // A text of its own for each panel of large tiles is worth the time that the compiler takes for it.
  static constexpr bool kUnrolls = Shares == 1 && kPanels > 4;
  static_assert(BlockN % (kStored * kProducts) == 0, "panels tile the columns");
  static_assert(kStored == kGroups * kGroup, "each thread of a quad takes a group");
  static_assert(kProducts == 1 || kTurnColumns == kGroup, "products take turns group by group");
  using Sum = typename Problem::Sum;
  using Sums = Sum[Chains][BlockN / 2];
  /// Of a panel: by group, row (8 apart) and column of the pair.
  using PanelSums = Sum[kGroups * kProducts][2][kPair];
  using Columns = typename Problem::template Columns<kPair>;
  using Inputs = typename Problem::template Inputs<kGroup>;
  using InputPairs = typename Problem::template Inputs<kPair>;
  using Results = typename Problem::template Results<kGroup>;
  using ResultPairs = typename Problem::template Results<kPair>;
  static constexpr int kFetchedBytes = kGroups * kBytesOf<Columns> + 2 * kBytesOf<Inputs>;
  static constexpr bool kFetchAhead = kFetchedBytes <= 64;

  /// What a panel reads.
  struct Fetched {
    Columns columns[kGroups];
    Inputs inputs[2];
  };

  const Problem &problem;
  const uint32_t rows;     // shared memory: RowMoments from the warp's first row on
  const int row0, column0; // of the warp's rows in the results

  __device__ __forceinline__ static int quad() { return threadIdx.x % 32 / 4; }
  __device__ __forceinline__ static int threadOfQuad() { return threadIdx.x % 4; }

  /// Of this thread's two rows, in the warpgroup's from the warp's first on.
  __device__ __forceinline__ static int rowOf(int panel, int half) {
    return (Chains == 1 ? 0 : panel / kPanelsAcross * 64) + quad() + 8 * half;
  }
  __device__ __forceinline__ int columnOf(int panel) const {
    return column0 + (Chains == 1 ? panel : panel % kPanelsAcross) * kStored;
  }

  /// Without branches, which would wait for what they load: what lies outside C is fetched elsewhere.
  __device__ __forceinline__ Fetched fetch(int panel) const {
    Fetched result;
    int first = columnOf(panel), end = problem.n() / kProducts;
#pragma unroll
    for (int group = 0; group < kGroups; ++group)
      result.columns[group] = problem.template columns<kPair>(
          min(first + group * kGroup + threadOfQuad() * kPair, end - kPair));
#pragma unroll
    for (int half = 0; half < 2; ++half)
      result.inputs[half] =
          problem.template inputs<kGroup>(0, min(row0 + rowOf(panel, half), problem.m() - 1),
                                          min(first + threadOfQuad() * kGroup, end - kGroup));
    return result;
  }

  /// Registers have no numbers that a thread computes: one text for all panels takes its sums from copies.
  template <int First, int End>
  __device__ __forceinline__ static void take(int panel, const Sums &sums, PanelSums &taken) {
    if constexpr (End - First > 1) {
      constexpr int kMiddle = (First + End) / 2;
      if (panel < kMiddle)
        take<First, kMiddle>(panel, sums, taken);
      else
        take<kMiddle, End>(panel, sums, taken);
    } else {
      constexpr int kChain = First / kPanelsAcross;
      constexpr int kFirst = First % kPanelsAcross * kGroups * kProducts;
#pragma unroll
      for (int i = 0; i < kGroups * kProducts * 4; ++i)
        taken[i / 4][i / 2 % 2][i % 2] = ptx::copy(sums[kChain][4 * kFirst + i]);
    }
  }

  /// The moments of a row of the warp's.
  __device__ __forceinline__ void
  loadMoments(int row, RowMoments (&moments)[kMoments > 0 ? kMoments : 1]) const {
#pragma unroll
    for (int m = 0; m < kMoments; ++m)
      ptx::loadShared(rows + (row * kMoments + m) * sizeof(RowMoments), moments[m].mean,
                      moments[m].variance);
  }

  /// The results of one of this thread's rows.
  __device__ __forceinline__ void finishRow(int panel, int half, const PanelSums &sums,
                                            const Fetched &fetched) const {
    int row = row0 + rowOf(panel, half), first = columnOf(panel);
    int end = problem.n() / kProducts,
        known = min(row, problem.m() - 1); // what lies outside C is not put
    RowMoments moments[kMoments > 0 ? kMoments : 1];
    loadMoments(rowOf(panel, half), moments);
    InputPairs inputs[kGroups];
    pairsOf(fetched.inputs[half], inputs);
    ResultPairs results[kGroups];
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      Sum total[kProducts * kPair];
#pragma unroll
      for (int i = 0; i < kProducts * kPair; ++i)
        total[i] = sums[group * kProducts + i / kPair][half][i % kPair];
      results[group] = problem.template results<kPair>(
          0, known, min(first + group * kGroup + threadOfQuad() * kPair, end - kPair), total,
          fetched.columns[group], inputs[group], moments);
    }
    Results whole = vectorsOf<Results>(results);
    int column = first + threadOfQuad() * kGroup;
    if (row < problem.m() && column < end)
      problem.template put<kGroup>(0, row, column, whole);
  }

  /// `panel` is one of First to End.
  template <int First = 0, int End = kPanels>
  __device__ __forceinline__ void finish(int panel, const Sums &sums,
                                         const Fetched &fetched) const {
    PanelSums taken;
    take<First, End>(panel, sums, taken);
#pragma unroll
    for (int half = 0; half < 2; ++half)
      finishRow(panel, half, taken, fetched);
  }

  /// One panel from `first` to `end` after the other.
  __device__ __forceinline__ void run(const Sums &sums, int first, int end) const {
    if constexpr (kUnrolls)
      runAll(sums);
    else
      runByOneText(sums, first, end);
  }

  __device__ __forceinline__ void runByOneText(const Sums &sums, int first, int end) const {
    Fetched fetched;
    if constexpr (kFetchAhead)
      fetched = fetch(first);
#pragma unroll 1
    for (int panel = first; panel < end; ++panel) {
      if constexpr (kFetchAhead) {
        Fetched next = fetch(min(panel + 1, end - 1));
        finish(panel, sums, fetched);
        fetched = next;
      } else {
        finish(panel, sums, fetch(panel));
      }
    }
  }

  /// A text for each panel: no copies of sums, and panels overlap.
  __device__ __forceinline__ void runAll(const Sums &sums) const {
    Fetched fetched = fetch(0);
    staticFor<0, kPanels>([&](auto panel) {
      Fetched next = fetch(panel + 1 < kPanels ? panel + 1 : kPanels - 1);
      finish<panel, panel + 1>(panel, sums, fetched);
      fetched = next;
    });
  }
};

} // namespace smelt
