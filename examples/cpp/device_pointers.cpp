// Runs a plan on device memory and the caller's stream, in C++17 and the CUDA runtime: first run by
// run, then captured into a CUDA graph of the application.
//
//   device_pointers model.plan [extent]     extent (8 by default) stands for dimensions left open

#include <cuda_runtime_api.h>
#include <smelt.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>

namespace {

void check(cudaError_t result) {
  if (result != cudaSuccess)
    throw std::runtime_error(cudaGetErrorString(result));
}

using DeviceBytes = std::unique_ptr<void, cudaError_t (*)(void *)>;

DeviceBytes allocate(std::size_t bytes) {
  void *memory = nullptr;
  check(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)));
  DeviceBytes owned(memory, cudaFree);
  check(cudaMemset(memory, 0, bytes));
  return owned;
}

std::size_t countOf(const smelt::Shape &shape) {
  std::size_t count = 1;
  for (std::int64_t extent : shape)
    count *= static_cast<std::size_t>(extent);
  return count;
}

/// Runs what was captured, twice.
void launchCaptured(cudaGraph_t captured, cudaStream_t stream) {
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, captured, 0));
  check(cudaGraphLaunch(executable, stream));
  check(cudaGraphLaunch(executable, stream));
  check(cudaStreamSynchronize(stream));
  check(cudaGraphExecDestroy(executable));
  check(cudaGraphDestroy(captured));
}

void run(const std::string &path, std::int64_t extent) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  smelt::Engine engine(path);
  smelt::Context context(engine);
  std::vector<DeviceBytes> tensors;
  auto makeTensor = [&](smelt_element_type type, const smelt::Shape &shape) {
    tensors.push_back(allocate(countOf(shape) * smelt_element_bytes(type)));
    return smelt::device(type, tensors.back().get(), countOf(shape));
  };
  for (const smelt::TensorInfo &info : engine.inputs()) {
    smelt::Shape shape = info.shape;
    std::replace(shape.begin(), shape.end(), std::int64_t(-1), extent);
    context.setInputShape(info.name, shape);
    context.bindInput(info.name, makeTensor(info.elementType, shape));
  }
  for (const smelt::TensorInfo &info : engine.outputs())
    context.bindOutput(info.name, makeTensor(info.elementType, context.outputShape(info.name)));

  DeviceBytes workspace = allocate(context.workspaceBytes());
  context.setWorkspace(workspace.get(), context.workspaceBytes());
  context.prepare();
  for (int i = 0; i < 10; ++i)
    context.enqueue(stream);
  check(cudaStreamSynchronize(stream));

  cudaGraph_t captured = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  context.enqueue(stream);
  check(cudaStreamEndCapture(stream, &captured));
  launchCaptured(captured, stream);
  check(cudaStreamDestroy(stream));
  std::cout << engine.modelName() << " ran on " << engine.deviceName() << "\n";
}

} // namespace

int main(int argumentCount, char **arguments) {
  if (argumentCount < 2) {
    std::cerr << "usage: device_pointers model.plan [extent]\n";
    return SMELT_USAGE;
  }
  try {
    run(arguments[1], argumentCount > 2 ? std::atol(arguments[2]) : 8);
  } catch (const smelt::Error &error) {
    std::cerr << "device_pointers: " << error.what() << "\n";
    return error.code();
  } catch (const std::exception &error) {
    std::cerr << "device_pointers: " << error.what() << "\n";
    return SMELT_RUN_FAILED;
  }
  return 0;
}
