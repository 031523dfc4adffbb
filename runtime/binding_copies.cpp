#include "runtime/binding_copies.h"

#include "runtime/text.h"

namespace smelt::runtime {

UsedPorts usedPorts(const plan::MetadataT &metadata, const plan::ProgramT &program) {
  UsedPorts used{std::vector<bool>(metadata.inputs.size()),
                 std::vector<bool>(metadata.outputs.size())};
  for (const auto &buffer : program.buffers) {
    if (buffer->kind == plan::BufferKind::input)
      used.inputs[buffer->index] = true;
    if (buffer->kind == plan::BufferKind::output)
      used.outputs[buffer->index] = true;
  }
  return used;
}

namespace {

/// One end of a copy between the caller's memory and where kernels find a tensor.
struct End {
  bool isHost;
  void *data;
  uint64_t pitch;

  CUdeviceptr device() const { return reinterpret_cast<CUdeviceptr>(data); }
};

std::string copyText(const char *doing, const Slot &slot) {
  return joinText(doing, " '", slot.tensor->name, "'");
}

Status copyRows(const DriverApi &api, const char *doing, const Slot &slot, const End &from,
                const End &to, CUstream stream) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = from.isHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.srcHost = from.data;
  copy.srcDevice = from.device();
  copy.srcPitch = from.pitch;
  copy.dstMemoryType = to.isHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstHost = to.data;
  copy.dstDevice = to.device();
  copy.dstPitch = to.pitch;
  copy.WidthInBytes = slot.layout.rowBytes;
  copy.Height = slot.layout.rows;
  SMELT_RETURN_IF_CUDA_ERROR(api, copyText(doing, slot), cuMemcpy2DAsync, &copy, stream);
  return {};
}

Status copyTensor(const DriverApi &api, const char *doing, const Slot &slot, const End &from,
                  const End &to, CUstream stream) {
  const TensorLayout &layout = slot.layout;
  uint64_t bytes = layout.rows * layout.rowBytes;
  if (bytes == 0 || (!from.isHost && !to.isHost && from.data == to.data))
    return {};
  bool isDense = from.pitch == layout.rowBytes && to.pitch == layout.rowBytes;
  if (!isDense && layout.rows > 1)
    return copyRows(api, doing, slot, from, to, stream);
  if (from.isHost)
    SMELT_RETURN_IF_CUDA_ERROR(api, copyText(doing, slot), cuMemcpyHtoDAsync, to.device(),
                               from.data, bytes, stream);
  else if (to.isHost)
    SMELT_RETURN_IF_CUDA_ERROR(api, copyText(doing, slot), cuMemcpyDtoHAsync, to.data,
                               from.device(), bytes, stream);
  else
    SMELT_RETURN_IF_CUDA_ERROR(api, copyText(doing, slot), cuMemcpyDtoDAsync, to.device(),
                               from.device(), bytes, stream);
  return {};
}

} // namespace

Status copyInputs(const DriverApi &api, const Bindings &bindings, uint64_t workspace,
                  CUstream stream) {
  for (const Slot &slot : bindings.allInputs()) {
    bool isHost = slot.binding.location == Location::kHost;
    if (!slot.isUsed || (!isHost && !slot.sharesOutput))
      continue;
    uint64_t pitch = slot.sharesOutput ? slot.partner->layout.pitch : slot.layout.pitch;
    End target = {false, reinterpret_cast<void *>(bindings.addressOf(slot, workspace)), pitch};
    SMELT_RETURN_IF_ERROR(copyTensor(api, "copying input", slot,
                                     {isHost, slot.binding.data, slot.layout.pitch}, target,
                                     stream));
  }
  return {};
}

Status copyOutputs(const DriverApi &api, const Bindings &bindings, uint64_t workspace,
                   CUstream stream) {
  for (const Slot &slot : bindings.allOutputs()) {
    if (!slot.isUsed || slot.binding.location != Location::kHost)
      continue;
    End source = {false, reinterpret_cast<void *>(bindings.addressOf(slot, workspace)),
                  slot.layout.pitch};
    SMELT_RETURN_IF_ERROR(copyTensor(api, "copying output", slot, source,
                                     {true, slot.binding.data, slot.layout.pitch}, stream));
  }
  return {};
}

} // namespace smelt::runtime
