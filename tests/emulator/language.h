// CUDA's language, as far as device code uses it, for a compiler of C++ for the host: what a kernel's text finds declared,
// as from NVRTC. Instructions in assembly are in instructions.h.
#pragma once

#include "tests/emulator/machine.h"

#include <cmath>
#include <cstddef>
#include <utility>

namespace smelt::emulator {

/// The machine that runs this library's kernels.
inline Machine *machine = nullptr;

inline Thread &self() { return *machine->current; }

/// Where the kernel's dynamic shared memory begins.
inline char *dynamicShared() {
  unsigned address = self().block->rank << kRankShift | kReservedShared;
  return reinterpret_cast<char *>(machine->sharedMemory + address);
}

/// static_cast, but floats become integers as the hardware has it: cut off at the ends of the range, NaN is 0.
template <class To, class From> constexpr To cast(From &&value) {
  using Plain = std::remove_cvref_t<From>;
  if constexpr (std::is_floating_point_v<Plain> && std::is_integral_v<To> &&
                !std::is_same_v<To, bool>) {
    constexpr To kLargest = To(-1) < To(0) ? To((1ull << (8 * sizeof(To) - 1)) - 1) : To(-1),
                 kSmallest = To(~kLargest);
    if (value != value)
      return 0;
    if (double(value) >= double(kLargest))
      return kLargest;
    return double(value) <= double(kSmallest) ? kSmallest : static_cast<To>(value);
  } else {
    return static_cast<To>(std::forward<From>(value));
  }
}

/// One parameter of a kernel, as a cubin's section .nv.info.<kernel> describes it.
struct ParameterRecord {
  uint8_t format = 4, attribute = 0x17;
  uint16_t bytes = 12;
  uint32_t index = 0;
  uint16_t ordinal = 0, offset = 0;
  uint32_t size = 0; ///< above 18 other bits
};

template <class... Parameters>
constexpr std::array<ParameterRecord, sizeof...(Parameters)> describe(void (*)(Parameters...)) {
  std::array<ParameterRecord, sizeof...(Parameters)> records;
  uint32_t sizes[] = {sizeof(Parameters)...};
  for (uint16_t i = 0; i < records.size(); ++i)
    records[i].ordinal = i, records[i].size = sizes[i] << 18;
  return records;
}

template <class... Parameters, size_t... Index>
void call(void (*kernel)(Parameters...), void *const *parameters, std::index_sequence<Index...>) {
  kernel(*static_cast<std::remove_const_t<Parameters> *>(parameters[Index])...);
}

template <class... Parameters>
void call(void (*kernel)(Parameters...), Machine &onMachine, void *const *parameters) {
  machine = &onMachine;
  call(kernel, parameters, std::index_sequence_for<Parameters...>());
}

} // namespace smelt::emulator

#define __global__
#define __device__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define threadIdx (::smelt::emulator::self().index)
#define blockIdx (::smelt::emulator::self().block->index)
#define blockDim (::smelt::emulator::machine->blockSize)
#define gridDim (::smelt::emulator::machine->gridSize)

inline void __syncthreads() { ::smelt::emulator::machine->meetAll(); }
inline void __syncwarp(unsigned lanes = 0xffffffffu) {
  ::smelt::emulator::machine->exchange(lanes, 0);
}
template <class T> T __shfl_xor_sync(unsigned lanes, T value, int mask) {
  unsigned from = ::smelt::emulator::self().lane() ^ unsigned(mask);
  return ::smelt::emulator::machine->exchange(lanes, value)[from];
}
template <class T> T __shfl_sync(unsigned lanes, T value, int from, int width = 32) {
  int base = int(::smelt::emulator::self().lane()) / width * width;
  return ::smelt::emulator::machine->exchange(lanes, value)[base + from % width];
}
inline int __any_sync(unsigned lanes, int condition) {
  int any = 0;
  for (int one : ::smelt::emulator::machine->exchange(lanes, condition))
    any |= one != 0;
  return any;
}
template <class T> T atomicAdd(T *total, T value) {
  T before = *total; // threads take turns
  *total += value;
  return before;
}
inline size_t __cvta_generic_to_shared(const void *p) {
  return size_t(static_cast<const std::byte *>(p) - ::smelt::emulator::machine->sharedMemory);
}

inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
inline float __fsub_rn(float a, float b) {
  return a - b;
} // kernels are compiled without contractions
inline double __dsub_rn(double a, double b) { return a - b; }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i)
    result |= unsigned(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return result;
}
inline float __fdividef(float x, float y) { return x / y; }
inline float rsqrtf(float x) { return 1.0f / ::sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / ::sqrt(x); }
template <class T> constexpr T min(T a, T b) { return b < a ? b : a; }
template <class T> constexpr T max(T a, T b) { return a < b ? b : a; }
