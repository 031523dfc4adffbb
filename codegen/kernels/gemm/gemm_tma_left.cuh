// How gemm_tma's left operand arrives: as boxes of a matrix, or as windows of images.
//
// Windows (a convolution, channels last): row m of A is the window of one pixel of the result, k counts its
// taps, row by row, and the channels of each. Of a step, whose channels belong to one tap, the rows of a
// tile are then pixels of the images; the hardware finds them (im2col) and fills in zeros for those that
// lie outside. With stride s, dilation d, `taps` taps and p pixels of zeros before an axis of `size` pixels,
// pixel o of the result meets, with tap t,
//     o * s - p + t * d
// The map holds for each axis
//     lower corner  -p                          where the first window's first tap lies
//     upper corner  u: size - 1 + u is the last place for a first tap, so that as many lie between, s
//                   apart, as the result has pixels: (size - 1 + u + p) / s + 1
//                   (q - (taps - 1) * d, with q pixels of zeros after the axis)
//     stride        s
// A copy starts at the place of its first row's first tap, o * s - p of each axis and the image, and goes
// on, s apart, through the box between the corners: along the row, then to the next row, then to the next
// image. To each place it adds the tap's offset, t * d: not negative, and no part of the corners. Behind
// the last image there are zeros: rows that the last tile has too many.
//
// Images of few channels (a first layer's) whose columns are padded in memory: the taps of one row of a
// window are neighbours there, 32 or 64 bytes, and stand for the channels of one pixel. Such pixels overlap.
// A step takes several of them, which lie in a stage one behind the other; behind the last row's there are
// zeros, too: no pixel has so many channels.
//
// Assumes: channels in whole steps, or steps of whole rows of taps; corners in 8 bits with their sign,
// strides up to 8, offsets in 8 bits without one (kernels/gemm/gemm_windows.h finds out).
#pragma once

#include "device/tma.cuh"
#include "kernels/gemm/gemm_config.cuh"

namespace smelt {

/// Rows of a matrix from `row` on. The map has boxes of one step by a tile's rows.
struct MatrixRows {
  static constexpr int kRowBytes = kWgmmaStepBytes; // of a row in a stage
  int row;

  template <class Problem>
  __device__ __forceinline__ static MatrixRows at(const Problem &, int row) {
    return {row};
  }
  /// The step from `k` on of a tile of `Rows` rows.
  template <int Rows, class Problem>
  __device__ __forceinline__ void copy(const Problem &, uint32_t target, const TensorMap &map,
                                       int k, uint32_t barrier) const {
    tma::copyBox(target, map, k, row, barrier);
  }
};

/// The place of a row's first tap.
struct WindowPlace {
  int column, row, image;
};

/// Where, from a window's first tap, an element of it lies.
struct WindowOffset {
  int channel, right, down;
};

/// Windows of images, RowBytes of each in a row of a stage. The problem has
///   WindowPlace windowAt(int m)       of a row
///   WindowOffset windowOffset(int k)  of an element
/// and the map windows of RowBytes of channels and a tile's pixels.
template <int RowBytes = kWgmmaStepBytes> struct WindowRows {
  static constexpr int kRowBytes = RowBytes;
  WindowPlace first;

  template <class Problem>
  __device__ __forceinline__ static WindowRows at(const Problem &problem, int row) {
    return {problem.windowAt(row)};
  }
  template <int Rows, class Problem>
  __device__ __forceinline__ void copy(const Problem &problem, uint32_t target,
                                       const TensorMap &map, int k, uint32_t barrier) const {
    constexpr int kParts = kWgmmaStepBytes / RowBytes;
    constexpr int kDepth = RowBytes / sizeof(typename Problem::ElementA);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      WindowOffset offset = problem.windowOffset(k + part * kDepth);
      if (kParts > 1 && k + part * kDepth >= problem.k())
        offset.channel = kDepth;
      tma::copyPixels(target + part * Rows * RowBytes, map, offset.channel, first.column, first.row,
                      first.image, uint16_t(offset.right), uint16_t(offset.down), barrier);
    }
  }
};

} // namespace smelt
