// The entries of the fake driver's table, by theme.

#include "runtime/fake_driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <span>

namespace smelt::runtime {

namespace {

/// Handles of the fake are the addresses of its objects.
template <typename Handle, typename Object>
CUresult keep(std::map<Handle, std::unique_ptr<Object>> &objects, std::unique_ptr<Object> object,
              Handle *handle) {
  *handle = reinterpret_cast<Handle>(object.get());
  objects.emplace(*handle, std::move(object));
  return CUDA_SUCCESS;
}

template <typename Handle, typename Object>
CUresult drop(std::map<Handle, std::unique_ptr<Object>> &objects, Handle handle) {
  return objects.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

} // namespace

template <typename Body> auto FakeDriver::traced(const char *function, Body body, Context context) {
  return [this, function, body, context](auto... arguments) -> CUresult {
    std::lock_guard lock(mutex);
    if (CUresult result = enter(function); result != CUDA_SUCCESS)
      return result;
    disturbCaptures(function);
    if (context == Context::kNeeded) {
      const auto &stack = contextStacks[std::this_thread::get_id()];
      if (stack.empty())
        return CUDA_ERROR_INVALID_CONTEXT;
      used.insert(stack.back());
    }
    return body(arguments...);
  };
}

template <typename Body> auto FakeDriver::releasing(const char *function, Body body) {
  return [this, function, body](auto... arguments) -> CUresult {
    std::lock_guard lock(mutex);
    disturbCaptures(function);
    CUresult released = body(arguments...);
    CUresult injected = enter(function);
    return injected != CUDA_SUCCESS ? injected : released;
  };
}

Driver FakeDriver::driver() {
  auto api = std::make_shared<DriverApi>();
  fillDevices(*api);
  fillContexts(*api);
  fillMemory(*api);
  fillCopies(*api);
  fillTensorMaps(*api);
  fillModules(*api);
  fillStreams(*api);
  fillEvents(*api);
  fillGraphs(*api);
  fillGraphNodes(*api);
  return api;
}

void FakeDriver::fillDevices(DriverApi &api) {
  auto free = Context::kNotNeeded;
  api.cuInit = traced("cuInit", [](unsigned) { return CUDA_SUCCESS; }, free);
  api.cuDeviceGetCount =
      traced("cuDeviceGetCount", [](int *count) { return *count = 1, CUDA_SUCCESS; }, free);
  api.cuDeviceGet = traced(
      "cuDeviceGet",
      [](CUdevice *handle, int ordinal) {
        *handle = ordinal;
        return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
      },
      free);
  api.cuDeviceGetName = traced(
      "cuDeviceGetName",
      [](char *name, int length, CUdevice) {
        std::strncpy(name, "Fake GPU", static_cast<size_t>(length));
        return CUDA_SUCCESS;
      },
      free);
  api.cuDeviceGetAttribute = traced(
      "cuDeviceGetAttribute",
      [this](int *value, CUdevice_attribute attribute, CUdevice) {
        switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
          return *value = device.computeCapability / 10, CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
          return *value = device.computeCapability % 10, CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
          return *value = 227 * 1024, CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
          return *value = 228 * 1024, CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
          return *value = 1024, CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
          return *value = 50 * 1024 * 1024, CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: // in kHz
          return *value = 1'830'000, CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
          return *value = 132, CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: // in kHz
          return *value = 3'125'000, CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: // in bits
          return *value = 6144, CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
        case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
          return *value = 0, CUDA_SUCCESS;
        default:
          return CUDA_ERROR_INVALID_VALUE;
        }
      },
      free);
}

void FakeDriver::fillContexts(DriverApi &api) {
  auto free = Context::kNotNeeded;
  api.cuDevicePrimaryCtxRetain = traced(
      "cuDevicePrimaryCtxRetain",
      [this](CUcontext *context, CUdevice) {
        *context = reinterpret_cast<CUcontext>(&primaryContext);
        return ++retained, CUDA_SUCCESS;
      },
      free);
  api.cuDevicePrimaryCtxRelease =
      releasing("cuDevicePrimaryCtxRelease", [this](CUdevice) { return --retained, CUDA_SUCCESS; });
  api.cuCtxGetCurrent = traced(
      "cuCtxGetCurrent",
      [this](CUcontext *context) {
        const auto &stack = contextStacks[std::this_thread::get_id()];
        return *context = stack.empty() ? nullptr : stack.back(), CUDA_SUCCESS;
      },
      free);
  api.cuCtxPushCurrent = traced(
      "cuCtxPushCurrent",
      [this](CUcontext context) {
        if (!isContext(context))
          return CUDA_ERROR_INVALID_CONTEXT;
        return contextStacks[std::this_thread::get_id()].push_back(context), CUDA_SUCCESS;
      },
      free);
  api.cuCtxGetDevice =
      traced("cuCtxGetDevice", [](CUdevice *handle) { return *handle = 0, CUDA_SUCCESS; });
  api.cuCtxPopCurrent = releasing("cuCtxPopCurrent", [this](CUcontext *context) {
    auto &stack = contextStacks[std::this_thread::get_id()];
    if (stack.empty())
      return CUDA_ERROR_INVALID_CONTEXT;
    *context = stack.back();
    return stack.pop_back(), CUDA_SUCCESS;
  });
  api.cuThreadExchangeStreamCaptureMode = traced(
      "cuThreadExchangeStreamCaptureMode",
      [this](CUstreamCaptureMode *mode) {
        std::swap(*mode, captureModes[std::this_thread::get_id()]);
        return CUDA_SUCCESS;
      },
      free);
  // What is only asked after a failure is neither recorded nor made to fail.
  api.cuGetErrorName = [](CUresult result, const char **name) {
    *name = result == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR";
    return CUDA_SUCCESS;
  };
  api.cuGetErrorString = [](CUresult result, const char **text) {
    *text = result == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "fake failure";
    return CUDA_SUCCESS;
  };
}

void FakeDriver::fillMemory(DriverApi &api) {
  api.cuMemAlloc = traced("cuMemAlloc", [this](CUdeviceptr *address, size_t bytes) {
    return allocate(address, bytes);
  });
  api.cuMemFree =
      releasing("cuMemFree", [this](CUdeviceptr address) { return this->free(address); });
  api.cuMemHostAlloc = traced("cuMemHostAlloc", [this](void **address, size_t bytes, unsigned) {
    auto room = std::make_unique<std::byte[]>(bytes);
    *address = room.get();
    hostMemory.emplace(*address, std::move(room));
    return CUDA_SUCCESS;
  });
  api.cuMemFreeHost = releasing("cuMemFreeHost", [this](void *address) {
    return hostMemory.erase(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
  api.cuMemGetInfo = traced("cuMemGetInfo", [this](size_t *available, size_t *total) {
    *available = device.memoryBytes - allocatedBytes;
    *total = device.memoryBytes;
    return CUDA_SUCCESS;
  });
}

void FakeDriver::fillCopies(DriverApi &api) {
  auto toDevice = [this](CUdeviceptr target, const void *source, size_t bytes, CUstream stream) {
    if (!isMemory(target, bytes))
      return CUDA_ERROR_INVALID_VALUE;
    return copy(reinterpret_cast<void *>(target), source, bytes, stream);
  };
  api.cuMemcpyHtoDAsync = traced("cuMemcpyHtoDAsync", toDevice);
  api.cuMemcpyDtoHAsync = traced(
      "cuMemcpyDtoHAsync", [this](void *target, CUdeviceptr source, size_t bytes, CUstream stream) {
        if (!isMemory(source, bytes))
          return CUDA_ERROR_INVALID_VALUE;
        return copy(target, reinterpret_cast<const void *>(source), bytes, stream);
      });
  api.cuMemcpyDtoDAsync = traced("cuMemcpyDtoDAsync", [this](CUdeviceptr target, CUdeviceptr source,
                                                             size_t bytes, CUstream stream) {
    if (!isMemory(target, bytes) || !isMemory(source, bytes))
      return CUDA_ERROR_INVALID_VALUE;
    return copy(reinterpret_cast<void *>(target), reinterpret_cast<const void *>(source), bytes,
                stream);
  });
  api.cuMemsetD8Async = traced("cuMemsetD8Async", [this](CUdeviceptr target, unsigned char value,
                                                         size_t bytes, CUstream stream) {
    if (!isMemory(target, bytes))
      return CUDA_ERROR_INVALID_VALUE;
    return onStream([=] { std::memset(reinterpret_cast<void *>(target), value, bytes); }, stream);
  });
  api.cuMemcpy2DAsync = traced("cuMemcpy2DAsync", [this](const CUDA_MEMCPY2D *given,
                                                         CUstream stream) {
    CUDA_MEMCPY2D move = *given;
    if (move.Height == 0 || move.srcPitch < move.WidthInBytes || move.dstPitch < move.WidthInBytes)
      return CUDA_ERROR_INVALID_VALUE;
    auto reaches = [&](CUmemorytype type, CUdeviceptr start, size_t pitch) {
      return type == CU_MEMORYTYPE_HOST ||
             isMemory(start, (move.Height - 1) * pitch + move.WidthInBytes);
    };
    if (!reaches(move.srcMemoryType, move.srcDevice, move.srcPitch) ||
        !reaches(move.dstMemoryType, move.dstDevice, move.dstPitch))
      return CUDA_ERROR_INVALID_VALUE;
    return onStream(
        [move] {
          const auto *source =
              static_cast<const std::byte *>(move.srcMemoryType == CU_MEMORYTYPE_HOST
                                                 ? move.srcHost
                                                 : reinterpret_cast<const void *>(move.srcDevice));
          auto *target = static_cast<std::byte *>(move.dstMemoryType == CU_MEMORYTYPE_HOST
                                                      ? move.dstHost
                                                      : reinterpret_cast<void *>(move.dstDevice));
          for (size_t row = 0; row < move.Height; ++row)
            std::memcpy(target + row * move.dstPitch, source + row * move.srcPitch,
                        move.WidthInBytes);
        },
        stream);
  });
}

namespace {

/// What both kinds of tensor map have in common: refuses what the driver's documentation does, and writes
/// down what it was told: the address, the rank, the sizes and the strides.
bool takesTensor(std::span<uint64_t, 16> words, const CUtensorMap *map, cuuint32_t rank,
                 const void *address, const cuuint64_t *sizes, const cuuint64_t *strides,
                 const cuuint32_t *steps) {
  auto isMultiple = [](auto value, uint64_t of) {
    return reinterpret_cast<uintptr_t>(value) % of == 0;
  };
  if (rank < 1 || rank > 5 || !isMultiple(map, 64) || !isMultiple(address, 16))
    return false;
  words[0] = reinterpret_cast<uint64_t>(address), words[1] = rank;
  for (cuuint32_t axis = 0; axis < rank; ++axis) {
    if (sizes[axis] < 1 || sizes[axis] > uint64_t(1) << 32 || steps[axis] < 1 || steps[axis] > 8)
      return false;
    words[2 + axis] = sizes[axis];
  }
  for (cuuint32_t axis = 0; axis + 1 < rank; ++axis) {
    if (strides[axis] % 16 != 0 || strides[axis] >= uint64_t(1) << 40)
      return false;
    words[7 + axis] = strides[axis];
  }
  return true;
}

/// The corners of the pixels that a window's first tap meets, 16 bits each, in two words; false where the
/// driver refuses them, as it does corners with no pixel between them.
bool takesCorners(std::span<uint64_t, 2> words, cuuint32_t rank, const cuuint64_t *sizes,
                  const int *lower, const int *upper) {
  int reach = rank == 3 ? 1 << 15 : rank == 4 ? 1 << 7 : 1 << 4;
  for (cuuint32_t axis = 0; axis + 2 < rank; ++axis) {
    if (lower[axis] < -reach || lower[axis] >= reach || upper[axis] < -reach ||
        upper[axis] >= reach || int64_t(sizes[axis + 1]) + upper[axis] <= lower[axis])
      return false;
    words[0] |= uint64_t(uint16_t(lower[axis])) << 16 * axis;
    words[1] |= uint64_t(uint16_t(upper[axis])) << 16 * axis;
  }
  return true;
}

} // namespace

void FakeDriver::fillTensorMaps(DriverApi &api) {
  static_assert(sizeof(CUtensorMap) == 16 * sizeof(uint64_t));
  api.cuTensorMapEncodeTiled = traced(
      "cuTensorMapEncodeTiled",
      [](CUtensorMap *map, CUtensorMapDataType, cuuint32_t rank, void *address,
         const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
         const cuuint32_t *steps, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
         CUtensorMapFloatOOBfill) {
        uint64_t words[16] = {};
        if (!takesTensor(words, map, rank, address, sizes, strides, steps) ||
            !std::all_of(box, box + rank, [](cuuint32_t size) { return size - 1 < 256; }))
          return CUDA_ERROR_INVALID_VALUE;
        std::memcpy(map, words, sizeof(words));
        return CUDA_SUCCESS;
      },
      Context::kNotNeeded);
  // Beside that: the steps (a byte each), channels and pixels (32 bits each), and the corners.
  api.cuTensorMapEncodeIm2col = traced(
      "cuTensorMapEncodeIm2col",
      [](CUtensorMap *map, CUtensorMapDataType, cuuint32_t rank, void *address,
         const cuuint64_t *sizes, const cuuint64_t *strides, const int *lower, const int *upper,
         cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps, CUtensorMapInterleave,
         CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
        uint64_t words[16] = {};
        if (rank < 3 || !takesTensor(words, map, rank, address, sizes, strides, steps) ||
            channels < 1 || channels > 256 || pixels < 1 || pixels > 1024 ||
            !takesCorners(std::span(words).subspan<13, 2>(), rank, sizes, lower, upper))
          return CUDA_ERROR_INVALID_VALUE;
        for (cuuint32_t axis = 0; axis < rank; ++axis)
          words[11] |= uint64_t(steps[axis]) << 8 * axis;
        words[12] = uint64_t(pixels) << 32 | channels;
        std::memcpy(map, words, sizeof(words));
        return CUDA_SUCCESS;
      },
      Context::kNotNeeded);
}

namespace {

/// What the attributes of a launch say of clusters; zeros where nothing.
std::array<unsigned, 3> clusterOf(const CUlaunchConfig &config) {
  for (const CUlaunchAttribute &attribute : std::span(config.attrs, config.numAttrs))
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      return {attribute.value.clusterDim.x, attribute.value.clusterDim.y,
              attribute.value.clusterDim.z};
  return {};
}

bool isPtx(const char *code) { return std::strncmp(code, ELFMAG, SELFMAG) != 0; }

/// The number in PTX's directive `.target sm_80`; 0 where there is none.
int ptxTarget(const char *ptx) {
  constexpr std::string_view kDirective = ".target sm_";
  const char *target = std::strstr(ptx, kDirective.data());
  return target ? std::atoi(target + kDirective.size()) : 0;
}

/// Into the buffer that the options name, if they do.
void logError(std::string_view message, std::span<const CUjit_option> options, void **values) {
  char *buffer = nullptr;
  size_t room = 0;
  for (size_t i = 0; i < options.size(); ++i)
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      buffer = static_cast<char *>(values[i]);
    else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      room = reinterpret_cast<size_t>(values[i]);
  if (buffer && message.size() < room)
    buffer[message.copy(buffer, room - 1)] = '\0';
}

} // namespace

void FakeDriver::fillModules(DriverApi &api) {
  api.cuModuleLoadDataEx =
      traced("cuModuleLoadDataEx", [this](CUmodule *module, const void *image, unsigned count,
                                          CUjit_option *options, void **values) {
        if (image == nullptr)
          return CUDA_ERROR_INVALID_VALUE;
        auto *code = static_cast<const char *>(image);
        if (isPtx(code) && ptxTarget(code) > device.computeCapability)
          return logError("its target is too new", std::span(options, count), values),
                 CUDA_ERROR_INVALID_PTX;
        return keep(modules, std::make_unique<Module>(), module);
      });
  api.cuModuleUnload =
      releasing("cuModuleUnload", [this](CUmodule module) { return drop(modules, module); });
  api.cuModuleGetFunction = traced(
      "cuModuleGetFunction", [this](CUfunction *function, CUmodule module, const char *entry) {
        auto found = modules.find(module);
        if (found == modules.end() || !kernels.contains(entry))
          return CUDA_ERROR_NOT_FOUND;
        auto &held = found->second->functions[entry];
        if (!held)
          held = std::make_unique<Function>(Function{entry});
        *function = reinterpret_cast<CUfunction>(held.get());
        return CUDA_SUCCESS;
      });
  api.cuFuncSetAttribute = traced(
      "cuFuncSetAttribute", [](CUfunction function, CUfunction_attribute attribute, int value) {
        if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
          reinterpret_cast<Function *>(function)->maxSharedBytes = value;
        return CUDA_SUCCESS;
      });
  api.cuFuncGetParamInfo = traced("cuFuncGetParamInfo", [this](CUfunction function, size_t index,
                                                               size_t *offset, size_t *size) {
    const std::string &entry = reinterpret_cast<Function *>(function)->entry;
    const auto &bytes = kernels.at(entry).parameterBytes;
    if (index >= bytes.size())
      return CUDA_ERROR_INVALID_VALUE;
    *offset = 0;
    *size = bytes[index];
    return CUDA_SUCCESS;
  });
  api.cuLaunchKernelEx =
      traced("cuLaunchKernelEx",
             [this](const CUlaunchConfig *config, CUfunction function, void **parameters, void **) {
               FakeKernelCall call;
               call.grid = {config->gridDimX, config->gridDimY, config->gridDimZ};
               call.block = {config->blockDimX, config->blockDimY, config->blockDimZ};
               call.cluster = clusterOf(*config);
               call.sharedBytes = config->sharedMemBytes;
               CUresult result = fillCall(call, function, parameters);
               if (result == CUDA_SUCCESS)
                 runKernel(call);
               return result;
             });
}

void FakeDriver::fillStreams(DriverApi &api) {
  api.cuStreamCreate = traced("cuStreamCreate", [this](CUstream *stream, unsigned) {
    return keep(streams, std::make_unique<Stream>(), stream);
  });
  api.cuStreamDestroy =
      releasing("cuStreamDestroy", [this](CUstream stream) { return drop(streams, stream); });
  api.cuStreamSynchronize = traced("cuStreamSynchronize", [this](CUstream handle) {
    Stream *stream = streamOf(handle);
    if (stream == nullptr || !stream->capture)
      return joinHostFunctions(), CUDA_SUCCESS;
    stream->isBroken = true; // its capture, whatever the mode
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  });
  api.cuLaunchHostFunc =
      traced("cuLaunchHostFunc", [this](CUstream, CUhostFn function, void *data) {
        return hostFunctions.emplace_back(function, data), CUDA_SUCCESS;
      });
  api.cuStreamGetCaptureInfo = traced(
      "cuStreamGetCaptureInfo",
      [this](CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *, CUgraph *graph,
             const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *count) {
        Stream *stream = streamOf(handle);
        bool isCapturing = stream != nullptr && stream->capture != nullptr;
        *status = isCapturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
        if (!isCapturing || graph == nullptr)
          return CUDA_SUCCESS;
        *graph = reinterpret_cast<CUgraph>(stream->capture.get());
        *dependencies = stream->captureDependencies.data();
        *edges = nullptr;
        *count = stream->captureDependencies.size();
        return CUDA_SUCCESS;
      });
  api.cuStreamUpdateCaptureDependencies =
      traced("cuStreamUpdateCaptureDependencies", [this](CUstream handle, CUgraphNode *dependencies,
                                                         const CUgraphEdgeData *, size_t count,
                                                         unsigned flags) {
        Stream *stream = streamOf(handle);
        if (stream == nullptr || !stream->capture || flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES)
          return CUDA_ERROR_ILLEGAL_STATE;
        stream->captureDependencies.assign(dependencies, dependencies + count);
        return CUDA_SUCCESS;
      });
}

void FakeDriver::fillEvents(DriverApi &api) {
  api.cuEventCreate = traced("cuEventCreate", [this](CUevent *event, unsigned) {
    return keep(events, std::make_unique<Event>(), event);
  });
  api.cuEventDestroy =
      releasing("cuEventDestroy", [this](CUevent event) { return drop(events, event); });
  api.cuEventQuery = traced("cuEventQuery", [this](CUevent event) {
    return events.at(event)->isCaptured ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
  });
  api.cuEventRecord = traced("cuEventRecord", [this](CUevent event, CUstream handle) {
    Stream *stream = streamOf(handle);
    events.at(event)->recorded = std::chrono::steady_clock::now() + kernelTime;
    events.at(event)->isCaptured = stream != nullptr && stream->capture != nullptr;
    return CUDA_SUCCESS;
  });
  api.cuEventSynchronize = traced("cuEventSynchronize", [this](CUevent event) {
    if (events.at(event)->isCaptured)
      return CUDA_ERROR_CAPTURED_EVENT;
    return joinHostFunctions(), CUDA_SUCCESS;
  });
  api.cuEventElapsedTime =
      traced("cuEventElapsedTime", [this](float *milliseconds, CUevent start, CUevent end) {
        std::chrono::duration<float, std::milli> elapsed =
            events.at(end)->recorded - events.at(start)->recorded;
        return *milliseconds = elapsed.count(), CUDA_SUCCESS;
      });
}

void FakeDriver::fillGraphs(DriverApi &api) {
  api.cuGraphCreate = traced("cuGraphCreate", [this](CUgraph *graph, unsigned) {
    return keep(graphs, std::make_unique<FakeGraph>(), graph);
  });
  api.cuGraphDestroy =
      releasing("cuGraphDestroy", [this](CUgraph graph) { return drop(graphs, graph); });
  api.cuGraphInstantiateWithFlags = traced(
      "cuGraphInstantiateWithFlags", [this](CUgraphExec *exec, CUgraph graph, unsigned long long) {
        return instantiate(exec, *graphs.at(graph));
      });
  api.cuGraphExecDestroy =
      releasing("cuGraphExecDestroy", [this](CUgraphExec exec) { return drop(execs, exec); });
  api.cuGraphLaunch = traced("cuGraphLaunch", [this](CUgraphExec exec, CUstream handle) {
    Stream *stream = streamOf(handle);
    if (stream != nullptr && stream->capture)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return launch(*execs.at(exec)->graph), CUDA_SUCCESS;
  });
}

void FakeDriver::fillGraphNodes(DriverApi &api) {
  api.cuGraphAddNode =
      traced("cuGraphAddNode",
             [this](CUgraphNode *added, CUgraph graph, const CUgraphNode *from,
                    const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *parameters) {
               auto node = std::make_unique<FakeNode>();
               node->type = parameters->type;
               if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) {
                 CUDA_KERNEL_NODE_PARAMS kernel;
                 std::memcpy(&kernel, &parameters->kernel, sizeof(kernel));
                 if (CUresult result = fillCall(node->kernel, kernel); result != CUDA_SUCCESS)
                   return result;
               } else if ((node->type != CU_GRAPH_NODE_TYPE_MEMCPY &&
                           node->type != CU_GRAPH_NODE_TYPE_MEMSET) ||
                          !fillNode(*node, *parameters)) {
                 return CUDA_ERROR_INVALID_VALUE;
               }
               return addNode(*graphs.at(graph), std::move(node), from, edges, count, added);
             });
  api.cuGraphAddChildGraphNode = traced(
      "cuGraphAddChildGraphNode", [this](CUgraphNode *added, CUgraph graph, const CUgraphNode *from,
                                         size_t count, CUgraph child) {
        auto node = std::make_unique<FakeNode>();
        node->type = CU_GRAPH_NODE_TYPE_GRAPH;
        node->child = graphs.at(child)->clone();
        // The graph may be one that a stream is capturing, which the map does not hold.
        return addNode(*reinterpret_cast<FakeGraph *>(graph), std::move(node), from, nullptr, count,
                       added);
      });
  api.cuGraphKernelNodeSetAttribute =
      traced("cuGraphKernelNodeSetAttribute", [](CUgraphNode node, CUkernelNodeAttrID attribute,
                                                 const CUkernelNodeAttrValue *value) {
        if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
          reinterpret_cast<FakeNode *>(node)->kernel.cluster = {
              value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
        return CUDA_SUCCESS;
      });
  api.cuGraphKernelNodeSetParams =
      traced("cuGraphKernelNodeSetParams",
             [this](CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *parameters) {
               return fillCall(reinterpret_cast<FakeNode *>(node)->kernel, *parameters);
             });
  api.cuGraphNodeSetParams =
      traced("cuGraphNodeSetParams", [this](CUgraphNode node, CUgraphNodeParams *parameters) {
        return fillNode(*reinterpret_cast<FakeNode *>(node), *parameters)
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
      });
  api.cuGraphExecNodeSetParams =
      traced("cuGraphExecNodeSetParams", [this](CUgraphExec exec, CUgraphNode source,
                                                CUgraphNodeParams *parameters) {
        FakeNode *node = execNodeOf(exec, source);
        return node && fillNode(*node, *parameters) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
      });
  api.cuGraphExecKernelNodeSetParams =
      traced("cuGraphExecKernelNodeSetParams", [this](CUgraphExec exec, CUgraphNode source,
                                                      const CUDA_KERNEL_NODE_PARAMS *parameters) {
        FakeNode *node = execNodeOf(exec, source);
        return node ? fillCall(node->kernel, *parameters) : CUDA_ERROR_INVALID_VALUE;
      });
}

} // namespace smelt::runtime
