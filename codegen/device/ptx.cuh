// One PTX instruction a function. Nothing here decides anything: layouts, order and counts belong
// to callers.
//
// Instructions that only sm_90 has compile to nothing (waits, hints) or are absent (clusters) below
// it, so that one template text serves both architectures.
#pragma once

#include "device/types.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define SMELT_HAS_CLUSTERS 1
#else
#define SMELT_HAS_CLUSTERS 0
#endif

namespace smelt::ptx {

/// Address of shared memory in its own 32-bit window.
__device__ __forceinline__ uint32_t sharedAddress(const void *p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

/// Has the compiler compute `p` here.
__device__ __forceinline__ void keep(const void *p) { asm volatile("" ::"l"(p)); }

/// Has the compiler forget what it knows about `value`.
__device__ __forceinline__ void hide(int &value) { asm volatile("" : "+r"(value)); }

// --- Asynchronous copies, global to shared ---

/// Copies Bytes (4, 8 or 16) when `valid`, else writes zeros without reading `source`.
template <int Bytes>
__device__ __forceinline__ void copyAsync(uint32_t target, const void *source, bool valid) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async moves 4, 8 or 16 bytes");
  int readBytes = valid ? Bytes : 0;
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(target),
                 "l"(source), "r"(readBytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(target), "l"(source),
                 "n"(Bytes), "r"(readBytes)
                 : "memory");
}

__device__ __forceinline__ void copyAsyncCommit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most `Pending` of this thread's latest groups are unfinished.
template <int Pending> __device__ __forceinline__ void copyAsyncWait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

// --- Barriers ---

/// Waits for `Threads` threads of the block at its barrier number `Id`; 0 is that of __syncthreads.
template <int Id, int Threads> __device__ __forceinline__ void barrierSync() {
  asm volatile("bar.sync %0, %1;" ::"n"(Id), "n"(Threads) : "memory");
}

/// Counts towards those `Threads` without waiting for the others.
template <int Id, int Threads> __device__ __forceinline__ void barrierArrive() {
  asm volatile("bar.arrive %0, %1;" ::"n"(Id), "n"(Threads) : "memory");
}

// --- Shared memory ---

__device__ __forceinline__ void storeShared(uint32_t address, uint32_t a, uint32_t b, uint32_t c,
                                            uint32_t d) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b), "r"(c),
               "r"(d)
               : "memory");
}

/// What floats and 32-bit integers have alike; those of clusters are explained below.
#define SMELT_SHARED_ACCESS(T, constraint)                                                         \
  __device__ __forceinline__ void storeShared(uint32_t address, T a) {                             \
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), constraint(a) : "memory");              \
  }                                                                                                \
  __device__ __forceinline__ void storeShared(uint32_t address, T a, T b) {                        \
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), constraint(a), constraint(b)   \
                 : "memory");                                                                      \
  }                                                                                                \
  __device__ __forceinline__ void storeCluster(uint32_t address, T a) {                            \
    asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(address), constraint(a) : "memory");     \
  }                                                                                                \
  __device__ __forceinline__ void storeCluster(uint32_t address, T a, T b) {                       \
    asm volatile("st.shared::cluster.v2.b32 [%0], {%1, %2};" ::"r"(address), constraint(a),        \
                 constraint(b)                                                                     \
                 : "memory");                                                                      \
  }                                                                                                \
  __device__ __forceinline__ void loadShared(uint32_t address, T &a) {                             \
    asm volatile("ld.shared.b32 %0, [%1];" : "=" constraint(a) : "r"(address) : "memory");         \
  }                                                                                                \
  __device__ __forceinline__ void loadShared(uint32_t address, T(&v)[4]) {                         \
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"                                        \
                 : "=" constraint(v[0]), "=" constraint(v[1]), "=" constraint(v[2]),               \
                   "=" constraint(v[3])                                                            \
                 : "r"(address)                                                                    \
                 : "memory");                                                                      \
  }

SMELT_SHARED_ACCESS(float, "f")
SMELT_SHARED_ACCESS(int32_t, "r")
SMELT_SHARED_ACCESS(uint32_t, "r")
#undef SMELT_SHARED_ACCESS

__device__ __forceinline__ float loadShared(uint32_t address) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}

__device__ __forceinline__ void loadShared(uint32_t address, float &a, float &b) {
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(a), "=f"(b) : "r"(address) : "memory");
}

__device__ __forceinline__ void loadShared(uint32_t address, int32_t &a, int32_t &b) {
  asm volatile("ld.shared.v2.s32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(address) : "memory");
}

// --- Matrix fragments ---

/// Four 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void loadMatrix(uint32_t address, uint32_t (&r)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

/// The same, each matrix transposed.
__device__ __forceinline__ void loadMatrixTransposed(uint32_t address, uint32_t (&r)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// --- Tensor cores: d (16x8) += a (16xk) * b (kx8) ---

__device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                    half) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                    bfloat16) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Operands are tf32 (see `toTf32`); k is 8.
__device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                    float) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Operands are bytes, four of consecutive k a register; k is 32. Sums wrap around.
#define SMELT_MMA_BYTES(A, a, B, b)                                                                \
  __device__ __forceinline__ void mma(int32_t (&d)[4], const uint32_t (&fragment)[4], uint32_t b0, \
                                      uint32_t b1, A, B) {                                         \
    asm("mma.sync.aligned.m16n8k32.row.col.s32." a "." b ".s32 "                                   \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                          \
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                           \
        : "r"(fragment[0]), "r"(fragment[1]), "r"(fragment[2]), "r"(fragment[3]), "r"(b0),         \
          "r"(b1));                                                                                \
  }

SMELT_MMA_BYTES(int8_t, "s8", int8_t, "s8")
SMELT_MMA_BYTES(int8_t, "s8", uint8_t, "u8")
SMELT_MMA_BYTES(uint8_t, "u8", int8_t, "s8")
SMELT_MMA_BYTES(uint8_t, "u8", uint8_t, "u8")
#undef SMELT_MMA_BYTES

/// Two floats of 8 bits, of the lower (0) or the upper (1) half of a word, as halves: every one of them is one.
template <class T> __device__ __forceinline__ uint32_t toHalves(uint32_t word, int upper) {
  uint32_t codes = __byte_perm(word, 0, upper == 0 ? 0x1404 : 0x3424); // in the upper bytes
  if constexpr (kIsSame<T, f8e5m2>)
    return codes;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  uint32_t halves;
  uint16_t pair = static_cast<uint16_t>(upper == 0 ? word : word >> 16);
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
  return halves;
#else
  // The exponent, of four bits, counts from 7 where that of a half counts from 15.
  constexpr uint32_t kPowerOf8 = 0x5c005c00;
  uint32_t scaled, isNan = ((codes & 0x7f007f00) + 0x01000100) & 0x80008000;
  asm("mul.f16x2 %0, %1, %2;" : "=r"(scaled) : "r"((codes & 0x7f007f00) >> 1), "r"(kPowerOf8));
  return scaled | (codes & 0x80008000) | (isNan - (isNan >> 5));
#endif
}

/// Operands are floats of 8 bits, four of consecutive k a register; k is 32. Multiplied as halves: where tensor cores
/// multiply bytes, too, they keep 14 bits of their sums. (Which k a product has does not matter: both operands' same.)
template <class A, class B>
__device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                    A, B) {
  static_assert(kIsFloat8<A> && kIsFloat8<B>, "floats of 8 bits");
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    const uint32_t halves[4] = {toHalves<A>(a[2 * part], 0), toHalves<A>(a[2 * part + 1], 0),
                                toHalves<A>(a[2 * part], 1), toHalves<A>(a[2 * part + 1], 1)};
    uint32_t b = part == 0 ? b0 : b1;
    mma(d, halves, toHalves<B>(b, 0), toHalves<B>(b, 1), half());
  }
}

/// Bits of a float rounded to tf32 (10 mantissa bits, ties away from zero).
__device__ __forceinline__ uint32_t toTf32(uint32_t bits) {
  uint32_t rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "r"(bits));
  return rounded;
}

// --- Fast transcendental units (about 2 ulp) ---

__device__ __forceinline__ float exp2Approx(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ __forceinline__ float reciprocalApprox(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// --- Programmatic dependent launch (sm_90) ---

/// Waits until the kernels this one depends on have finished and their writes are visible. Every
/// kernel executes it before its first access to memory that another kernel writes or reads.
__device__ __forceinline__ void gridDependencyWait() {
#if SMELT_HAS_CLUSTERS
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the dependent kernels start once every block has said so. Say it right after the wait, not
/// before: then at most one later kernel is resident, and its blocks spread over all
/// multiprocessors. Said at the start, several kernels pile up, their blocks share multiprocessors
/// (on an H200, 96 blocks on 88 of 132), and chains of short kernels ran up to 40 % slower.
__device__ __forceinline__ void gridDependencyLaunch() {
#if SMELT_HAS_CLUSTERS
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// --- Thread block clusters and distributed shared memory (sm_90) ---

/// Arrives at the cluster's barrier; writes before it are visible after the matching wait.
__device__ __forceinline__ void clusterArrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

__device__ __forceinline__ void clusterWait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Address, in the cluster's window, of the same shared location in block `rank`: for storeCluster.
__device__ __forceinline__ uint32_t mapToRank(uint32_t sharedAddress, uint32_t rank) {
  uint32_t mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(sharedAddress), "r"(rank));
  return mapped;
}

} // namespace smelt::ptx
