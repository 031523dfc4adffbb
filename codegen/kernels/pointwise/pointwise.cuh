// Elementwise kernels: any chain of elementwise ops, views, gathers and concatenations.
//
// Problem: such kernels only move memory, so each access should be 16 bytes wide and nothing should
// be read twice. Method: a thread computes Problem::kWidth neighbouring elements of the results, in
// the order of memory; the grid covers the results once. Where the element count need not be a
// multiple of kWidth, the last few elements are computed one by one.
//
// A Problem supplies
//   static constexpr int kWidth       elements a thread computes
//   static constexpr bool kHasTail    the element count need not be a multiple of kWidth
//   int count() const                 elements of each result
//   int reversed                      device/direction.cuh
//   template <int W> void run(int e)  computes the elements [e, e + W); e is a multiple of W
#pragma once

#include "device/arithmetic.cuh"
#include "device/direction.cuh"
#include "device/vector.cuh"

namespace smelt {

template <class Problem> __device__ __forceinline__ void pointwise(const Problem &problem) {
  ptx::gridDependencyWait();
  ptx::gridDependencyLaunch();
  constexpr int kWidth = Problem::kWidth;
  unsigned block = inDirection(problem.reversed, blockIdx.x, gridDim.x);
  unsigned vector = block * blockDim.x + threadIdx.x; // may lie beyond 2^31 in the last block
  unsigned count = problem.count(), vectors = count / kWidth;
  if (vector < vectors) {
    problem.template run<kWidth>(vector * kWidth);
  } else if constexpr (Problem::kHasTail) {
    unsigned element = vectors * kWidth + (vector - vectors);
    if (element < count)
      problem.template run<1>(element);
  }
}

} // namespace smelt
