// The first elements of each row in order of size, with their positions.
//
// Problem: TopK of rows of any length and of any expression: scores of a vocabulary, of experts, of
// boxes. Method: a block takes a row; in each of `count` rounds every thread finds, among its
// elements, the first that comes after the one which the round before found, and a reduction finds
// the first of all. The order (size, then position) is total, so nothing is marked as taken, no
// element is found twice, and results do not depend on the number of threads. Elements are computed
// once where a thread's share fits its registers, otherwise once a round.
//
// A Problem supplies
//   using Value                                 the type in which elements are compared
//   static constexpr int kThreads               of a block, a multiple of 32
//   static constexpr int kHeld                  elements that a thread keeps; 0: none
//   static constexpr bool kSmallest             smallest first
//   int rows() const, columns() const, count() const
//   Value value(int row, int col) const
//   void store(int row, int rank, Value value, int position) const
// Assumes: count() <= columns(); a grid of at least one block; positions below 2^31.
// Cost: one read of the row, count() * columns() / kThreads comparisons a thread and count() block
// reductions: meant for counts up to a hundred.
#pragma once

#include "device/arithmetic.cuh"
#include "device/reduce.cuh"
#include "device/vector.cuh"

namespace smelt {

/// An element of a row; none where `position` is negative.
template <class T> struct Candidate {
  T value;
  int position;
};

/// The candidate that comes first: the larger (or smaller) value, a lower position among equals;
/// NaN is larger than any number.
template <bool Smallest> struct First {
  template <class T> __device__ __forceinline__ static bool isLess(T a, T b) {
    return a < b || (b != b && a == a);
  }
  template <class T>
  __device__ __forceinline__ static bool precedes(const Candidate<T> &a, const Candidate<T> &b) {
    bool isFirst = Smallest ? isLess(a.value, b.value) : isLess(b.value, a.value);
    bool isSecond = Smallest ? isLess(b.value, a.value) : isLess(a.value, b.value);
    return isFirst || (!isSecond && a.position < b.position);
  }
  template <class C> __device__ __forceinline__ static C identity() { return {0, -1}; }
  template <class C> __device__ __forceinline__ static C combine(const C &a, const C &b) {
    if (a.position < 0 || b.position < 0)
      return a.position < 0 ? b : a;
    return precedes(a, b) ? a : b;
  }
};

/// The first elements of one row.
template <class Problem>
__device__ __forceinline__ void selectRow(const Problem &problem, int row) {
  using Value = typename Problem::Value;
  using Order = First<Problem::kSmallest>;
  constexpr int kThreads = Problem::kThreads, kHeld = Problem::kHeld;
  __shared__ alignas(16) char scratch[32 * sizeof(Candidate<Value>)];
  Value held[kHeld > 0 ? kHeld : 1];
#pragma unroll
  for (int i = 0; i < kHeld; ++i)
    if (int(threadIdx.x) + i * kThreads < problem.columns())
      held[i] = problem.value(row, threadIdx.x + i * kThreads);
  Candidate<Value> last{0, -1};
  for (int rank = 0; rank < problem.count(); ++rank) {
    Candidate<Value> best{0, -1};
    auto consider = [&](Value value, int position) {
      Candidate<Value> candidate{value, position};
      if (rank == 0 || Order::precedes(last, candidate))
        best = Order::combine(best, candidate);
    };
    if constexpr (kHeld > 0) {
#pragma unroll
      for (int i = 0; i < kHeld; ++i)
        if (int(threadIdx.x) + i * kThreads < problem.columns())
          consider(held[i], threadIdx.x + i * kThreads);
    } else {
      for (int col = threadIdx.x; col < problem.columns(); col += kThreads)
        consider(problem.value(row, col), col);
    }
    last = blockReduce<Order, kThreads>(best, reinterpret_cast<Candidate<Value> *>(scratch));
    if (threadIdx.x == 0)
      problem.store(row, rank, last.value, last.position);
  }
}

template <class Problem> __device__ __forceinline__ void selection(const Problem &problem) {
  ptx::gridDependencyWait();
  ptx::gridDependencyLaunch();
  for (int row = blockIdx.x; row < problem.rows(); row += gridDim.x)
    selectRow(problem, row);
}

} // namespace smelt
