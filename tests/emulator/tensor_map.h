// What the emulator's driver encodes a tensor map as, and kernels on the host read.
#pragma once

#include <cstdint>

namespace smelt::emulator {

/// The words of the fake driver's maps (runtime/fake_driver_table.cpp), and what it leaves out.
struct HostTensorMap {
  uint64_t address, rank, sizes[5], strides[4]; ///< strides in bytes, from the second axis on
  union {
    uint64_t box;   ///< of boxes, 12 bits an axis
    uint64_t steps; ///< of windows, 8 bits an axis
  };
  uint64_t windowStep;   ///< pixels above 32 bits of channels
  uint64_t lower, upper; ///< corners of windows, 16 bits an axis
  uint64_t kind;         ///< bytes of an element, below 8 bits of the swizzle

  unsigned elementBytes() const { return kind & 0xff; }
  /// Where what is meant for `place` in shared memory lies: rows of 32, 64 or 128 bytes have their pieces of 16 bytes
  /// exchanged, by the address's bits from 7 on.
  uint32_t swizzled(uint32_t place) const {
    unsigned rowBytes = 16u << (kind >> 8 & 3);
    return place ^ (place >> 3 & (rowBytes - 1) & 0x70u);
  }
};
static_assert(sizeof(HostTensorMap) == 128);

} // namespace smelt::emulator
