// The way of gemm_tma's sums to memory without leaving the registers: four threads turn what they hold.
//
// Problem: by way of shared memory (gemm_tma_epilogue.cuh) a warp writes its sums as floats and reads them as
// rows, one panel after the other, and waits for each: a tile of 128 x 256 takes 7.7 thousand clocks so, half of
// what its product takes at K = 768. Method: the epilogue computes where wgmma leaves the sums, in pairs of
// columns. The four threads of a row (a quad) hold four groups of eight columns, a pair of each. Of what is
// stored in rows, each thread takes one whole group, 16 bytes; a 4 x 4 transposition among the quad (two
// exchanges by __shfl_xor_sync, of two words each) brings pairs to groups. Every panel of 32 columns has its own
// text, so that panels overlap. Of results of one byte a word holds the pairs of both of a thread's rows, so that as many
// exchanges bring both rows' groups, 8 bytes each. Of two products that take turns a thread has the sums of both for its pairs; a panel
// holds two groups of their results, and what the quad turns are those of two rows.
//
// Assumes: as gemm_tma.cuh; results of 16 bits, or of one product integers of 8, in whole vectors of eight columns, without
// moments, by a few instructions each (Problem::kInFragments), and of one product without inputs of each element, which pairs read 4
// bytes at a time: those of two products are what turns heads, tables that L1 holds. Longer epilogues lose by
// it: a text of 60 KB more, of which no launch finds anything in the instruction caches, took 2.4 us more a
// launch, and in one text for all panels nothing was gained. (bert_base at 8 x 512, all epilogues so: 2.01 ms,
// by one text 1.92, through shared memory 1.87.)
// Gain on one H200: 4096x2304x768 24.5 us (26.8), 12608x2304x768 70 (75), 1024x2304x768 9.0 (9.7); of pairs that turn heads
// 4096x3072x2048 94 (101; 99 with tables read for every panel: each read touches eight lines, and heads repeat them); of
// integers 16384x3072x768 by ping-pong 60.8, which takes 68.2 where each byte is clipped, rounded and packed by itself.
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

/// The same of results of one byte: of pairs of two rows, [row][group], a vector of each row. A word holds a pair of both.
template <class Vectors, class Pairs>
__device__ __forceinline__ void byteVectorsOf(const Pairs (&pairs)[2][4], Vectors (&whole)[2]) {
  constexpr int kTensors = kBytesOf<Pairs> / 2;
  union Halves {
    Pairs members;
    uint16_t halves[kTensors];
    __device__ __forceinline__ Halves() {}
  };
  VectorWords<Vectors> to[2];
#pragma unroll
  for (int tensor = 0; tensor < kTensors; ++tensor) {
    uint32_t words[4];
#pragma unroll
    for (int group = 0; group < 4; ++group) {
      Halves upper, lower;
      upper.members = pairs[0][group], lower.members = pairs[1][group];
      words[group] = upper.halves[tensor] | uint32_t(lower.halves[tensor]) << 16;
    }
    transposeQuad(words);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      uint32_t first = words[2 * i], second = words[2 * i + 1];
      to[0].words[2 * tensor + i] = (first & 0xffff) | second << 16;
      to[1].words[2 * tensor + i] = first >> 16 | (second & 0xffff0000);
    }
  }
  whole[0] = to[0].members, whole[1] = to[1].members;
}

/// The way of one warp's sums, 16 rows of every 64 of its warpgroup's `Chains` * 64, to the results: panels of
/// 32 columns of them. The Problem has, beside what gemm_epilogue.cuh says,
///   Results<W>                          what is stored of W columns, in vectors of types of kResultBytes bytes, 1 or 2
///   results<W>(batch, m, n, sums, columns, inputs, rows)   computes them
///   put<W>(batch, m, n, results)        stores them
///   kInputPeriod                        columns after which a row's inputs are the same again; 0: never
template <class Problem, int BlockN, int Chains> struct FragmentEpilogue {
  static constexpr int kProducts = Problem::kProducts;
  static constexpr int kGroup = 8, kPair = 2, kQuad = 4;                // columns; threads
  static constexpr int kGroups = kFragmentColumns / kGroup / kProducts; // of results, in a panel
  static constexpr int kRowsOfTurn = kQuad / kGroups; // whose groups a quad exchanges together
  static constexpr int kPanelsAcross = BlockN / kFragmentColumns;
  static constexpr int kPanels = Chains * kPanelsAcross;
  static constexpr int kMoments = Problem::kRowMoments;
  static_assert(BlockN % kFragmentColumns == 0, "panels tile the columns");
  static_assert(kRowsOfTurn * kGroups == kQuad, "each thread of a quad takes a group");
  static constexpr int kResultBytes = Problem::kResultBytes;
  static_assert(kResultBytes == 2 || (kResultBytes == 1 && kProducts == 1),
                "results have 16 bits, or those of one product 8");
  using Sum = typename Problem::Sum;
  using Sums = Sum[Chains][BlockN / 2];
  using Columns = typename Problem::template Columns<kPair>;
  using Inputs = typename Problem::template Inputs<kPair>;
  using Results = typename Problem::template Results<kGroup>;
  using ResultPairs = typename Problem::template Results<kPair>;
  static constexpr bool kReads = kBytesOf<Inputs> > 0;
  // Panels that read the same inputs, those of one phase, follow each other.
  static constexpr int kPhases = kReads && Problem::kInputPeriod > 0 &&
                                         Problem::kInputPeriod % (kGroups * kGroup) == 0 &&
                                         Problem::kInputPeriod / (kGroups * kGroup) < kPanelsAcross
                                     ? Problem::kInputPeriod / (kGroups * kGroup)
                                     : kPanelsAcross;

  /// What the rows read for one phase: of this thread's two rows.
  struct Read {
    Inputs of[kReads ? 2 : 1][kReads ? kGroups : 1];
  };
  /// What a panel reads.
  struct Group {
    Columns columns[kGroups];
    Read read;
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
  /// The same in the results; what lies outside them is computed of the last one, without branches, and not put.
  __device__ __forceinline__ int knownRow(int panel, int half) const {
    return min(row0 + rowOf(panel, half), problem.m() - 1);
  }
  __device__ __forceinline__ int columns() const { return problem.n() / kProducts; }
  __device__ __forceinline__ int columnOf(int panel) const {
    return column0 + panel % kPanelsAcross * kGroups * kGroup;
  }
  /// Of a pair; elsewhere for those outside C.
  __device__ __forceinline__ int columnOf(int panel, int group) const {
    return min(columnOf(panel) + group * kGroup + threadOfQuad() * kPair, columns() - kPair);
  }

  /// The panel that is finished as number `index`: of each chain those of the first phase, and so on.
  static constexpr int panelAt(int index) {
    int chain = index / kPanelsAcross, left = index % kPanelsAcross, phase = 0;
    for (;; ++phase) {
      int count = (kPanelsAcross - phase + kPhases - 1) / kPhases;
      if (left < count)
        return chain * kPanelsAcross + phase + left * kPhases;
      left -= count;
    }
  }
  static constexpr bool readsTheSame(int panel, int other) {
    return panel / kPanelsAcross == other / kPanelsAcross &&
           panel % kPanelsAcross % kPhases == other % kPanelsAcross % kPhases;
  }
  /// The first panel, from number `index` on, that reads something else; `index` where none does.
  static constexpr int nextPhase(int index) {
    for (int next = index + 1; next < kPanels; ++next)
      if (!readsTheSame(panelAt(index), panelAt(next)))
        return next;
    return index;
  }

  __device__ __forceinline__ void fetchColumns(int panel, Columns (&result)[kGroups]) const {
#pragma unroll
    for (int group = 0; group < kGroups; ++group)
      result[group] = problem.template columns<kPair>(columnOf(panel, group));
  }
  __device__ __forceinline__ Read fetchInputs(int panel) const {
    Read result;
    if constexpr (kReads) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int group = 0; group < kGroups; ++group)
          result.of[half][group] =
              problem.template inputs<kPair>(0, knownRow(panel, half), columnOf(panel, group));
    }
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
  __device__ __forceinline__ void computeRow(int half, const Sums &sums, const Group &fetched,
                                             ResultPairs (&results)[kGroups]) const {
    constexpr int kFirst = Panel % kPanelsAcross * (kFragmentColumns / kGroup); // group of sums
    RowStatistics statistics[kMoments > 0 ? kMoments : 1];
    loadStatistics(rowOf(Panel, half), statistics);
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      Sum pairs[kProducts * kPair];
#pragma unroll
      for (int i = 0; i < kProducts * kPair; ++i) {
        int of = kFirst + group * kProducts + i / kPair;
        pairs[i] = sums[Panel / kPanelsAcross][4 * of + kPair * half + i % kPair];
      }
      results[group] = problem.template results<kPair>(
          0, knownRow(Panel, half), columnOf(Panel, group), pairs, fetched.columns[group],
          fetched.read.of[kReads ? half : 0][kReads ? group : 0], statistics);
    }
  }

  /// The group of columns at (row, column) of the results.
  __device__ __forceinline__ void put(int row, int column, const Results &whole) const {
    if (row < problem.m() && column < columns())
      problem.template put<kGroup>(0, row, column, whole);
  }

  /// Both of the panel's halves of rows, of results of one byte.
  template <int Panel>
  __device__ __forceinline__ void finishBytes(const Sums &sums, const Group &fetched) const {
    ResultPairs pairs[2][kGroups];
    Results whole[2];
#pragma unroll
    for (int half = 0; half < 2; ++half)
      computeRow<Panel>(half, sums, fetched, pairs[half]);
    byteVectorsOf(pairs, whole);
#pragma unroll
    for (int half = 0; half < 2; ++half)
      put(row0 + rowOf(Panel, half), columnOf(Panel) + threadOfQuad() * kGroup, whole[half]);
  }

  /// One of the panel's two halves of rows, or both.
  template <int Panel>
  __device__ __forceinline__ void finishTurn(int firstHalf, const Sums &sums,
                                             const Group &fetched) const {
    ResultPairs results[kQuad];
#pragma unroll
    for (int i = 0; i < kRowsOfTurn; ++i) {
      ResultPairs own[kGroups];
      computeRow<Panel>(firstHalf + i, sums, fetched, own);
#pragma unroll
      for (int group = 0; group < kGroups; ++group)
        results[i * kGroups + group] = own[group];
    }
    put(row0 + rowOf(Panel, firstHalf + threadOfQuad() / kGroups),
        columnOf(Panel) + threadOfQuad() % kGroups * kGroup, vectorsOf<Results>(results));
  }

  template <int Panel>
  __device__ __forceinline__ void finish(const Sums &sums, const Group &fetched) const {
    if constexpr (kResultBytes == 1) {
      finishBytes<Panel>(sums, fetched);
    } else {
#pragma unroll
      for (int half = 0; half < 2; half += kRowsOfTurn)
        finishTurn<Panel>(half, sums, fetched);
    }
  }

  /// What the first panel reads: nothing that waits for the sums.
  __device__ __forceinline__ Group begin() const {
    Group result;
    fetchColumns(0, result.columns);
    result.read = fetchInputs(0);
    return result;
  }

  /// One panel after the other; what one reads is fetched while the one before it is finished, what rows read a phase before.
  __device__ __forceinline__ void run(const Sums &sums, Group fetched) const {
    Read ahead;
    staticFor<0, kPanels>([&](auto index) {
      constexpr int kPanel = panelAt(index),
                    kNext = panelAt(index + 1 < kPanels ? index + 1 : index);
      constexpr bool kBegins =
          index == 0 || !readsTheSame(kPanel, panelAt(index > 0 ? index - 1 : 0));
      if constexpr (kBegins)
        ahead = fetchInputs(panelAt(nextPhase(index)));
      Group next;
      fetchColumns(kNext, next.columns);
      finish<kPanel>(sums, fetched);
      next.read = readsTheSame(kPanel, kNext) ? fetched.read : ahead;
      fetched = next;
    });
  }
};

} // namespace smelt
