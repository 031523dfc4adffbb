// Barriers in shared memory that count arrivals and bytes (sm_90): how the threads that ask for
// bulk copies and those that use the data wait for each other. One PTX instruction a function.
//
// A barrier goes through phases. One ends when all expected arrivals have happened and all expected
// bytes have come; who waits names the parity of the phase: 0 for the first, 1 for the second, then
// 0 again. The phase before the first counts as ended, so that a wait for parity 1 on a new barrier
// returns at once.
#pragma once

#include "device/types.cuh"

namespace smelt {

/// A place in a ring of stages, and the parity of the phase that its barriers are in.
template <int Stages> struct RingPosition {
  int stage = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  __device__ __forceinline__ void advance(int steps) {
    parity ^= (stage + steps) / Stages % 2;
    stage = (stage + steps) % Stages;
  }
};

} // namespace smelt

namespace smelt::mbarrier {

/// Bytes of one, and its alignment.
inline constexpr int kBytes = 8;

/// By one thread, before any other touches the barrier.
__device__ __forceinline__ void init(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes init() visible to bulk copies; a barrier of the block follows.
__device__ __forceinline__ void publishInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives, and has the present phase wait for so many bytes of bulk copies.
__device__ __forceinline__ void arriveExpecting(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

/// Whether the phase of `parity` has ended; sleeps a while if not.
__device__ __forceinline__ bool hasEnded(uint32_t barrier, uint32_t parity) {
  uint32_t ended;
  asm volatile("{.reg .pred ended; mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2; "
               "selp.u32 %0, 1, 0, ended;}"
               : "=r"(ended)
               : "r"(barrier), "r"(parity)
               : "memory");
  return ended != 0;
}

__device__ __forceinline__ void wait(uint32_t barrier, uint32_t parity) {
  while (!hasEnded(barrier, parity)) {
  }
}

} // namespace smelt::mbarrier
