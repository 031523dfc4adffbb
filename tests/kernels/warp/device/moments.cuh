// What gemm_fragment_epilogue.cuh needs of the device, for the 32 threads of a warp on the host, which meet at
// every exchange: tests include it in place of codegen/device/moments.cuh.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#define __device__
#define __forceinline__ inline

namespace smelt {

using std::min;

struct HostThread {
  int x;
};
inline thread_local HostThread threadIdx;

/// Where the warp's threads meet, and what they exchange.
struct HostWarp {
  std::barrier<> meeting{32};
  uint32_t words[32] = {};
  std::vector<unsigned char> shared;
};
inline HostWarp hostWarp;

inline uint32_t __shfl_xor_sync(uint32_t, uint32_t word, int step) {
  int lane = threadIdx.x % 32;
  hostWarp.words[lane] = word;
  hostWarp.meeting.arrive_and_wait();
  uint32_t other = hostWarp.words[lane ^ step];
  hostWarp.meeting.arrive_and_wait();
  return other;
}

namespace ptx {
inline void loadShared(uint32_t address, float &first, float &second) {
  std::memcpy(&first, hostWarp.shared.data() + address, 4);
  std::memcpy(&second, hostWarp.shared.data() + address + 4, 4);
}
} // namespace ptx

template <class T, int W> struct alignas(W * sizeof(T)) Vector {
  T values[W];
  T &operator[](int i) { return values[i]; }
  const T &operator[](int i) const { return values[i]; }
};

struct RowStatistics {
  float mean, scale;
};

/// As device/types.cuh's.
template <int Begin, int End, class Body> void staticFor(const Body &body) {
  if constexpr (Begin < End) {
    body(std::integral_constant<int, Begin>());
    staticFor<Begin + 1, End>(body);
  }
}

} // namespace smelt
