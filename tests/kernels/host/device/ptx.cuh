// What device/tile.cuh needs of the device, for one thread at a time on the host: tests include it
// in place of codegen/device/ptx.cuh. Shared memory is an array; reads are checked against the
// operand's buffer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#define __device__
#define __forceinline__ inline

namespace smelt {

using std::min;

struct half {
  uint16_t bits;
};
template <class T> inline constexpr bool kIsFloat8 = false; // none of them here

/// The thread that runs, shared memory, and the bytes that may be read.
struct HostDevice {
  struct {
    int x = 0;
  } threadIdx;
  std::vector<unsigned char> shared;
  const unsigned char *readable = nullptr;
  size_t readableBytes = 0;
  int readsOutside = 0, misaligned = 0;
  uint32_t matrixRows[32] = {}; ///< the address that each lane has given to loadMatrix

  bool mayRead(const void *from, size_t bytes) {
    auto *p = static_cast<const unsigned char *>(from);
    misaligned += reinterpret_cast<uintptr_t>(from) % bytes != 0;
    bool isInside = p >= readable && p + bytes <= readable + readableBytes;
    readsOutside += !isInside;
    return isInside;
  }
};
inline HostDevice hostDevice;
#define threadIdx (::smelt::hostDevice.threadIdx)

constexpr int ceilDiv(int a, int b) { return (a + b - 1) / b; }
/// Byte i of the result is the byte of `b`:`a` that digit i of the selector numbers.
inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i)
    result |= uint32_t(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return result;
}
inline uint32_t __float_as_uint(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}

namespace ptx {

/// Copies now what cp.async copies some time before the wait.
template <int Bytes> void copyAsync(uint32_t target, const void *from, bool valid) {
  unsigned char *to = hostDevice.shared.data() + target;
  if (valid && hostDevice.mayRead(from, Bytes))
    std::memcpy(to, from, Bytes);
  else
    std::memset(to, 0, Bytes);
}
inline void storeShared(uint32_t target, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  uint32_t words[] = {a, b, c, d};
  std::memcpy(hostDevice.shared.data() + target, words, 16);
}
inline void storeShared(uint32_t target, uint32_t a) {
  std::memcpy(hostDevice.shared.data() + target, &a, 4);
}
template <class T> void loadShared(uint32_t address, T &value) {
  std::memcpy(&value, hostDevice.shared.data() + address, sizeof(T));
}
inline float loadShared(uint32_t address) {
  float value;
  std::memcpy(&value, hostDevice.shared.data() + address, 4);
  return value;
}
/// A warp's registers are those of its second call: the first one tells the addresses of all lanes.
inline void loadMatrix(uint32_t address, uint32_t (&r)[4]) {
  int lane = threadIdx.x % 32;
  hostDevice.matrixRows[lane] = address;
  for (int i = 0; i < 4; ++i)
    std::memcpy(&r[i],
                hostDevice.shared.data() + hostDevice.matrixRows[8 * i + lane / 4] + lane % 4 * 4,
                4);
}
/// No test asks for it.
void loadMatrixTransposed(uint32_t address, uint32_t (&r)[4]);

} // namespace ptx
} // namespace smelt
