// The problem of gemm_problem.cuh with windows of images as its left operand, and what lays these windows out
// as a matrix for the reference.
#pragma once

#include "gemm_problem.cuh"
#include "kernels/gemm/gemm_tma_left.cuh"

namespace smelt {

/// One axis of images (variants.h): pixel o of the `count` of the result meets, with tap t, pixel
/// o * stride - before + t * dilation.
struct ImageAxis {
  int size, taps, stride, dilation, before, count;
};

/// The sizes are compile-time constants, as codegen makes them for static shapes.
template <class Base, int Channels, int DownStride, int DownDilation, int DownBefore, int DownCount,
          int AcrossTaps, int AcrossStride, int AcrossDilation, int AcrossBefore, int AcrossCount>
struct WindowTestProblem : Base {
  __device__ WindowPlace windowAt(int m) const {
    return {m % AcrossCount * AcrossStride - AcrossBefore,
            m / AcrossCount % DownCount * DownStride - DownBefore, m / (AcrossCount * DownCount)};
  }
  __device__ WindowOffset windowOffset(int k) const {
    int tap = k / Channels;
    return {k % Channels, tap % AcrossTaps * AcrossDilation, tap / AcrossTaps * DownDilation};
  }
};

/// One thread an element of the matrix, (images, down.count, across.count) by (down.taps, across.taps,
/// channels).
template <class T> struct Unfold {
  const T *images; // (images, down.size, across.size, channels)
  T *matrix;
  int imageCount, channels;
  ImageAxis down, across;

  __device__ static int place(const ImageAxis &axis, int64_t pixel, int64_t tap) {
    return int(pixel) * axis.stride - axis.before + int(tap) * axis.dilation;
  }
  __device__ void run() const {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, rest = i;
    auto next = [&](int extent) {
      int64_t position = rest % extent;
      rest /= extent;
      return position;
    };
    int64_t channel = next(channels), right = next(across.taps), below = next(down.taps),
            column = next(across.count), row = next(down.count), image = rest;
    if (image >= imageCount)
      return;
    int x = place(across, column, right), y = place(down, row, below);
    bool exists = x >= 0 && x < across.size && y >= 0 && y < down.size;
    matrix[i] =
        exists ? images[((image * down.size + y) * across.size + x) * channels + channel] : T{};
  }
};

} // namespace smelt
