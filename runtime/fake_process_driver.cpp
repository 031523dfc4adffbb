#include "runtime/fake_process_driver.h"

#include "runtime/idle_kernels.h"
#include "runtime/text.h"

namespace smelt::runtime {

FakeProcessDriver::FakeProcessDriver(FakeDevice device) : device(device) {
  std::shared_ptr<DriverApi> table = driverOfAnyPlan(this->device);
  replayOutputs(*table);
  api = std::move(table);
}

/// What a launch is followed by on its thread, copies to the host, are outputs.
void FakeProcessDriver::replayOutputs(DriverApi &table) {
  table.cuGraphLaunch = [this, real = table.cuGraphLaunch](CUgraphExec exec, CUstream stream) {
    {
      std::lock_guard lock(mutex);
      recordings.beginRun();
      complaint = nullptr;
    }
    return real(exec, stream);
  };
  table.cuMemcpyDtoHAsync = [this, real = table.cuMemcpyDtoHAsync](void *target, CUdeviceptr source,
                                                                   size_t bytes, CUstream stream) {
    CUresult copied = real(target, source, bytes, stream);
    return copied != CUDA_SUCCESS ? copied : overwrite(target, bytes, 1, bytes);
  };
  table.cuMemcpy2DAsync = [this, real = table.cuMemcpy2DAsync](const CUDA_MEMCPY2D *copy,
                                                               CUstream stream) {
    CUresult copied = real(copy, stream);
    if (copied != CUDA_SUCCESS || copy->dstMemoryType != CU_MEMORYTYPE_HOST)
      return copied;
    return overwrite(copy->dstHost, copy->WidthInBytes, copy->Height, copy->dstPitch);
  };
  table.cuGetErrorString = [this, real = table.cuGetErrorString](CUresult result,
                                                                 const char **text) {
    std::lock_guard lock(mutex);
    if (result != CUDA_ERROR_INVALID_VALUE || complaint == nullptr)
      return real(result, text);
    return *text = complaint->c_str(), CUDA_SUCCESS;
  };
}

CUresult FakeProcessDriver::overwrite(void *target, size_t rowBytes, size_t rows, size_t pitch) {
  std::lock_guard lock(mutex);
  const RecordedOutput *output = recordings.next();
  if (output == nullptr || !output->bytes)
    return CUDA_SUCCESS;
  if (output->bytes->size() != rowBytes * rows) {
    complaint = &complaints.emplace_back(joinText("the recorded output '", output->name, "' has ",
                                                  output->bytes->size(), " bytes, the run's ",
                                                  rowBytes * rows));
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t row = 0; row < rows; ++row)
    std::memcpy(static_cast<std::byte *>(target) + row * pitch,
                output->bytes->data() + row * rowBytes, rowBytes);
  return CUDA_SUCCESS;
}

} // namespace smelt::runtime
