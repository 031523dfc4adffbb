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

/// The thread that runs, shared memory, and the bytes that may be read.
struct HostDevice {
  struct {
    int x = 0;
  } threadIdx;
  std::vector<unsigned char> shared;
  const unsigned char *readable = nullptr;
  size_t readableBytes = 0;
  int readsOutside = 0, misaligned = 0;

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
inline float loadShared(uint32_t address) {
  float value;
  std::memcpy(&value, hostDevice.shared.data() + address, 4);
  return value;
}
inline void loadShared(uint32_t address, float (&values)[4]) {
  std::memcpy(values, hostDevice.shared.data() + address, 16);
}
/// Fragments need a whole warp: no test of one thread asks for them.
void loadMatrix(uint32_t address, uint32_t (&r)[4]);
void loadMatrixTransposed(uint32_t address, uint32_t (&r)[4]);

} // namespace ptx
} // namespace smelt
