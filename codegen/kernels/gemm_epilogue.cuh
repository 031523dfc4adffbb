// What the GEMM templates share around their main loops: the order of the tiles and the call of the
// generated epilogue.
#pragma once

#include "device/types.cuh"

namespace smelt {

struct TileCoordinates {
  int m, n;
};

/// Tile `index` of tilesM x tilesN in bands of eight tile rows, walked down the band first: blocks
/// that run together share few rows of A and few columns of B, which then come from L2.
__device__ __forceinline__ TileCoordinates rasterize(int index, int tilesM, int tilesN) {
  constexpr int kBand = 8;
  int band = index / (kBand * tilesN);
  int height = min(kBand, tilesM - band * kBand);
  int within = index - band * kBand * tilesN;
  return {band * kBand + within % height, within / height};
}

/// Calls Problem's epilogue for W consecutive columns. A Problem may split it in two: `Inputs<W>`
/// holds what the epilogue reads from memory (bias, residual), fetched by `inputs<W>(batch, m, n)`
/// long before the sums are ready; `epilogue<W>(batch, m, n, sums, inputs)` then computes and
/// stores.
template <class Problem, int W, class = void> struct Epilogue {
  struct Inputs {};
  static constexpr int kInputBytes = 0;
  __device__ __forceinline__ static Inputs inputs(const Problem &, int, int, int) { return {}; }
  __device__ __forceinline__ static void run(const Problem &problem, int batch, int m, int n,
                                             const float (&sums)[W], const Inputs &) {
    problem.template epilogue<W>(batch, m, n, sums);
  }
};

template <class> using VoidType = void;

template <class Problem, int W>
struct Epilogue<Problem, W, VoidType<typename Problem::template Inputs<W>>> {
  using Inputs = typename Problem::template Inputs<W>;
  static constexpr int kInputBytes = sizeof(Inputs);
  __device__ __forceinline__ static Inputs inputs(const Problem &problem, int batch, int m, int n) {
    return problem.template inputs<W>(batch, m, n);
  }
  __device__ __forceinline__ static void run(const Problem &problem, int batch, int m, int n,
                                             const float (&sums)[W], const Inputs &inputs) {
    problem.template epilogue<W>(batch, m, n, sums, inputs);
  }
};

} // namespace smelt
