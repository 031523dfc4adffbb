// Matrix products over all threads.
#pragma once

#include "ir/interpret/simd.h"
#include "ir/interpret/thread_pool.h"

namespace smelt::interpret {

/// One product on the calling thread.
void gemm(const GemmProblem<float> &problem);
void gemm(const GemmProblem<double> &problem);
/// Modulo 2^64.
void gemm(const GemmProblem<int64_t> &problem);

/// One product, split over the threads by rows or columns of the result, whichever are more.
template <typename T> void parallelGemm(const GemmProblem<T> &problem, ThreadPool &threads);

} // namespace smelt::interpret
