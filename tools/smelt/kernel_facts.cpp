#include "tools/smelt/kernel_facts.h"

#include "runtime/text.h"
#include "runtime/verify_cubin.h"
#include "tools/smelt/report.h"

#include <algorithm>
#include <utility>

namespace smelt::tools {

namespace {

// How all architectures from 8.0 on hand out what a multiprocessor has.
constexpr uint32_t kWarpThreads = 32;
constexpr uint32_t kRegistersOfWarp = 256; ///< a warp gets a multiple
constexpr uint32_t kWarpsAtOnce = 4;       ///< one for each quarter of a multiprocessor
constexpr uint32_t kReservedShared = 1024; ///< by the system, of every block
constexpr int kCountsReserved = 90;        ///< capability from which a cubin counts it too

uint32_t roundUp(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

/// Blocks that a multiprocessor's registers suffice for.
uint32_t blocksByRegisters(const codegen::Target &target, uint32_t registers, uint32_t warps) {
  uint32_t ofWarp = roundUp(registers * kWarpThreads, kRegistersOfWarp);
  uint32_t all = static_cast<uint32_t>(target.limits.registersPerMultiprocessor) / ofWarp;
  return all / kWarpsAtOnce * kWarpsAtOnce / roundUp(warps, kWarpsAtOnce);
}

void addOccupancy(KernelFacts &facts, const codegen::Target &target, uint32_t threads) {
  uint32_t warps = roundUp(threads, kWarpThreads) / kWarpThreads;
  auto limit = [](int number) { return static_cast<uint32_t>(number); };
  const std::pair<uint32_t, const char *> limits[] = {
      {limit(target.limits.threadsPerMultiprocessor) / (warps * kWarpThreads), "threads"},
      {blocksByRegisters(target, facts.registers, warps), "registers"},
      {limit(target.limits.sharedBytesPerMultiprocessor) / (facts.sharedBytes + kReservedShared),
       "shared memory"},
      {limit(target.limits.blocksPerMultiprocessor), "blocks"}};
  const auto &least = *std::min_element(
      std::begin(limits), std::end(limits),
      [](const auto &left, const auto &right) { return left.first < right.first; });
  facts.blocks = least.first;
  facts.limitedBy = least.second;
  facts.occupancy =
      static_cast<double>(facts.blocks) * threads / target.limits.threadsPerMultiprocessor;
}

} // namespace

std::optional<KernelFacts> factsOf(const runtime::Plan &plan, const plan::ProgramT &program,
                                   const plan::LaunchT &launch) {
  const plan::KernelNodeT *node = launch.node.AsKernelNode();
  mlir::FailureOr<codegen::Target> target = codegen::Target::named(program.arch);
  if (!node || mlir::failed(target) || codegen::Target::isPtx(program.arch))
    return std::nullopt;
  const plan::KernelT &kernel = *program.kernels[node->kernel];
  auto resources =
      runtime::resourcesOf(plan.code(*program.modules[kernel.module_index]), kernel.entry);
  if (!resources)
    return std::nullopt;
  uint32_t reserved = target->capability >= kCountsReserved ? kReservedShared : 0;
  KernelFacts facts{resources->registers, resources->localBytes, 0, 0, 0, ""};
  facts.sharedBytes = resources->sharedBytes - std::min(resources->sharedBytes, reserved);
  facts.sharedBytes += node->shared_bytes;
  addOccupancy(facts, *target, node->block.x() * node->block.y() * node->block.z());
  return facts;
}

std::string factsText(const KernelFacts &facts) {
  return joinText(
      facts.registers, " registers, ", bytesText(facts.sharedBytes), " of shared memory, ",
      facts.localBytes > 0 ? bytesText(facts.localBytes) + " of local memory a thread, " : "",
      facts.blocks, facts.blocks == 1 ? " block" : " blocks", " on a multiprocessor (",
      numberText(100 * facts.occupancy, 0), " % of its threads, limited by ", facts.limitedBy, ")");
}

llvm::json::Object factsJson(const KernelFacts &facts) {
  return llvm::json::Object{{"registers", static_cast<int64_t>(facts.registers)},
                            {"local_bytes", static_cast<int64_t>(facts.localBytes)},
                            {"shared_bytes", static_cast<int64_t>(facts.sharedBytes)},
                            {"blocks_per_multiprocessor", static_cast<int64_t>(facts.blocks)},
                            {"occupancy", facts.occupancy},
                            {"limited_by", facts.limitedBy}};
}

} // namespace smelt::tools
