// A device, its context and its memory, released with the objects that hold them.
#pragma once

#include "runtime/driver.h"

#include <cstdint>

namespace smelt::runtime {

/// How many there are, what one of them has, and what of it a block takes beside its own, in bytes.
struct Multiprocessors {
  int count = 0;
  uint32_t sharedBytes = 0;
  uint32_t reservedBytes = 0; ///< of each block
};

/// One device and a context of it: the primary one, which frameworks in the same process share, or one
/// of the caller's.
class Device {
public:
  /// With the primary context, which is held as long as the object. Fails with kEnvironment when
  /// there is no such device.
  static Result<std::shared_ptr<const Device>> open(Driver driver, int ordinal);
  /// With a context of the caller's, who keeps it alive as long as the object. Fails with kUsage when
  /// it is none.
  static Result<std::shared_ptr<const Device>> adopt(Driver driver, CUcontext context);
  ~Device();
  Device(const Device &) = delete;

  const DriverApi &api() const { return *driver; }
  CUcontext context() const { return held; }
  const std::string &name() const { return deviceName; }
  /// As the driver and other libraries number devices.
  int ordinal() const { return handle; }
  /// Ten times the major compute capability, plus the minor one: 90 on Hopper.
  int computeCapability() const { return capability; }
  /// Whether kernels may start before those that they wait for have ended (programmatic dependent launch).
  bool startsKernelsEarly() const { return capability >= 90; }
  /// The most shared memory that one block may opt in to.
  int maxSharedBytes() const { return sharedBytes; }
  const Multiprocessors &multiprocessors() const { return processors; }

  /// An attribute by the driver's name for it.
  Result<int> attribute(CUdevice_attribute which) const;

private:
  explicit Device(Driver driver) : driver(std::move(driver)) {}
  Status query();

  Driver driver;
  CUdevice handle = 0;
  CUcontext held = nullptr;
  bool isRetained = false; ///< the primary context, by this object
  std::string deviceName;
  int capability = 0;
  int sharedBytes = 0;
  Multiprocessors processors;
};

using SharedDevice = std::shared_ptr<const Device>;

/// Makes a device's context current in this thread, and the former one again at the end.
class CurrentContext {
public:
  static Result<CurrentContext> enter(const Device &device);
  CurrentContext(CurrentContext &&other) noexcept : pushedOn(std::exchange(other.pushedOn, {})) {}
  CurrentContext &operator=(CurrentContext &&) = delete;
  ~CurrentContext();

private:
  explicit CurrentContext(const DriverApi *pushedOn) : pushedOn(pushedOn) {}

  const DriverApi *pushedOn; ///< null: the context was current already
};

/// Lets this thread allocate, load code and wait for events and streams of its own although some
/// thread captures a stream. Nothing lets it wait for the whole device or use the legacy stream
/// synchronously then: either would break the capture.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const DriverApi &api);
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture &) = delete;

private:
  const DriverApi &api;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool isExchanged;
};

/// Whether work on the stream becomes part of a graph.
Result<bool> isCapturing(const DriverApi &api, CUstream stream);

/// A stream of one's own. It does not wait for the legacy stream, nor that for it, so that captures
/// and the work of others go on meanwhile. Must be created and destroyed with the device current.
class OwnStream {
public:
  static Result<OwnStream> create(const DriverApi &api);
  OwnStream(OwnStream &&other) noexcept
      : api(other.api), handle(std::exchange(other.handle, nullptr)) {}
  OwnStream &operator=(OwnStream &&) = delete;
  ~OwnStream();

  CUstream get() const { return handle; }

private:
  OwnStream(const DriverApi &api, CUstream handle) : api(api), handle(handle) {}

  const DriverApi &api;
  CUstream handle;
};

/// Where device memory comes from. Without functions: the driver.
struct DeviceAllocator {
  /// The address of `bytes` bytes, aligned to plan::kWeightBytes; 0 when there is no memory.
  std::function<CUdeviceptr(uint64_t bytes)> allocate;
  std::function<void(CUdeviceptr address, uint64_t bytes)> release;
};

/// Device memory that is released with the object, and must not be in use then.
class DeviceMemory {
public:
  /// `purpose` stands in the message of a failure, e.g. "the weights". 0 bytes take no memory.
  static Result<DeviceMemory> allocate(SharedDevice device, const DeviceAllocator &allocator,
                                       uint64_t bytes, const char *purpose);

  DeviceMemory() = default;
  DeviceMemory(DeviceMemory &&other) noexcept { swap(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceMemory();

  CUdeviceptr address() const { return start; }
  uint64_t bytes() const { return size; }

private:
  void swap(DeviceMemory &other) noexcept;

  SharedDevice device;
  DeviceAllocator allocator;
  CUdeviceptr start = 0;
  uint64_t size = 0;
};

/// Host memory that copies reach without the driver's staging; released with the object.
class PinnedMemory {
public:
  static Result<PinnedMemory> allocate(SharedDevice device, uint64_t bytes);

  PinnedMemory(PinnedMemory &&other) noexcept
      : device(std::move(other.device)), start(std::exchange(other.start, nullptr)) {}
  PinnedMemory &operator=(PinnedMemory &&) = delete;
  ~PinnedMemory();

  void *data() const { return start; }

private:
  PinnedMemory() = default;

  SharedDevice device;
  void *start = nullptr;
};

} // namespace smelt::runtime
