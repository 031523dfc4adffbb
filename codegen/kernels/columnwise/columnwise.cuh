// Reductions over axes before the last: pools, depthwise convolutions, statistics of a batch.
//
// Problem: what is reduced lies far apart, its neighbours in memory belong to other results. A
// thread a result that walks its elements reads whole sectors together with its neighbours, but few
// results leave most of the device idle.
// Method: a thread owns Problem::kWidth neighbouring results, a vector of channels, and reads whole
// vectors; windows that overlap meet in the caches. Where a result takes many elements, kParts threads
// take every kParts-th of them each, and their halves add up through shared memory, again and again: in one
// order, so that results are reproducible. Even of a few results that keeps multiprocessors full of loads.
// Assumes: kWidth divides count(); blocks of kVectors * kParts threads.
// Windows that are neighbours share most of what they read: a thread takes several of them (the
// array that it combines holds all), reads a row of the image once for all, and a row of the filter.
// Gain, of up to 256 parts over 32, on an H100: means of 16 images of 112 x 112 x 32 10.5 us (51), of 56 x 56 x 144 9.6
// (22.9), of 14 x 14 x 480 5.3 (7.0); EfficientNet-B0 of 16 images 0.59 ms (0.68). Of seven windows together and padding that costs no
// selections, by turns on an H100: ConvNeXt-T of 16 images 0.926 ms (0.979), EfficientNet-B0 0.567 (0.581).
// Cost: reads every element once from memory and writes the results once. Of the caches, windows of
// kh x kw elements read kh * (kw + n - 1) vectors of the image and kh * kw of the filter for n results.
//
// A Problem supplies
//   static constexpr int kWidth, kVectors, kParts      kParts is a power of two
//   int count() const                 results
//   int reversed                      device/direction.cuh
//   template <class Block> void run(const Block &block, int e, int part)
//     combines the elements part, part + kParts, ... of each of the results [e, e + kWidth), or of
//     those of several windows, calls
//     block.combine with the function that does so and the array of them, and stores what follows
//     from the results where that is true
#pragma once

#include "device/arithmetic.cuh"
#include "device/direction.cuh"
#include "device/reduce.cuh"
#include "device/vector.cuh"

namespace smelt {

/// The threads of a block that share results: Vectors times Parts.
template <int Vectors, int Parts> struct ColumnBlock {
  int vector, part; // of this thread
  bool exists;      // false: a copy of the last vector's threads

  /// Combines the values of all parts. True for the thread that goes on with them.
  template <class Op, class T, int Width>
  __device__ __forceinline__ bool combine(T (&values)[Width]) const {
    if constexpr (Parts > 1) {
      __shared__ T partials[Width][Parts / 2][Vectors];
#pragma unroll
      for (int half = Parts / 2; half > 0; half /= 2) {
        if (part >= half && part < 2 * half)
#pragma unroll
          for (int i = 0; i < Width; ++i)
            partials[i][part - half][vector] = values[i];
        __syncthreads();
        if (part < half)
#pragma unroll
          for (int i = 0; i < Width; ++i)
            values[i] = Op::combine(values[i], partials[i][part][vector]);
        __syncthreads();
      }
      if (part > 0)
        return false;
    }
    return exists;
  }
};

template <class Problem> __device__ __forceinline__ void columnwise(const Problem &problem) {
  constexpr int kVectors = Problem::kVectors, kParts = Problem::kParts;
  ptx::gridDependencyWait();
  ptx::gridDependencyLaunch();
  int inBlock = threadIdx.x % kVectors, part = threadIdx.x / kVectors;
  unsigned block = inDirection(problem.reversed, blockIdx.x, gridDim.x);
  unsigned vector = block * kVectors + inBlock; // may lie beyond 2^31 in the last block
  unsigned vectors = unsigned(problem.count()) / Problem::kWidth;
  bool exists = vector < vectors;
  problem.run(ColumnBlock<kVectors, kParts>{inBlock, part, exists},
              int(exists ? vector : vectors - 1) * Problem::kWidth, part);
}

} // namespace smelt
