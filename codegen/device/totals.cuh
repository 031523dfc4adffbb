// Totals: counts that all threads of a kernel add to in device memory.
//
// Problem: a count over all of a tensor, such as of infinities, would be two kernels that read it again. Method: the kernel
// that stores the tensor counts. Each thread has a counter in a register, without branches, and adds it where it is not 0.
// Of integers the order does not matter. Assumes: the total is 0 when the kernel begins; most threads count nothing, else
// they queue up for one address.
#pragma once

#include "device/types.cuh"

namespace smelt {

__device__ __forceinline__ void addToTotal(int32_t *total, int count) {
  if (count != 0)
    ::atomicAdd(total, count);
}
__device__ __forceinline__ void addToTotal(int64_t *total, int count) {
  if (count != 0)
    ::atomicAdd(reinterpret_cast<uint64_t *>(total), uint64_t(count));
}

} // namespace smelt
