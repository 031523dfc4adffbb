// Warpgroup matrix multiplication (sm_90a): d (64 x N, in registers) += A (64 x k) * B (k x N), k
// elements being 32 bytes, in shared memory, read by the tensor cores themselves: 16-bit floats and
// float sums, bytes, signed or not on either side, and 32-bit sums that wrap around, or floats of 8 bits
// and sums of which 14 bits are kept.
//
// Four consecutive warps, the first of them a multiple of four, execute every function here
// together. Warp w of the four holds rows 16 w to 16 w + 15 of d, each thread as after mma.sync:
// d[4 j + 2 h + c] is row lane / 4 + 8 h, column 8 j + lane % 4 * 2 + c.
#pragma once

#include "device/ptx.cuh"

namespace smelt::wgmma {

/// An operand in shared memory, as the tensor cores want it described: two words of a 64-bit value,
/// of which the lower one moves with the address.
struct Operand {
  uint32_t low, high;

  /// The description of the same operand `bytes` further on (a multiple of 16).
  __device__ __forceinline__ uint64_t at(uint32_t bytes) const {
    return uint64_t(low + bytes / 16) | uint64_t(high) << 32;
  }
};

/// Rows of 128, 64 or 32 bytes, permuted as SharedTile permutes them, start at `address`, which is
/// aligned to eight rows. `groupBytes` separates groups of eight rows, `panelBytes` the panels of
/// an operand that is contiguous along M or N and wider than one row.
template <int RowBytes>
__device__ __forceinline__ Operand describe(uint32_t address, uint32_t groupBytes,
                                            uint32_t panelBytes) {
  static_assert(RowBytes == 128 || RowBytes == 64 || RowBytes == 32, "rows of 32, 64 or 128 bytes");
  constexpr uint32_t kPermutation = RowBytes == 128 ? 1 : RowBytes == 64 ? 2 : 3;
  // In a cluster, high bits of the address name the block: they have no place in a description.
  return {(address & 0x3ffff) / 16 | panelBytes / 16 << 16, groupBytes / 16 | kPermutation << 30};
}

/// Before the first multiplication, and after other instructions wrote d.
__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ __forceinline__ void commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most `Pending` of the latest groups are unfinished.
template <int Pending> __device__ __forceinline__ void wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/// Makes this thread's finished copies to shared memory visible to the tensor cores, once a barrier
/// has followed.
__device__ __forceinline__ void publishShared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Keeps the compiler from moving accesses to d across this point.
template <int Count> __device__ __forceinline__ void pin(float (&d)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i)
    asm volatile("" : "+f"(d[i])::"memory");
}
template <int Count> __device__ __forceinline__ void pin(int32_t (&d)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i)
    asm volatile("" : "+r"(d[i])::"memory");
}
template <int Count> __device__ __forceinline__ void pin(uint32_t (&a)[Count][4]) {
#pragma unroll
  for (int i = 0; i < Count * 4; ++i)
    asm volatile("" : "+r"(a[i / 4][i % 4])::"memory");
}

/// Hands registers back until this thread has `Count`, and takes more until it has. All threads of a
/// warpgroup call; a kernel must have a limit of registers at its start (__launch_bounds__).
template <int Count> __device__ __forceinline__ void lowerRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count> __device__ __forceinline__ void raiseRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

/// Multiply<N, A, B, TransposedB>::run(d, a, describedB): one instruction, asynchronous. `a` is described
/// too or, of 16-bit floats, this thread's part of it in four registers, which stay as they are until the
/// multiplication has ended; as after mma.sync, eight rows and eight columns apart. run<false> does not add
/// to d. TransposedB: B is contiguous along N, which bytes cannot be.
template <int N, class A, class B, bool TransposedB> struct Multiply;

// Names of the registers of d, and the operands that they stand for.
#define SMELT_NAMES_8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define SMELT_NAMES_16 SMELT_NAMES_8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define SMELT_NAMES_24 SMELT_NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define SMELT_NAMES_32 SMELT_NAMES_24 ",%24,%25,%26,%27,%28,%29,%30,%31"
#define SMELT_NAMES_40 SMELT_NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define SMELT_NAMES_48 SMELT_NAMES_40 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define SMELT_NAMES_56 SMELT_NAMES_48 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define SMELT_NAMES_64 SMELT_NAMES_56 ",%56,%57,%58,%59,%60,%61,%62,%63"
#define SMELT_NAMES_72 SMELT_NAMES_64 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define SMELT_NAMES_80 SMELT_NAMES_72 ",%72,%73,%74,%75,%76,%77,%78,%79"
#define SMELT_NAMES_88 SMELT_NAMES_80 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define SMELT_NAMES_96 SMELT_NAMES_88 ",%88,%89,%90,%91,%92,%93,%94,%95"
#define SMELT_NAMES_104 SMELT_NAMES_96 ",%96,%97,%98,%99,%100,%101,%102,%103"
#define SMELT_NAMES_112 SMELT_NAMES_104 ",%104,%105,%106,%107,%108,%109,%110,%111"
#define SMELT_NAMES_120 SMELT_NAMES_112 ",%112,%113,%114,%115,%116,%117,%118,%119"
#define SMELT_NAMES_128 SMELT_NAMES_120 ",%120,%121,%122,%123,%124,%125,%126,%127"
// The registers of d from number i on, by kind ("+f", "+r").
#define SMELT_REGISTERS_8(kind, i)                                                                 \
  kind(d[i]), kind(d[i + 1]), kind(d[i + 2]), kind(d[i + 3]), kind(d[i + 4]), kind(d[i + 5]),      \
      kind(d[i + 6]), kind(d[i + 7])
#define SMELT_REGISTERS_16(kind, i) SMELT_REGISTERS_8(kind, i), SMELT_REGISTERS_8(kind, i + 8)
#define SMELT_REGISTERS_24(kind, i) SMELT_REGISTERS_16(kind, i), SMELT_REGISTERS_8(kind, i + 16)
#define SMELT_REGISTERS_32(kind, i) SMELT_REGISTERS_24(kind, i), SMELT_REGISTERS_8(kind, i + 24)
#define SMELT_REGISTERS_40(kind, i) SMELT_REGISTERS_32(kind, i), SMELT_REGISTERS_8(kind, i + 32)
#define SMELT_REGISTERS_48(kind, i) SMELT_REGISTERS_40(kind, i), SMELT_REGISTERS_8(kind, i + 40)
#define SMELT_REGISTERS_56(kind, i) SMELT_REGISTERS_48(kind, i), SMELT_REGISTERS_8(kind, i + 48)
#define SMELT_REGISTERS_64(kind, i) SMELT_REGISTERS_56(kind, i), SMELT_REGISTERS_8(kind, i + 56)
#define SMELT_REGISTERS_72(kind, i) SMELT_REGISTERS_64(kind, i), SMELT_REGISTERS_8(kind, i + 64)
#define SMELT_REGISTERS_80(kind, i) SMELT_REGISTERS_72(kind, i), SMELT_REGISTERS_8(kind, i + 72)
#define SMELT_REGISTERS_88(kind, i) SMELT_REGISTERS_80(kind, i), SMELT_REGISTERS_8(kind, i + 80)
#define SMELT_REGISTERS_96(kind, i) SMELT_REGISTERS_88(kind, i), SMELT_REGISTERS_8(kind, i + 88)
#define SMELT_REGISTERS_104(kind, i) SMELT_REGISTERS_96(kind, i), SMELT_REGISTERS_8(kind, i + 96)
#define SMELT_REGISTERS_112(kind, i) SMELT_REGISTERS_104(kind, i), SMELT_REGISTERS_8(kind, i + 104)
#define SMELT_REGISTERS_120(kind, i) SMELT_REGISTERS_112(kind, i), SMELT_REGISTERS_8(kind, i + 112)
#define SMELT_REGISTERS_128(kind, i) SMELT_REGISTERS_120(kind, i), SMELT_REGISTERS_8(kind, i + 120)

#define SMELT_MULTIPLY(n, T, type, registers, o0, o1, o2, o3, o4, o5)                              \
  template <bool TransposedB> struct Multiply<n, T, T, TransposedB> {                              \
    template <bool Accumulates = true>                                                             \
    __device__ __forceinline__ static void run(float (&d)[n / 2], uint64_t describedA,             \
                                               uint64_t describedB) {                              \
      asm volatile("{.reg .pred accumulate; setp.ne.u32 accumulate, " o2 ", 0;"                    \
                   "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type                 \
                   " {" SMELT_NAMES_##registers "}," o0 "," o1 ", accumulate, 1, 1, 0," o3 ";}"    \
                   : SMELT_REGISTERS_##registers("+f", 0)                                          \
                   : "l"(describedA), "l"(describedB), "n"(int(Accumulates)),                      \
                     "n"(int(TransposedB)));                                                       \
    }                                                                                              \
    __device__ __forceinline__ static void run(float (&d)[n / 2], const uint32_t (&a)[4],          \
                                               uint64_t describedB) {                              \
      asm volatile("{.reg .pred accumulate; setp.eq.u32 accumulate, 0, 0;"                         \
                   "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type                 \
                   " {" SMELT_NAMES_##registers "}, {" o0 "," o1 "," o2 "," o3 "}," o4             \
                                                ", accumulate, 1, 1, " o5 ";}"                     \
                   : SMELT_REGISTERS_##registers("+f", 0)                                          \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(describedB),                  \
                     "n"(int(TransposedB)));                                                       \
    }                                                                                              \
  }
// Of bytes: `signs` are factors of the operands, which integers have none of.
#define SMELT_MULTIPLY_BYTES(n, Sum, sum, kind, signs, A, typeA, B, typeB, registers, o0, o1, o2)  \
  template <> struct Multiply<n, A, B, false> {                                                    \
    template <bool Accumulates = true>                                                             \
    __device__ __forceinline__ static void run(Sum (&d)[n / 2], uint64_t describedA,               \
                                               uint64_t describedB) {                              \
      asm volatile("{.reg .pred accumulate; setp.ne.u32 accumulate, " o2 ", 0;"                    \
                   "wgmma.mma_async.sync.aligned.m64n" #n "k32." sum "." typeA "." typeB           \
                   " {" SMELT_NAMES_##registers "}," o0 "," o1 ", accumulate" signs ";}"           \
                   : SMELT_REGISTERS_##registers(kind, 0)                                          \
                   : "l"(describedA), "l"(describedB), "n"(int(Accumulates)));                     \
    }                                                                                              \
  }
#define SMELT_MULTIPLY_INTEGERS(n, A, typeA, B, typeB, ...)                                        \
  SMELT_MULTIPLY_BYTES(n, int32_t, "s32", "+r", "", A, typeA, B, typeB, __VA_ARGS__)
#define SMELT_MULTIPLY_FLOATS8(n, A, typeA, B, typeB, ...)                                         \
  SMELT_MULTIPLY_BYTES(n, float, "f32", "+f", ", 1, 1", A, typeA, B, typeB, __VA_ARGS__)
#define SMELT_MULTIPLY_HALVES(n, registers, ...)                                                   \
  SMELT_MULTIPLY(n, half, "f16", registers, __VA_ARGS__);                                          \
  SMELT_MULTIPLY(n, bfloat16, "bf16", registers, __VA_ARGS__)
#define SMELT_MULTIPLY_ALL(n, registers, o0, o1, o2, ...)                                          \
  SMELT_MULTIPLY_HALVES(n, registers, o0, o1, o2, __VA_ARGS__);                                    \
  SMELT_MULTIPLY_FLOATS8(n, f8e4m3fn, "e4m3", f8e4m3fn, "e4m3", registers, o0, o1, o2);            \
  SMELT_MULTIPLY_FLOATS8(n, f8e4m3fn, "e4m3", f8e5m2, "e5m2", registers, o0, o1, o2);              \
  SMELT_MULTIPLY_FLOATS8(n, f8e5m2, "e5m2", f8e4m3fn, "e4m3", registers, o0, o1, o2);              \
  SMELT_MULTIPLY_FLOATS8(n, f8e5m2, "e5m2", f8e5m2, "e5m2", registers, o0, o1, o2);                \
  SMELT_MULTIPLY_INTEGERS(n, int8_t, "s8", int8_t, "s8", registers, o0, o1, o2);                   \
  SMELT_MULTIPLY_INTEGERS(n, int8_t, "s8", uint8_t, "u8", registers, o0, o1, o2);                  \
  SMELT_MULTIPLY_INTEGERS(n, uint8_t, "u8", int8_t, "s8", registers, o0, o1, o2);                  \
  SMELT_MULTIPLY_INTEGERS(n, uint8_t, "u8", uint8_t, "u8", registers, o0, o1, o2)

SMELT_MULTIPLY_HALVES(16, 8, "%8", "%9", "%10", "%11", "%12", "%13");
SMELT_MULTIPLY_ALL(32, 16, "%16", "%17", "%18", "%19", "%20", "%21");
SMELT_MULTIPLY_ALL(48, 24, "%24", "%25", "%26", "%27", "%28", "%29");
SMELT_MULTIPLY_ALL(64, 32, "%32", "%33", "%34", "%35", "%36", "%37");
SMELT_MULTIPLY_HALVES(80, 40, "%40", "%41", "%42", "%43", "%44", "%45");
SMELT_MULTIPLY_ALL(96, 48, "%48", "%49", "%50", "%51", "%52", "%53");
SMELT_MULTIPLY_HALVES(112, 56, "%56", "%57", "%58", "%59", "%60", "%61");
SMELT_MULTIPLY_ALL(128, 64, "%64", "%65", "%66", "%67", "%68", "%69");
SMELT_MULTIPLY_HALVES(144, 72, "%72", "%73", "%74", "%75", "%76", "%77");
SMELT_MULTIPLY_ALL(160, 80, "%80", "%81", "%82", "%83", "%84", "%85");
SMELT_MULTIPLY_HALVES(176, 88, "%88", "%89", "%90", "%91", "%92", "%93");
SMELT_MULTIPLY_ALL(192, 96, "%96", "%97", "%98", "%99", "%100", "%101");
SMELT_MULTIPLY_HALVES(208, 104, "%104", "%105", "%106", "%107", "%108", "%109");
SMELT_MULTIPLY_ALL(256, 128, "%128", "%129", "%130", "%131", "%132", "%133");

#undef SMELT_MULTIPLY_ALL
#undef SMELT_MULTIPLY_HALVES
#undef SMELT_MULTIPLY_FLOATS8
#undef SMELT_MULTIPLY_INTEGERS
#undef SMELT_MULTIPLY_BYTES
#undef SMELT_MULTIPLY
#undef SMELT_REGISTERS_128
#undef SMELT_REGISTERS_120
#undef SMELT_REGISTERS_112
#undef SMELT_REGISTERS_104
#undef SMELT_REGISTERS_96
#undef SMELT_REGISTERS_88
#undef SMELT_REGISTERS_80
#undef SMELT_REGISTERS_72
#undef SMELT_REGISTERS_64
#undef SMELT_REGISTERS_56
#undef SMELT_REGISTERS_48
#undef SMELT_REGISTERS_40
#undef SMELT_REGISTERS_32
#undef SMELT_REGISTERS_24
#undef SMELT_REGISTERS_16
#undef SMELT_REGISTERS_8
#undef SMELT_NAMES_128
#undef SMELT_NAMES_120
#undef SMELT_NAMES_112
#undef SMELT_NAMES_104
#undef SMELT_NAMES_96
#undef SMELT_NAMES_88
#undef SMELT_NAMES_80
#undef SMELT_NAMES_72
#undef SMELT_NAMES_64
#undef SMELT_NAMES_56
#undef SMELT_NAMES_48
#undef SMELT_NAMES_40
#undef SMELT_NAMES_32
#undef SMELT_NAMES_24
#undef SMELT_NAMES_16
#undef SMELT_NAMES_8

} // namespace smelt::wgmma
