// The text around a product's template: what it knows of the operands, how they are reached, what becomes of the sums, and
// the kernel's entry. Names between dollar signs are filled in by gemm.cpp.
#pragma once

namespace smelt::codegen {

inline constexpr char kConstants[] = R"(
using ElementA = $elementA$;
using ElementB = $elementB$;
using Sum = $sum$;
static constexpr int kAVector = $aVector$, kBVector = $bVector$, kEpilogueWidth = $width$;
static constexpr bool kBTransposed = $bTransposed$, kBConstant = $bConstant$;
static constexpr bool kALinear = $aLinear$, kBLinear = $bLinear$, kAPadded = $aPadded$;
static constexpr bool kAContiguous = $aContiguous$, kBContiguous = $bContiguous$;
static constexpr int kRowMoments = $rowMoments$;
static constexpr int kProducts = $products$;
static constexpr bool kStoresMoments = $storesMoments$;
$parts$)";

inline constexpr char kText[] = R"(
#include "device/arithmetic.cuh"
#include "device/moments.cuh"
#include "device/vector.cuh"
#include "kernels/gemm/$header$.cuh"

namespace smelt {
struct Problem {
  $constants$
  $members$

  __device__ int m() const { return $m$; }
  __device__ int n() const { return $n$; }
  __device__ int k() const { return $k$; }
  __device__ int batches() const { return $batches$; }
  $addresses$
  template <int W> struct Columns {
    $columnMembers$
  };
  template <int W> __device__ __forceinline__ Columns<W> columns(int n) const {
    Columns<W> columns;
    $columns$
    return columns;
  }
  template <int W> struct Inputs {
    $inputMembers$
  };
  template <int W> __device__ __forceinline__ Inputs<W> inputs(int batch, int m, int n) const {
    Inputs<W> inputs;
    $inputs$
    return inputs;
  }
  __device__ __forceinline__ void prefetch(int batch, int m, int n) const {
    $prefetch$
  }
  template <int I> static constexpr __device__ int momentGroups() {
    $momentGroups$
  }
  template <int I> __device__ __forceinline__ const float *moments(int batch, int m) const {
    $moments$
  }
  template <int I> __device__ __forceinline__ static float rowScale(RowMoments row) {
    $rowScales$
  }
  struct Counts {
    $countMembers$
  };
  __device__ __forceinline__ void addCounts(const Counts &counts) const {
    $addCounts$
  }
  $results$
};
using Config = $config$;
} // namespace smelt

extern "C" __global__ void __launch_bounds__(smelt::Config::kThreads, smelt::Config::kMinBlocks) $entry$($parameters$$mapParameters$) {
  extern __shared__ __align__(1024) char shared[];
  smelt::$function$<smelt::Config$left$>(smelt::Problem{$arguments$}, $maps$shared);
}
)";

/// What becomes of the sums: in one step, and in two.
inline constexpr char kNotInFragments[] = "static constexpr bool kInFragments = false;\n";
inline constexpr char kEpilogue[] = R"(
$inFragments$
template <int W, bool WholeWarps = false>
__device__ __forceinline__ void epilogue(int batch, int m, int n, const Sum (&acc)[kProducts * W],
                                         const Columns<W> &columns, const Inputs<W> &inputs,
                                         const RowStatistics (&rows)[$rowArray$], bool isOwner,
                                         Counts &counts) const {
  $epilogue$
}
)";

inline constexpr char kEpilogueInFragments[] = R"(
static constexpr bool kInFragments = true;
static constexpr int kInputPeriod = $inputPeriod$, kResultBytes = $resultBytes$;
template <int W> struct Results {
  $resultMembers$
};
template <int W>
__device__ __forceinline__ Results<W> results(int batch, int m, int n, const Sum (&acc)[kProducts * W],
                                              const Columns<W> &columns, const Inputs<W> &inputs,
                                              const RowStatistics (&rows)[$rowArray$]) const {
  $epilogue$
}
template <int W>
__device__ __forceinline__ void put(int batch, int m, int n, const Results<W> &results) const {
  $stores$
}
)";

/// How operands are reached where the kernel has no maps of them.
inline constexpr char kAddresses[] = R"(
__device__ __forceinline__ const ElementA *a(int batch, int m, int k) const {
  $a$
}
__device__ __forceinline__ const ElementB *b(int batch, int k, int n) const {
  $b$
}
)";

inline constexpr char kMapParameters[] = ", const __grid_constant__ smelt::TensorMap mapA, const "
                                         "__grid_constant__ smelt::TensorMap mapB";

} // namespace smelt::codegen
