// Plain kernels: one thread computes one element (or one line) of the result, reading what it needs
// from global memory.
//
// Problem: every op must have a GPU path, also those that no template was tuned for. Method: the
// generated Problem holds the loops of one op, written out with its sizes; this header only walks
// the results. Assumes nothing about alignment. Slow by design: `smelt explain` names each use.
//
// A Problem supplies
//   int count() const        threads that have work
//   void run(int e) const    the work of one
#pragma once

#include "device/arithmetic.cuh"
#include "device/math.cuh"
#include "device/reduce.cuh"
#include "device/vector.cuh"

namespace smelt {

/// One stored element in the type that sums are kept in.
template <class Sum, class T> __device__ __forceinline__ Sum read(const T *p) {
  Sum value[1];
  load<1>(p, value);
  return value[0];
}

template <class Sum, class T> __device__ __forceinline__ void write(T *p, Sum value) {
  Sum values[1] = {value};
  store<1>(p, values);
}

template <class Problem> __device__ __forceinline__ void generic(const Problem &problem) {
  ptx::gridDependencyWait();
  ptx::gridDependencyLaunch();
  unsigned count = problem.count(); // a last stride past 2^31 must not become negative
  for (unsigned e = blockIdx.x * blockDim.x + threadIdx.x; e < count; e += gridDim.x * blockDim.x)
    problem.run(e);
}

} // namespace smelt
