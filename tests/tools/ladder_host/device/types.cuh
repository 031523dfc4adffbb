// What the plainest steps of the ladder need of the device, for one thread at a time on the host: tests include
// it in place of codegen/device/types.cuh.
#pragma once

#include "ir/interpret/half.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#define __device__
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(...)

struct Place {
  int x = 0, y = 0, z = 0;
};
inline Place threadIdx, blockIdx; ///< of the thread that runs

namespace smelt {

using std::int64_t;

struct half {
  uint16_t bits;
};

inline float toFloat(half x) { return halfToFloat(x.bits); }
inline half toHalf(float x) { return {floatToHalf(x)}; }

inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline float __shfl_xor_sync(unsigned, float, int) {
  throw std::logic_error("a thread by itself has no other lanes");
}

} // namespace smelt
