#include "tests/kernels/gpu.h"

#include "runtime/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace smelt::kernel_tests {

/// The runtime's table of the driver's functions, whose failures throw.
struct Driver {
  runtime::Driver table;

  const runtime::DriverApi *operator->() const { return table.get(); }

  void check(CUresult result, const char *what) const {
    if (result == CUDA_SUCCESS)
      return;
    const char *text = nullptr;
    table->cuGetErrorString(result, &text);
    throw GpuError(std::string(what) + ": " + (text ? text : "unknown CUDA error"));
  }
};

namespace {

std::unique_ptr<Driver> openDriver() {
  auto opened = runtime::openDriver();
  if (!opened.isOk())
    throw GpuError(opened.status().message());
  return std::make_unique<Driver>(Driver{*opened});
}

/// Streams are captured by nobody but the timings.
struct StreamCapture {
  decltype(&cuStreamBeginCapture) begin;
  decltype(&cuStreamEndCapture) end;
};

StreamCapture streamCapture() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  StreamCapture capture = {
      reinterpret_cast<decltype(&cuStreamBeginCapture)>(dlsym(library, "cuStreamBeginCapture_v2")),
      reinterpret_cast<decltype(&cuStreamEndCapture)>(dlsym(library, "cuStreamEndCapture"))};
  if (!capture.begin || !capture.end)
    throw GpuError("the CUDA driver does not capture streams");
  return capture;
}

constexpr unsigned char kGuardPattern = 0xa5;

/// Of the default stream, for which kernels in another do not wait.
void waitForCopies(const Driver &driver) {
  driver.check(driver->cuStreamSynchronize(nullptr), "waiting for device memory");
}

} // namespace

// --- Buffer ---

Buffer::Buffer(const Driver &driver, size_t bytes) : driver_(&driver), bytes_(bytes) {
  driver.check(driver->cuMemAlloc(&base_, bytes + 2 * kGuardBytes), "allocating device memory");
  driver.check(driver->cuMemsetD8Async(base_, kGuardPattern, bytes + 2 * kGuardBytes, nullptr),
               "cuMemsetD8");
  waitForCopies(driver);
}

Buffer::~Buffer() {
  if (base_)
    (*driver_)->cuMemFree(base_);
}

Buffer::Buffer(Buffer &&other) noexcept
    : driver_(other.driver_), bytes_(other.bytes_), base_(std::exchange(other.base_, 0)) {}

void Buffer::upload(const void *source) {
  driver_->check((*driver_)->cuMemcpyHtoDAsync(data(), source, bytes_, nullptr),
                 "copying to the device");
  waitForCopies(*driver_);
}

void Buffer::download(void *target) const {
  driver_->check((*driver_)->cuMemcpyDtoHAsync(target, data(), bytes_, nullptr),
                 "copying from the device");
  waitForCopies(*driver_);
}

void Buffer::poison() {
  driver_->check((*driver_)->cuMemsetD8Async(data(), 0xff, bytes_, nullptr), "cuMemsetD8");
  waitForCopies(*driver_);
}

bool Buffer::guardsIntact() const {
  std::vector<unsigned char> guard(kGuardBytes);
  for (CUdeviceptr start : {base_, data() + bytes_}) {
    driver_->check((*driver_)->cuMemcpyDtoHAsync(guard.data(), start, kGuardBytes, nullptr),
                   "reading a guard band");
    waitForCopies(*driver_);
    if (std::any_of(guard.begin(), guard.end(), [](unsigned char c) { return c != kGuardPattern; }))
      return false;
  }
  return true;
}

// --- Gpu ---

Gpu::Gpu() : driver_(openDriver()) {
  const Driver &d = *driver_;
  d.check(d->cuInit(0), "cuInit");
  d.check(d->cuDeviceGet(&device_, 0), "opening the first GPU");
  d.check(d->cuDevicePrimaryCtxRetain(&context_, device_), "creating a context");
  d.check(d->cuCtxPushCurrent(context_), "cuCtxPushCurrent");
  d.check(d->cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  d.check(d->cuDeviceGetAttribute(&major_, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device_),
          "cuDeviceGetAttribute");
  d.check(
      d->cuDeviceGetAttribute(&multiprocessors_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_),
      "cuDeviceGetAttribute");
}

Gpu::~Gpu() {
  for (CUmodule module : modules_)
    (*driver_)->cuModuleUnload(module);
  CUcontext popped = nullptr;
  (*driver_)->cuCtxPopCurrent(&popped);
  (*driver_)->cuDevicePrimaryCtxRelease(device_);
}

std::string Gpu::name() const {
  char name[256] = {};
  driver_->check((*driver_)->cuDeviceGetName(name, sizeof(name) - 1, device_), "cuDeviceGetName");
  return name;
}

CUfunction Gpu::load(const std::string &cubin, const std::string &kernel, int sharedBytes) {
  CUmodule module = nullptr;
  driver_->check((*driver_)->cuModuleLoadDataEx(&module, cubin.data(), 0, nullptr, nullptr),
                 "loading a cubin");
  modules_.push_back(module);
  CUfunction function = nullptr;
  driver_->check((*driver_)->cuModuleGetFunction(&function, module, kernel.c_str()),
                 "finding a kernel");
  if (sharedBytes > 0)
    driver_->check((*driver_)->cuFuncSetAttribute(
                       function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, sharedBytes),
                   "asking for shared memory");
  return function;
}

static CUtensorMapSwizzle swizzleOf(unsigned rowBytes) {
  return rowBytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : rowBytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                          : CU_TENSOR_MAP_SWIZZLE_32B;
}

CUtensorMap Gpu::encode(const BoxedTensor &tensor) const {
  CUtensorMap map;
  std::vector<cuuint64_t> byteStrides;
  for (uint64_t stride : tensor.strides)
    byteStrides.push_back(stride * tensor.elementBytes);
  const std::vector<cuuint32_t> steps(tensor.sizes.size(), 1);
  CUtensorMapSwizzle swizzle = swizzleOf(tensor.box[0] * tensor.elementBytes);
  CUtensorMapDataType type =
      tensor.elementBytes == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_UINT16;
  driver_->check((*driver_)->cuTensorMapEncodeTiled(
                     &map, type, cuuint32_t(tensor.sizes.size()),
                     reinterpret_cast<void *>(tensor.data), tensor.sizes.data(), byteStrides.data(),
                     tensor.box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                     CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                 "encoding a tensor map");
  return map;
}

CUtensorMap Gpu::encode(const WindowedImages &of) const {
  CUtensorMap map;
  const cuuint64_t sizes[] = {of.channels, of.columns, of.rows, of.images};
  cuuint64_t row = of.rowStride * of.elementBytes;
  const cuuint64_t byteStrides[] = {of.pixelStride * of.elementBytes, row, row * of.rows};
  const cuuint32_t steps[] = {1, of.strides[0], of.strides[1], 1};
  CUtensorMapDataType type =
      of.elementBytes == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_UINT16;
  driver_->check((*driver_)->cuTensorMapEncodeIm2col(
                     &map, type, 4, reinterpret_cast<void *>(of.data), sizes, byteStrides, of.lower,
                     of.upper, of.stepChannels, of.stepPixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                     swizzleOf(of.stepChannels * of.elementBytes),
                     CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                 "encoding a map of windows");
  return map;
}

void Gpu::enqueue(const Launch &launch, bool programmatic) {
  CUlaunchAttribute attributes[2] = {};
  CUlaunchConfig config = {};
  config.gridDimX = launch.grid[0];
  config.gridDimY = launch.grid[1];
  config.gridDimZ = launch.grid[2];
  config.blockDimX = launch.threads;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = launch.sharedBytes;
  config.hStream = stream_;
  config.attrs = attributes;
  if (launch.clusterY > 1) {
    CUlaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {1, launch.clusterY, 1};
  }
  if (programmatic) {
    CUlaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
  std::vector<void *> arguments;
  for (size_t offset : launch.offsets)
    arguments.push_back(const_cast<char *>(launch.parameters.data()) + offset);
  driver_->check((*driver_)->cuLaunchKernelEx(&config, launch.function, arguments.data(), nullptr),
                 "launching a kernel");
}

void Gpu::run(const Launch &launch) {
  enqueue(launch, false);
  driver_->check((*driver_)->cuStreamSynchronize(stream_), "running a kernel");
}

double Gpu::timeChain(const std::vector<Launch> &launches, bool programmatic, double loadSeconds) {
  const Driver &d = *driver_;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  StreamCapture capture = streamCapture();
  d.check(capture.begin(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "capturing");
  for (const Launch &launch : launches)
    enqueue(launch, programmatic);
  d.check(capture.end(stream_, &graph), "capturing");
  d.check(d->cuGraphInstantiateWithFlags(&executable, graph, 0), "instantiating a graph");
  CUevent start = nullptr, stop = nullptr;
  d.check(d->cuEventCreate(&start, CU_EVENT_DEFAULT), "cuEventCreate");
  d.check(d->cuEventCreate(&stop, CU_EVENT_DEFAULT), "cuEventCreate");

  auto replay = [&](int count) {
    float milliseconds = 0;
    d.check(d->cuEventRecord(start, stream_), "cuEventRecord");
    for (int i = 0; i < count; ++i)
      d.check(d->cuGraphLaunch(executable, stream_), "launching a graph");
    d.check(d->cuEventRecord(stop, stream_), "cuEventRecord");
    d.check(d->cuEventSynchronize(stop), "timing a graph");
    d.check(d->cuEventElapsedTime(&milliseconds, start, stop), "cuEventElapsedTime");
    return double(milliseconds) * 1e3 / count;
  };
  double estimate = (replay(2), replay(2)); // warm, then a first reading
  int count = std::clamp(int(1500 / estimate), 1, 20);
  for (double microseconds = 0; microseconds < loadSeconds * 1e6;)
    microseconds += replay(count) * count;
  std::vector<double> samples;
  for (int i = 0; i < 9; ++i)
    samples.push_back(replay(count));
  std::nth_element(samples.begin(), samples.begin() + 4, samples.end());

  d->cuEventDestroy(start);
  d->cuEventDestroy(stop);
  d->cuGraphExecDestroy(executable);
  d->cuGraphDestroy(graph);
  return samples[4] / double(launches.size());
}

} // namespace smelt::kernel_tests
