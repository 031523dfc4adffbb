#include "codegen/occupancy.h"

#include <cuda_occupancy.h>

#include <utility>

namespace smelt::codegen {

// What all architectures from 8.0 on have in common.
static constexpr int kWarpThreads = 32;
static constexpr int kMaxBlockThreads = 1024;
static constexpr size_t kDefaultSharedBytes = 48 << 10; // of a block that opts in to no more

static cudaOccDeviceProp propertiesOf(const Target &target) {
  const Target::Limits &limits = target.limits;
  cudaOccDeviceProp properties;
  properties.computeMajor = target.capability / 10;
  properties.computeMinor = target.capability % 10;
  properties.maxThreadsPerBlock = kMaxBlockThreads;
  properties.maxThreadsPerMultiprocessor = limits.threadsPerMultiprocessor;
  properties.regsPerBlock = limits.registersPerMultiprocessor;
  properties.regsPerMultiprocessor = limits.registersPerMultiprocessor;
  properties.warpSize = kWarpThreads;
  properties.sharedMemPerBlock = kDefaultSharedBytes;
  properties.sharedMemPerMultiprocessor = static_cast<size_t>(limits.sharedBytesPerMultiprocessor);
  properties.numSms = target.part.multiprocessors;
  properties.sharedMemPerBlockOptin = static_cast<size_t>(limits.sharedBytesPerBlock);
  properties.reservedSharedMemPerBlock = Target::kReservedSharedBytes;
  return properties;
}

static std::string limitsText(unsigned limitingFactors) {
  const std::pair<unsigned, const char *> factors[] = {{OCC_LIMIT_REGISTERS, "registers"},
                                                       {OCC_LIMIT_SHARED_MEMORY, "shared memory"},
                                                       {OCC_LIMIT_WARPS, "threads"},
                                                       {OCC_LIMIT_BLOCKS, "blocks"},
                                                       {OCC_LIMIT_BARRIERS, "barriers"}};
  std::string text;
  for (auto [factor, name] : factors)
    if (limitingFactors & factor)
      text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

Occupancy occupancyOf(const BlockNeeds &needs, const Target &target) {
  cudaOccDeviceProp properties = propertiesOf(target);
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = kMaxBlockThreads;
  attributes.numRegs = static_cast<int>(needs.registers);
  attributes.sharedSizeBytes = needs.staticSharedBytes;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = needs.dynamicSharedBytes;
  cudaOccDeviceState state;
  cudaOccResult result;
  bool fits = needs.threads > 0 && needs.threads <= kMaxBlockThreads &&
              cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state,
                                                      static_cast<int>(needs.threads),
                                                      needs.dynamicSharedBytes) == CUDA_OCC_SUCCESS;
  if (!fits)
    return {0, 0, "a block that the architecture does not take"};
  auto blocks = static_cast<uint32_t>(result.activeBlocksPerMultiprocessor);
  return {blocks,
          static_cast<double>(blocks) * needs.threads / target.limits.threadsPerMultiprocessor,
          limitsText(result.limitingFactors)};
}

} // namespace smelt::codegen
