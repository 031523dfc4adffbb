// Copies between row-major layouts: what every view comes down to when it is materialised.
#pragma once

#include "ir/interpret/host_tensor.h"
#include "ir/interpret/symbols.h"
#include "ir/interpret/thread_pool.h"

namespace smelt::interpret {

/// The number of elements of a shape that is known to fit.
int64_t product(llvm::ArrayRef<int64_t> sizes);

/// Elements between neighbours along each axis of a contiguous tensor.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// output[i...] = input[offset + sum of i_a * strides[a]], the output contiguous. Every position
/// must lie in the input.
template <typename T>
void copyStrided(const T *input, int64_t offset, llvm::ArrayRef<int64_t> strides,
                 llvm::ArrayRef<int64_t> shape, T *output, ThreadPool &threads);

/// Runs `copyStrided` for the storage that both tensors have.
void copyStrided(const HostTensor &input, int64_t offset, llvm::ArrayRef<int64_t> strides,
                 HostTensor &output, ThreadPool &threads);

} // namespace smelt::interpret
