// How squeeze_excite.cuh divides an image among blocks, and what lies where in their shared memory.
//
// Plain C++: the host and the device read the same formulas.
#pragma once

namespace smelt {

struct SqueezeExciteTiling {
  int channels, hidden; ///< of an image; of the layer between the two products
  int width;            ///< neighbouring channels of a thread: divides `channels`
  int weightBytes;      ///< of an element of either weight

  /// Blocks of an image: slices of its channels by parts of its pixels.
  static constexpr int kBlocks = 8, kThreads = 512;
  /// Channels of a slice, where there is more than one: two sectors of memory of each pixel.
  static constexpr int kFewestChannels = 32;

  static constexpr int ceilDiv(int a, int b) { return (a + b - 1) / b; }

  constexpr int slices() const {
    int count = kBlocks;
    while (count > 1 && channels / count < kFewestChannels)
      count /= 2;
    return count;
  }
  constexpr int partsOfPixels() const { return kBlocks / slices(); }
  /// Channels of a slice; the last may have fewer, or none. At most 512, of 4,096.
  constexpr int slice() const { return ceilDiv(channels, slices() * width) * width; }

  /// Threads beside each other that take one pixel, and pixels that a block takes at a time.
  constexpr int threadsOfPixel() const { return slice() / width; }
  constexpr int pixelsAtOnce() const { return kThreads / threadsOfPixel(); }
  /// Threads that add up one channel's sums.
  constexpr int threadsOfChannel() const { return kThreads / slice(); }

  // Offsets are bytes of a block's shared memory.

  /// float [pixelsAtOnce][slice], from the start on: sums of pixels.
  /// float [threadsOfChannel][slice]: sums of those.
  constexpr int totalsOffset() const { return pixelsAtOnce() * slice() * 4; }
  /// float [slice]
  constexpr int meansOffset() const { return totalsOffset() + threadsOfChannel() * slice() * 4; }
  /// float [kBlocks][hidden]: what every block adds to the hidden values.
  constexpr int hiddenPartsOffset() const { return meansOffset() + slice() * 4; }
  /// float [hidden]
  constexpr int hiddenOffset() const { return hiddenPartsOffset() + kBlocks * hidden * 4; }
  /// float [slice]
  constexpr int gatesOffset() const { return hiddenOffset() + hidden * 4; }
  /// Weight [hidden][slice], twice; in one place where they are needed by different kernels.
  constexpr int squeezeWeightsOffset() const { return gatesOffset() + slice() * 4; }
  constexpr int exciteWeightsOffset(bool inOneKernel) const {
    return squeezeWeightsOffset() + (inOneKernel ? hidden * slice() * weightBytes : 0);
  }
  constexpr int sharedBytes(bool inOneKernel) const {
    return exciteWeightsOffset(inOneKernel) + hidden * slice() * weightBytes;
  }
};

} // namespace smelt
