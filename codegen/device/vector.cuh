// Aligned vector access to global memory.
//
// Problem: memory-bound kernels reach the device's bandwidth only with 16-byte accesses per thread.
// Method: `Vector<T, W>` is W consecutive elements, aligned so that the compiler moves them in as
// few instructions as the width allows (16 bytes each at most). `load` and `store` convert on the
// way, so a kernel body is written once in float whatever the storage type. Assumes: the address is
// a multiple of min(W * sizeof(T), 16) bytes and all W elements exist.
//
// Never mark a pointer `__restrict__` that an earlier kernel may still be writing: the compiler
// would be free to move its loads above `griddepcontrol.wait`. Other policies are volatile asm and
// stay in place.
#pragma once

#include "device/types.cuh"

namespace smelt {

/// How a load uses the caches.
enum class Cache {
  kNormal,   // ordinary access
  kConstant, // data that no running kernel writes: read-only path
};

constexpr int vectorAlignment(int bytes) { return bytes > 16 ? 16 : bytes; }

/// W consecutive elements of T. W * sizeof(T) is a power of two up to 16 bytes, or a multiple
/// of 16.
template <class T, int W> struct alignas(vectorAlignment(W * sizeof(T))) Vector {
  static constexpr int kBytes = W * sizeof(T);
  static_assert(W >= 1 && (kBytes % 16 == 0 || (kBytes <= 16 && (kBytes & (kBytes - 1)) == 0)),
                "a vector is 1, 2, 4, 8 or 16 bytes, or a multiple of 16");
  T values[W];
  __device__ __forceinline__ T &operator[](int i) { return values[i]; }
  __device__ __forceinline__ const T &operator[](int i) const { return values[i]; }
};

/// Asks for the line at `address`, which another thread of the multiprocessor will read.
__device__ __forceinline__ void prefetchToL2(const void *address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

/// Unsigned registers that hold one access: `kWords` words of 32 bits, or one shorter integer.
template <int Bytes> struct AccessBits {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "an access is 1, 2, 4, 8 or 16 bytes");
  uint32_t words[Bytes / 4];
};
template <> struct AccessBits<1> {
  uint8_t words[1];
};
template <> struct AccessBits<2> {
  uint16_t words[1];
};

#define SMELT_LOAD_ACCESS(policy, modifier)                                                        \
  template <> struct LoadAccess<policy> {                                                          \
    __device__ __forceinline__ static void run(const void *p, AccessBits<1> &r) {                  \
      uint16_t wide;                                                                               \
      asm volatile("ld.global" modifier ".u8 %0, [%1];" : "=h"(wide) : "l"(p) : "memory");         \
      r.words[0] = static_cast<uint8_t>(wide);                                                     \
    }                                                                                              \
    __device__ __forceinline__ static void run(const void *p, AccessBits<2> &r) {                  \
      asm volatile("ld.global" modifier ".u16 %0, [%1];" : "=h"(r.words[0]) : "l"(p) : "memory");  \
    }                                                                                              \
    __device__ __forceinline__ static void run(const void *p, AccessBits<4> &r) {                  \
      asm volatile("ld.global" modifier ".u32 %0, [%1];" : "=r"(r.words[0]) : "l"(p) : "memory");  \
    }                                                                                              \
    __device__ __forceinline__ static void run(const void *p, AccessBits<8> &r) {                  \
      asm volatile("ld.global" modifier ".v2.u32 {%0, %1}, [%2];"                                  \
                   : "=r"(r.words[0]), "=r"(r.words[1])                                            \
                   : "l"(p)                                                                        \
                   : "memory");                                                                    \
    }                                                                                              \
    __device__ __forceinline__ static void run(const void *p, AccessBits<16> &r) {                 \
      asm volatile("ld.global" modifier ".v4.u32 {%0, %1, %2, %3}, [%4];"                          \
                   : "=r"(r.words[0]), "=r"(r.words[1]), "=r"(r.words[2]), "=r"(r.words[3])        \
                   : "l"(p)                                                                        \
                   : "memory");                                                                    \
    }                                                                                              \
  }

template <Cache Policy> struct LoadAccess;
SMELT_LOAD_ACCESS(Cache::kConstant, ".nc");
#undef SMELT_LOAD_ACCESS

/// W consecutive elements as they are stored.
template <int W, Cache Policy = Cache::kNormal, class T>
__device__ __forceinline__ Vector<T, W> loadVector(const T *p) {
  if constexpr (Policy == Cache::kNormal) {
    return *reinterpret_cast<const Vector<T, W> *>(p);
  } else {
    constexpr int kAccess = vectorAlignment(W * sizeof(T));
    constexpr int kCount = W * sizeof(T) / kAccess;
    union Registers {
      AccessBits<kAccess> bits[kCount];
      Vector<T, W> vector;
      __device__ __forceinline__ Registers() {}
    } registers;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      LoadAccess<Policy>::run(reinterpret_cast<const char *>(p) + i * kAccess, registers.bits[i]);
    return registers.vector;
  }
}

/// Stores W consecutive elements as they are.
template <int W, class T>
__device__ __forceinline__ void storeVector(T *p, const Vector<T, W> &vector) {
  *reinterpret_cast<Vector<T, W> *>(p) = vector;
}

/// Rounds W values to storage; pairs of 16-bit floats take one instruction.
template <class T, int W, class C> __device__ __forceinline__ Vector<T, W> pack(const C (&in)[W]) {
  if constexpr (kIsHalfWidth<T> && kIsSame<C, float> && W % 2 == 0) {
    union Registers {
      uint32_t pairs[W / 2];
      Vector<T, W> vector;
      __device__ __forceinline__ Registers() {}
    } registers;
#pragma unroll
    for (int i = 0; i < W / 2; ++i)
      registers.pairs[i] = packPair<T>(in[2 * i], in[2 * i + 1]);
    return registers.vector;
  } else {
    Vector<T, W> vector;
#pragma unroll
    for (int i = 0; i < W; ++i)
      vector[i] = convert<T>(in[i]);
    return vector;
  }
}

/// W integers of 8 bits as they are stored. (Of vectors of bytes the compiler takes words apart, to put them together again.)
template <int W> struct PackedBytes {
  static_assert(W % 2 == 0, "pairs");
  using Word = Select<W % 4 == 0, uint32_t, uint16_t>;
  static constexpr int kWords = W / int(sizeof(Word));
  Vector<Word, kWords> words;
};

template <class T, int W, class C>
__device__ __forceinline__ PackedBytes<W> packBytes(const C (&in)[W]) {
  return bitCast<PackedBytes<W>>(pack<T, W>(in));
}

/// Rounds W floats to integers that saturate, two by one instruction.
template <class T, int W>
__device__ __forceinline__ PackedBytes<W> packRounded(const float (&in)[W]) {
  PackedBytes<W> packed;
#pragma unroll
  for (int i = 0; i < PackedBytes<W>::kWords; ++i) {
    if constexpr (W % 4 == 0)
      packed.words[i] =
          packRounded<T>(in[4 * i], in[4 * i + 1], packRounded<T>(in[4 * i + 2], in[4 * i + 3], 0));
    else
      packed.words[i] = static_cast<uint16_t>(packRounded<T>(in[2 * i], in[2 * i + 1], 0));
  }
  return packed;
}

template <int W, class T>
__device__ __forceinline__ void storePacked(T *p, const PackedBytes<W> &bytes) {
  storeVector(reinterpret_cast<typename PackedBytes<W>::Word *>(p), bytes.words);
}

/// Converts W stored elements for computation.
template <int W, class T, class C>
__device__ __forceinline__ void unpack(const Vector<T, W> &vector, C (&out)[W]) {
#pragma unroll
  for (int i = 0; i < W; ++i)
    out[i] = convert<C>(vector[i]);
}

/// Loads W consecutive elements and converts them, usually to float.
template <int W, Cache Policy = Cache::kNormal, class T, class C>
__device__ __forceinline__ void load(const T *p, C (&out)[W]) {
  unpack<W>(loadVector<W, Policy>(p), out);
}

/// The same where `exists`, else zeros. The address is computed in any case, once for neighbours whose
/// conditions differ; only the access is under the condition, and not the conversion.
template <int W, Cache Policy = Cache::kNormal, class T, class C>
__device__ __forceinline__ void loadIf(bool exists, const T *p, C (&out)[W]) {
  if constexpr (W * sizeof(T) < sizeof(uint32_t)) {
    Vector<T, W> vector = {};
    if (exists)
      vector = loadVector<W, Policy>(p);
    unpack<W>(vector, out);
  } else {
    // Whole registers are chosen, not halves of them.
    constexpr int kWords = W * sizeof(T) / sizeof(uint32_t);
    union Registers {
      Vector<uint32_t, kWords> words;
      Vector<T, W> vector;
      __device__ __forceinline__ Registers() : words{} {}
    } registers;
    if (exists)
      registers.words = loadVector<kWords, Policy>(reinterpret_cast<const uint32_t *>(p));
    unpack<W>(registers.vector, out);
  }
}

/// Converts W values and stores them.
template <int W, class T, class C> __device__ __forceinline__ void store(T *p, const C (&in)[W]) {
  storeVector<W>(p, pack<T, W>(in));
}

/// Rounds W floats to integers of 8 bits, which saturate, and stores them; a single one where a tensor ends.
template <int W, class T> __device__ __forceinline__ void storeRounded(T *p, const float (&in)[W]) {
  if constexpr (W == 1)
    *p = static_cast<T>(packRounded<T>(in[0], in[0], 0));
  else
    storePacked<W>(p, packRounded<T, W>(in));
}

} // namespace smelt
