// The way of gemm_tma's sums to memory without leaving the registers: four threads turn what they hold.
//
// Problem: by way of shared memory (gemm_tma_epilogue.cuh) a warp writes its sums as floats and reads them as
// rows, one panel after the other, and waits for each: a tile of 128 x 256 takes 7.7 thousand clocks so, half of
// what its product takes at K = 768. Method: the epilogue computes where wgmma leaves the sums, in pairs of
// columns. The four threads of a row (a quad) hold four groups of eight columns, a pair of each. Of what is
// stored in rows, each thread takes one whole group, 16 bytes; a 4 x 4 transposition among the quad (two
// exchanges by __shfl_xor_sync, of two words each) brings pairs to groups. Every panel of 32 columns has its own
// text, so that panels overlap.
//
// Assumes: as gemm_tma.cuh; one product; results of 16 bits in whole vectors of eight columns, without inputs of
// each element and without moments, by a few instructions each (Problem::kInFragments). Longer epilogues lose by
// it: a text of 60 KB more, of which no launch finds anything in the instruction caches, took 2.4 us more a
// launch, and in one text for all panels nothing was gained. (bert_base at 8 x 512, all epilogues so: 2.01 ms,
// by one text 1.92, through shared memory 1.87.)
// Gain on one H200: 4096x2304x768 24.5 us (26.8), 12608x2304x768 70 (75), 1024x2304x768 9.0 (9.7).
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
  uint32_t words[kCount];
  __device__ __forceinline__ VectorWords() {}
  __device__ __forceinline__ VectorWords(const Members &members) : members(members) {}
};

/// Group t of four groups of eight columns, of thread t of a quad, out of columns 2 t and 2 t + 1 of each.
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
/// 32 columns of them. The Problem has, beside what gemm_epilogue.cuh says,
///   Results<W>                          what is stored of W columns, in vectors of 16-bit types
///   results<W>(batch, m, n, sums, columns, inputs, rows)   computes them
///   put<W>(batch, m, n, results)        stores them
template <class Problem, int BlockN, int Chains> struct FragmentEpilogue {
  static constexpr int kGroups = 4, kGroup = 8,
                       kPair = 2; // groups of columns, one a thread of a quad
  static constexpr int kPanelsAcross = BlockN / kFragmentColumns;
  static constexpr int kPanels = Chains * kPanelsAcross;
  static constexpr int kMoments = Problem::kRowMoments;
  static_assert(BlockN % kFragmentColumns == 0, "panels tile the columns");
  static_assert(kFragmentColumns == kGroups * kGroup, "each thread of a quad takes a group");
  static_assert(Problem::kProducts == 1, "neighbours are of one product");
  using Sum = typename Problem::Sum;
  using Sums = Sum[Chains][BlockN / 2];
  using Columns = typename Problem::template Columns<kPair>;
  using Inputs = typename Problem::template Inputs<kPair>;
  using Results = typename Problem::template Results<kGroup>;
  using ResultPairs = typename Problem::template Results<kPair>;
  static_assert(kBytesOf<Inputs> == 0, "nothing is read of each element");

  /// What a panel reads.
  struct Group {
    Columns columns[kGroups];
  };

  const Problem &problem;
  const uint32_t rows;     // shared memory: RowStatistics from the warp's first row on
  const int row0, column0; // of the warp's rows in the results

  __device__ __forceinline__ static int quad() { return threadIdx.x % 32 / 4; }
  __device__ __forceinline__ static int threadOfQuad() { return threadIdx.x % 4; }

  /// Of this thread's two rows, in the warpgroup's from the warp's first on.
  __device__ __forceinline__ static int rowOf(int panel, int half) {
    return panel / kPanelsAcross * 64 + quad() + 8 * half;
  }
  __device__ __forceinline__ int columnOf(int panel) const {
    return column0 + panel % kPanelsAcross * kFragmentColumns;
  }
  /// Of a pair; what lies outside C is computed elsewhere, without branches, and not put.
  __device__ __forceinline__ int columnOf(int panel, int group) const {
    return min(columnOf(panel) + group * kGroup + threadOfQuad() * kPair, problem.n() - kPair);
  }

  __device__ __forceinline__ Group fetch(int panel) const {
    Group result;
#pragma unroll
    for (int group = 0; group < kGroups; ++group)
      result.columns[group] = problem.template columns<kPair>(columnOf(panel, group));
    return result;
  }

  /// The statistics of a row of the warp's.
  __device__ __forceinline__ void
  loadStatistics(int row, RowStatistics (&statistics)[kMoments > 0 ? kMoments : 1]) const {
#pragma unroll
    for (int m = 0; m < kMoments; ++m)
      ptx::loadShared(rows + (row * kMoments + m) * sizeof(RowStatistics), statistics[m].mean,
                      statistics[m].scale);
  }

  /// The results of one of this thread's rows.
  template <int Panel>
  __device__ __forceinline__ void finishRow(int half, const Sums &sums,
                                            const Group &fetched) const {
    constexpr int kFirst = Panel % kPanelsAcross * kGroups * 4; // of the panel's sums
    int row = row0 + rowOf(Panel, half), known = min(row, problem.m() - 1);
    RowStatistics statistics[kMoments > 0 ? kMoments : 1];
    loadStatistics(rowOf(Panel, half), statistics);
    ResultPairs results[kGroups];
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      Sum pair[kPair];
#pragma unroll
      for (int i = 0; i < kPair; ++i)
        pair[i] = sums[Panel / kPanelsAcross][kFirst + 4 * group + kPair * half + i];
      results[group] = problem.template results<kPair>(
          0, known, columnOf(Panel, group), pair, fetched.columns[group], Inputs(), statistics);
    }
    Results whole = vectorsOf<Results>(results);
    int column = columnOf(Panel) + threadOfQuad() * kGroup;
    if (row < problem.m() && column < problem.n())
      problem.template put<kGroup>(0, row, column, whole);
  }

  /// What the first panel reads: nothing that waits for the sums.
  __device__ __forceinline__ Group begin() const { return fetch(0); }

  /// One panel after the other; what one reads is fetched while the one before it is finished.
  __device__ __forceinline__ void run(const Sums &sums, Group fetched) const {
    staticFor<0, kPanels>([&](auto panel) {
      Group next = fetch(panel + 1 < kPanels ? panel + 1 : kPanels - 1);
#pragma unroll
      for (int half = 0; half < 2; ++half)
        finishRow<panel>(half, sums, fetched);
      fetched = next;
    });
  }
};

} // namespace smelt
