// Bulk copies of boxes of a tensor into shared memory (TMA, sm_90): one thread asks, the hardware
// computes addresses, permutes, and fills with zeros what lies outside. One PTX instruction a
// function.
#pragma once

#include "device/types.cuh"

namespace smelt {

/// A tensor as the hardware sees it, encoded by the host (cuTensorMapEncodeTiled). A kernel's
/// parameter, marked __grid_constant__.
struct alignas(64) TensorMap {
  uint64_t words[16];
};

} // namespace smelt

namespace smelt::tma {

/// Brings the description itself near.
__device__ __forceinline__ void prefetch(const TensorMap &map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// Copies the box at (column, row) to `target`; its bytes, those outside too, count on `barrier`.
__device__ __forceinline__ void copyBox(uint32_t target, const TensorMap &map, int column, int row,
                                        uint32_t barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];" ::"r"(target),
               "l"(&map), "r"(column), "r"(row), "r"(barrier)
               : "memory");
}

/// The same of a tensor of four axes, at (column, row, plane, volume).
__device__ __forceinline__ void copyBox(uint32_t target, const TensorMap &map, int column, int row,
                                        int plane, int volume, uint32_t barrier) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(target),
               "l"(&map), "r"(column), "r"(row), "r"(plane), "r"(volume), "r"(barrier)
               : "memory");
}

/// Copies pixels of images (cuTensorMapEncodeIm2col), channels from `channel` on: the one at (column, row)
/// of `image` and those that follow it, row by row and image by image, within the box that the map names;
/// of each, what lies `right` and `down` from it.
__device__ __forceinline__ void copyPixels(uint32_t target, const TensorMap &map, int channel,
                                           int column, int row, int image, uint16_t right,
                                           uint16_t down, uint32_t barrier) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(target),
               "l"(&map), "r"(channel), "r"(column), "r"(row), "r"(image), "r"(barrier), "h"(right),
               "h"(down)
               : "memory");
}

} // namespace smelt::tma
