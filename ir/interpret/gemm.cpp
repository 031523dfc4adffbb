#include "ir/interpret/gemm.h"

#include <algorithm>

namespace smelt::interpret {

namespace {

/// Multiplications that one thread takes at least: about 20 microseconds.
constexpr int64_t kProductGrain = 1 << 20;
/// Rows or columns in one thread's share: a multiple of the inner kernels' tiles.
constexpr int64_t kShare = 48;

template <typename T> void gemmRows(GemmProblem<T> problem, int64_t begin, int64_t end) {
  problem.a += begin * problem.aStride;
  problem.c += begin * problem.cStride;
  problem.m = end - begin;
  gemm(problem);
}

template <typename T> void gemmColumns(GemmProblem<T> problem, int64_t begin, int64_t end) {
  problem.b += begin * (problem.bTransposed ? problem.bStride : 1);
  problem.c += begin;
  problem.n = end - begin;
  gemm(problem);
}

} // namespace

void gemm(const GemmProblem<float> &problem) { simdKernels().gemmFloat(problem); }
void gemm(const GemmProblem<double> &problem) { simdKernels().gemmDouble(problem); }

void gemm(const GemmProblem<int64_t> &problem) {
  int64_t rowStep = problem.bTransposed ? 1 : problem.bStride;
  int64_t columnStep = problem.bTransposed ? problem.bStride : 1;
  for (int64_t row = 0; row < problem.m; ++row) {
    int64_t *result = problem.c + row * problem.cStride;
    std::fill_n(result, problem.n, 0);
    for (int64_t i = 0; i < problem.k; ++i) {
      auto left = static_cast<uint64_t>(problem.a[row * problem.aStride + i]);
      const int64_t *right = problem.b + i * rowStep;
      for (int64_t column = 0; column < problem.n; ++column)
        result[column] =
            static_cast<int64_t>(static_cast<uint64_t>(result[column]) +
                                 left * static_cast<uint64_t>(right[column * columnStep]));
    }
  }
}

template <typename T> void parallelGemm(const GemmProblem<T> &problem, ThreadPool &threads) {
  if (problem.m == 0 || problem.n == 0)
    return;
  // Each share packs the operand that is not split again, so there are no more shares than threads.
  bool byRows = problem.m > problem.n;
  int64_t length = byRows ? problem.m : problem.n, other = byRows ? problem.n : problem.m;
  int64_t least = std::max<int64_t>(kProductGrain / std::max<int64_t>(other * problem.k, 1), 1);
  int64_t even = (length + threads.size() - 1) / threads.size();
  int64_t share = (std::max(least, even) + kShare - 1) / kShare * kShare;
  threads.parallelFor((length + share - 1) / share, 1, [&](int64_t first, int64_t last) {
    int64_t begin = first * share, end = std::min(last * share, length);
    byRows ? gemmRows(problem, begin, end) : gemmColumns(problem, begin, end);
  });
}

template void parallelGemm(const GemmProblem<float> &, ThreadPool &);
template void parallelGemm(const GemmProblem<double> &, ThreadPool &);
template void parallelGemm(const GemmProblem<int64_t> &, ThreadPool &);

} // namespace smelt::interpret
