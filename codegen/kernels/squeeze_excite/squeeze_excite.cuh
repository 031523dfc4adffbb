// Squeeze and excitation: an image's channels scaled by what the means of all channels say.
//
//   gate[c] = g(sum_h E[h, c] f(sum_k S[k, h] mean[k])),  out[pixel, c] = image[pixel, c] * gate[c]
//
// Problem: as kernels these are a mean over pixels, two products with a row an image, and a scaling. Each is
// hardly longer than its own launch, a mean of few images keeps few multiprocessors busy, and the
// image is read twice.
//
// Method: the blocks of a cluster share an image. Each sums its pixels of its slice of the channels and
// multiplies the sums by the weights of its channels: the hidden values are linear in them, so that
// blocks need nothing of each other but these products. That is the one exchange, through distributed shared
// memory. Each block then knows all hidden values, computes the gates of its channels, and scales what it
// summed, which its caches still hold. Its parts of both weights arrive in shared memory before the wait for
// the kernel that makes the image. Without clusters the exchange is one through device memory, between
// two kernels. The order of all sums follows from the sizes alone.
//
// Assumes: Problem::kTiling; blocks of kThreads threads, kBlocks an image in x (squeezeExcite: clusters of
// kBlocks); sharedBytes(whether it is that one) of shared memory, aligned to 16 bytes.
// Cost: reads the image once from memory, writes it once; one exchange of a cluster.
// Gain, on one H200: 16 images of 14 x 14 x 480 8.7 us (mean 5.3, products 3.9 and 3.6, scaling 4.4), of 7 x 7 x 1152 10.5
// (4.2, 4.5, 3.4, 3.3); EfficientNet-B0 of 16 images 0.447 ms (0.502). With three exchanges and weights read one by one
// it was 0.525.
//
// A Problem supplies
//   static constexpr SqueezeExciteTiling kTiling
//   static constexpr bool kScales            false: the result is the gates
//   static constexpr bool kWeightsConstant   no kernel writes them
//   using Weight
//   int pixels() const                                       of an image
//   void add(int image, int pixel, int channel, float (&sums)[kWidth]) const
//   float mean(int image, int channel, float sum) const      of a part of the pixels' sum: what it adds
//   SqueezeWeights, ExciteWeights: how several neighbours of a weight are loaded
//     static constexpr int kWidth; static constexpr bool kAlongHidden        else along the channels
//     static void load(const Problem &, int channel, int hidden, float (&values)[kWidth])
//   float hidden(int image, int hidden, float sum) const     as the second product reads it
//   float gate(int image, int channel, float sum) const
//   void storeGate(int image, int channel, float gate) const                       without kScales
//   void scale(int image, int pixel, int channel, const float (&gates)[kWidth]) const with it
#pragma once

#include "device/arithmetic.cuh"
#include "device/reduce.cuh"
#include "device/vector.cuh"
#include "kernels/squeeze_excite/squeeze_excite_config.cuh"

namespace smelt {

/// One block's part of one image, `InOneKernel` or in the one or the other of two.
template <class Problem, bool InOneKernel> struct SqueezeExcite {
  using Weight = typename Problem::Weight;
  static constexpr SqueezeExciteTiling kTiling = Problem::kTiling;
  static constexpr int kBlocks = kTiling.kBlocks, kThreads = kTiling.kThreads;
  static constexpr int kChannels = kTiling.channels, kHidden = kTiling.hidden;
  static constexpr int kWidth = kTiling.width, kSlice = kTiling.slice();
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kSqueezeWeights = kTiling.squeezeWeightsOffset();
  static constexpr int kExciteWeights = kTiling.exciteWeightsOffset(InOneKernel);
  static_assert(kBlocks <= 32, "a warp's lanes send to all blocks");
  static_assert(kChannels % kWidth == 0 && kSlice <= kThreads, "pixels are whole vectors");

  const Problem &problem;
  char *const shared;
  const int image = blockIdx.x / kBlocks, rank = blockIdx.x % kBlocks;
  const int firstChannel = rank % kTiling.slices() * kSlice;
  const int channels = max(min(kSlice, kChannels - firstChannel), 0); ///< of this block

  __device__ __forceinline__ SqueezeExcite(const Problem &problem, char *shared)
      : problem(problem), shared(shared) {}

  __device__ __forceinline__ float *floats(int offset) const {
    return reinterpret_cast<float *>(shared + offset);
  }
  __device__ __forceinline__ float *hiddenParts() const {
    return floats(kTiling.hiddenPartsOffset());
  }

  // --- Weights ---

  /// The weights of this block's channels, into [hidden][slice].
  template <class Weights> __device__ __forceinline__ void stage(int offset) const {
    constexpr int kLanes = Weights::kWidth;
    constexpr int kVectors = (Weights::kAlongHidden ? kHidden : kSlice) / kLanes;
    auto *target = reinterpret_cast<Weight *>(shared + offset);
#pragma unroll 4
    for (int i = threadIdx.x; i < kHidden * kSlice / kLanes; i += kThreads) {
      int vector = i % kVectors * kLanes, row = i / kVectors;
      int h = Weights::kAlongHidden ? vector : row, c = Weights::kAlongHidden ? row : vector;
      if (c >= channels)
        continue;
      float values[kLanes];
      Weights::load(problem, firstChannel + c, h, values);
#pragma unroll
      for (int lane = 0; lane < kLanes; ++lane)
        target[h * kSlice + c + lane * (Weights::kAlongHidden ? kSlice : 1)] =
            convert<Weight>(values[lane]);
    }
  }
  __device__ __forceinline__ void stageSqueeze() const {
    stage<typename Problem::SqueezeWeights>(kSqueezeWeights);
  }
  __device__ __forceinline__ void stageExcite() const {
    stage<typename Problem::ExciteWeights>(kExciteWeights);
  }
  __device__ __forceinline__ float weight(int offset, int h, int c) const {
    return convert<float>(reinterpret_cast<const Weight *>(shared + offset)[h * kSlice + c]);
  }

  // --- Pixels ---

  /// Calls `body` with every pixel of which this thread takes the channels from `channel()` on.
  template <class Body> __device__ __forceinline__ void forPixels(Body body) const {
    int pixels = ceilDiv(problem.pixels(), kTiling.partsOfPixels());
    int first = rank / kTiling.slices() * pixels, last = min(first + pixels, problem.pixels());
    if (row() < kTiling.pixelsAtOnce() && channel() < kChannels)
#pragma unroll 4
      for (int pixel = first + row(); pixel < last; pixel += kTiling.pixelsAtOnce())
        body(pixel);
  }
  /// Of this thread: which of the pixels at once, and the first of its channels in the slice.
  __device__ __forceinline__ static int row() { return threadIdx.x / kTiling.threadsOfPixel(); }
  __device__ __forceinline__ static int column() {
    return threadIdx.x % kTiling.threadsOfPixel() * kWidth;
  }
  __device__ __forceinline__ int channel() const { return firstChannel + column(); }

  /// What this block's pixels add to the means of its channels.
  __device__ __forceinline__ void sumPixels() const {
    constexpr int kRows = kTiling.pixelsAtOnce(), kParts = kTiling.threadsOfChannel();
    float *partials = floats(0), *totals = floats(kTiling.totalsOffset());
    float sums[kWidth] = {};
    forPixels([&](int pixel) { problem.add(image, pixel, channel(), sums); });
    if (row() < kRows)
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        partials[row() * kSlice + column() + i] = sums[i];
    __syncthreads();
    int c = threadIdx.x % kSlice, part = threadIdx.x / kSlice;
    if (part < kParts) {
      float sum = 0;
#pragma unroll
      for (int i = part; i < kRows; i += kParts)
        sum += partials[i * kSlice + c];
      totals[part * kSlice + c] = sum;
    }
    __syncthreads();
    if (threadIdx.x < channels) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < kParts; ++i)
        sum += totals[i * kSlice + threadIdx.x];
      floats(kTiling.meansOffset())[threadIdx.x] =
          problem.mean(image, firstChannel + threadIdx.x, sum);
    }
    __syncthreads();
  }

  /// Calls `send` with every hidden value and what this block's means add to it, in all lanes of a warp.
  template <class Send> __device__ __forceinline__ void squeeze(Send send) const {
    const float *means = floats(kTiling.meansOffset());
    for (int h = threadIdx.x / 32; h < kHidden; h += kWarps) {
      float sum = 0;
      for (int c = threadIdx.x % 32; c < channels; c += 32)
        sum += means[c] * weight(kSqueezeWeights, h, c);
      send(h, warpReduce<Sum>(sum));
    }
  }

  /// The gates of this block's channels, from what all blocks add to the hidden values.
  __device__ __forceinline__ void computeGates() const {
    float *hidden = floats(kTiling.hiddenOffset());
    for (int h = threadIdx.x; h < kHidden; h += kThreads) {
      float sum = 0;
#pragma unroll
      for (int block = 0; block < kBlocks; ++block)
        sum += hiddenParts()[block * kHidden + h];
      hidden[h] = problem.hidden(image, h, sum);
    }
    __syncthreads();
    if (threadIdx.x < channels) {
      float sum = 0;
#pragma unroll 8
      for (int h = 0; h < kHidden; ++h)
        sum += hidden[h] * weight(kExciteWeights, h, threadIdx.x);
      floats(kTiling.gatesOffset())[threadIdx.x] =
          problem.gate(image, firstChannel + threadIdx.x, sum);
    }
  }

  /// The end: this block's channels of the result.
  __device__ __forceinline__ void finish() const {
    computeGates();
    const float *gatesOfSlice = floats(kTiling.gatesOffset());
    if constexpr (Problem::kScales) {
      __syncthreads();
      float gates[kWidth];
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        gates[i] = gatesOfSlice[column() + i];
      forPixels([&](int pixel) { problem.scale(image, pixel, channel(), gates); });
    } else if (rank < kTiling.slices() && threadIdx.x < channels) {
      problem.storeGate(image, firstChannel + threadIdx.x, gatesOfSlice[threadIdx.x]);
    }
  }
};

/// The kernel's body where the blocks of an image are a cluster.
template <class Problem>
__device__ __forceinline__ void squeezeExcite(const Problem &problem, char *shared) {
  using Block = SqueezeExcite<Problem, true>;
  Block block(problem, shared);
  ptx::clusterArrive(); // this block has started
  if constexpr (Problem::kWeightsConstant) {
    block.stageSqueeze();
    block.stageExcite();
  }
  ptx::gridDependencyWait();
  ptx::gridDependencyLaunch();
  if constexpr (!Problem::kWeightsConstant) {
    block.stageSqueeze();
    block.stageExcite();
  }
  block.sumPixels();
  ptx::clusterWait();
  block.squeeze([&](int h, float sum) {
    const float *target = block.hiddenParts() + block.rank * Block::kHidden + h;
    int lane = threadIdx.x % 32;
    if (lane < Block::kBlocks)
      ptx::storeCluster(ptx::mapToRank(ptx::sharedAddress(target), lane), sum);
  });
  ptx::clusterArrive();
  ptx::clusterWait();
  block.finish();
}

// --- Without clusters: two kernels that meet in device memory, float [images][kBlocks][hidden] ---

template <class Problem>
__device__ __forceinline__ void squeezeParts(const Problem &problem, float *parts, char *shared) {
  using Block = SqueezeExcite<Problem, false>;
  Block block(problem, shared);
  ptx::gridDependencyWait();
  ptx::gridDependencyLaunch();
  block.stageSqueeze();
  block.sumPixels();
  block.squeeze([&](int h, float sum) {
    if (threadIdx.x % 32 == 0)
      parts[int64_t(blockIdx.x) * Block::kHidden + h] = sum;
  });
}

template <class Problem>
__device__ __forceinline__ void exciteParts(const Problem &problem, const float *parts,
                                            char *shared) {
  using Block = SqueezeExcite<Problem, false>;
  constexpr int kParts = Block::kBlocks * Block::kHidden;
  Block block(problem, shared);
  ptx::gridDependencyWait();
  ptx::gridDependencyLaunch();
  block.stageExcite();
  for (int i = threadIdx.x; i < kParts; i += Block::kThreads)
    block.hiddenParts()[i] = parts[int64_t(block.image) * kParts + i];
  __syncthreads();
  block.finish();
}

} // namespace smelt
