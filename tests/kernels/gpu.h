// A GPU for the kernel tests: the CUDA driver, opened at run time, behind a few small types. Every
// driver call is checked; a failure throws GpuError, which ends the test program.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace smelt::kernel_tests {

struct GpuError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Driver entry points, resolved once.
struct Driver;

/// Device memory between two guard bands, which a check after the run compares with their pattern.
class Buffer {
public:
  Buffer(const Driver &driver, size_t bytes);
  ~Buffer();
  Buffer(Buffer &&other) noexcept;
  Buffer(const Buffer &) = delete;

  CUdeviceptr data() const { return base_ + kGuardBytes; }
  size_t bytes() const { return bytes_; }
  void upload(const void *source);
  void download(void *target) const;
  /// Fills the buffer with bytes of all ones: NaN in every floating-point type.
  void poison();
  bool guardsIntact() const;

private:
  static constexpr size_t kGuardBytes = 4096;
  const Driver *driver_;
  size_t bytes_;
  CUdeviceptr base_ = 0;
};

/// A kernel's parameter as it is passed.
template <class T> std::vector<char> bytesOf(const T &value) {
  std::vector<char> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

struct Launch {
  CUfunction function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned threads = 0, sharedBytes = 0, clusterY = 1;
  std::vector<char> parameters;      // the one struct that test kernels take, or several arguments
  std::vector<size_t> offsets = {0}; // of the arguments in `parameters`
};

/// A tensor of elements of one byte or two as the hardware that copies boxes of it sees it, axes innermost
/// first.
struct BoxedTensor {
  CUdeviceptr data = 0;
  std::vector<uint64_t> sizes, strides = {}; // elements; of every axis but the innermost
  std::vector<unsigned> box = {};            // rows of 128, 64 or 32 bytes
  unsigned elementBytes = 2;
};

/// Windows of images of such elements; corners without the channels and the images.
struct WindowedImages {
  CUdeviceptr data = 0;
  uint64_t channels, columns, rows, images;
  uint64_t pixelStride, rowStride; // in elements
  int lower[2], upper[2];          // across, down
  unsigned strides[2];             // the same
  unsigned stepChannels, stepPixels, elementBytes;
};

class Gpu {
public:
  /// Opens the driver and the first device; throws GpuError if there is none.
  Gpu();
  ~Gpu();

  const Driver &driver() const { return *driver_; }
  std::string name() const;
  bool hopper() const { return major_ == 9; }

  /// Loads a cubin and returns one of its kernels, allowed `sharedBytes` of dynamic shared memory.
  CUfunction load(const std::string &cubin, const std::string &kernel, int sharedBytes);

  void run(const Launch &launch); // and waits
  Buffer buffer(size_t bytes) { return Buffer(*driver_, bytes); }
  int multiprocessors() const { return multiprocessors_; }
  /// Rows of a box in the permutation of their width; what lies outside is zero.
  CUtensorMap encode(const BoxedTensor &tensor) const;
  /// Pixels of 128, 64 or 32 bytes in the permutation of their width; what lies outside is zero.
  CUtensorMap encode(const WindowedImages &images) const;

  /// Median time in us of a kernel within a graph of `launches`, each depending on the one before;
  /// after so many seconds of the same load, for a power limit lowers clocks within tenths of one.
  double timeChain(const std::vector<Launch> &launches, bool programmatic, double loadSeconds = 0);

private:
  void enqueue(const Launch &launch, bool programmatic);

  std::unique_ptr<Driver> driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  int major_ = 0, multiprocessors_ = 0;
  std::vector<CUmodule> modules_;
};

} // namespace smelt::kernel_tests
