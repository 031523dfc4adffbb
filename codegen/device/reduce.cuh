// Reductions within a warp and within a block.
//
// Method: a butterfly of shuffles inside each warp, then one value per warp through shared memory,
// which every warp reduces again for itself, so the result reaches all threads without a second
// broadcast. The order of operations is fixed by the thread count: results are reproducible bit for
// bit. Assumes: all threads of the warp (of the block) take part, one-dimensional blocks of a
// multiple of 32 threads.
#pragma once

#include "device/math.cuh"

namespace smelt {

struct Sum {
  template <class T> __device__ __forceinline__ static T identity() { return T(0); }
  template <class T> __device__ __forceinline__ static T combine(T a, T b) { return a + b; }
};

struct Product {
  template <class T> __device__ __forceinline__ static T identity() { return T(1); }
  template <class T> __device__ __forceinline__ static T combine(T a, T b) { return a * b; }
};

/// The smallest value of a float or integer type: minus infinity where there is one.
template <class T> __device__ __forceinline__ T lowest() {
  if constexpr (kIsSame<T, float> || kIsSame<T, double>)
    return T(-infinity());
  else
    return T(-1) < T(0) ? T(uint64_t(1) << (8 * sizeof(T) - 1)) : T(0);
}

/// Largest value; NaN wins.
struct Max {
  template <class T> __device__ __forceinline__ static T identity() { return lowest<T>(); }
  template <class T> __device__ __forceinline__ static T combine(T a, T b) { return maximum(a, b); }
};

/// Smallest value; NaN wins.
struct Min {
  template <class T> __device__ __forceinline__ static T identity() {
    if constexpr (kIsSame<T, float> || kIsSame<T, double>)
      return T(infinity());
    else
      return T(~lowest<T>());
  }
  template <class T> __device__ __forceinline__ static T combine(T a, T b) { return minimum(a, b); }
};

/// Count, mean and sum of squared deviations of a set, merged without cancellation.
struct Moments {
  float count, mean, deviations;
  __device__ __forceinline__ float variance() const { return deviations / count; }
};

/// Merges two `Moments` (Chan's update of Welford's method); empty sets are neutral.
struct MergeMoments {
  template <class T> __device__ __forceinline__ static T identity() { return {0.0f, 0.0f, 0.0f}; }
  template <class T> __device__ __forceinline__ static T combine(const T &a, const T &b) {
    float count = a.count + b.count;
    float delta = b.mean - a.mean;
    float share = count > 0.0f ? b.count / count : 0.0f;
    return {count, ::fmaf(delta, share, a.mean),
            a.deviations + b.deviations + delta * delta * a.count * share};
  }
};

/// The value of lane `lane ^ mask`, for any T of whole 32-bit words or shorter than one.
template <class T> __device__ __forceinline__ T shuffleXor(const T &value, int mask) {
  constexpr int kWords = ceilDiv(sizeof(T), 4);
  static_assert(sizeof(T) % 4 == 0 || kWords == 1, "shuffles move 32-bit words");
  union Words {
    T value;
    uint32_t words[kWords];
    __device__ __forceinline__ Words() {}
  } in, out;
  in.value = value;
#pragma unroll
  for (int i = 0; i < kWords; ++i)
    out.words[i] = __shfl_xor_sync(0xffffffffu, in.words[i], mask);
  return out.value;
}

/// Reduces over groups of `Lanes` neighbouring lanes (a power of two); every lane receives its
/// group's result.
template <class Op, int Lanes = 32, class T> __device__ __forceinline__ T warpReduce(T value) {
  static_assert(Lanes >= 1 && Lanes <= 32 && (Lanes & (Lanes - 1)) == 0,
                "a group is 1, 2, 4, 8, 16 or 32 lanes");
#pragma unroll
  for (int mask = Lanes / 2; mask > 0; mask /= 2)
    value = Op::combine(value, shuffleXor(value, mask));
  return value;
}

/// Reduces over a block of `Threads`; every thread receives the result. `scratch` is shared memory
/// for Threads / 32 values, and may be reused (or be the same for the next call) as soon as this
/// returns.
template <class Op, int Threads, class T>
__device__ __forceinline__ T blockReduce(T value, T *scratch) {
  static_assert(Threads % 32 == 0 && Threads <= 1024,
                "blocks are whole warps, at most 1024 threads");
  constexpr int kWarps = Threads / 32;
  value = warpReduce<Op>(value);
  if constexpr (kWarps > 1) {
    if (threadIdx.x % 32 == 0)
      scratch[threadIdx.x / 32] = value;
    __syncthreads();
    int lane = threadIdx.x % 32;
    value = lane < kWarps ? scratch[lane] : Op::template identity<T>();
    value = warpReduce<Op>(value);
    __syncthreads();
  }
  return value;
}

} // namespace smelt
