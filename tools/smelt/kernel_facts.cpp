#include "tools/smelt/kernel_facts.h"

#include "runtime/text.h"
#include "runtime/verify_cubin.h"
#include "tools/smelt/report.h"

#include <algorithm>

namespace smelt::tools {

static constexpr uint32_t kReservedShared = 1024; // by the system, of every block
static constexpr int kCountsReserved = 90;        // capability from which a cubin counts it too

std::optional<KernelFacts> factsOf(std::span<const std::byte> code, const std::string &entry,
                                   const codegen::Target &target, uint32_t threads,
                                   uint32_t dynamicSharedBytes) {
  if (codegen::Target::isPtx(target.arch))
    return std::nullopt;
  auto resources = runtime::resourcesOf(code, entry);
  if (!resources)
    return std::nullopt;
  uint32_t reserved = target.capability >= kCountsReserved ? kReservedShared : 0;
  uint32_t fixed = resources->sharedBytes - std::min(resources->sharedBytes, reserved);
  codegen::BlockNeeds needs{threads, resources->registers, fixed, dynamicSharedBytes};
  return KernelFacts{resources->localBytes, needs, codegen::occupancyOf(needs, target)};
}

std::optional<KernelFacts> factsOf(const runtime::Plan &plan, const plan::ProgramT &program,
                                   const plan::LaunchT &launch) {
  const plan::KernelNodeT *node = launch.node.AsKernelNode();
  mlir::FailureOr<codegen::Target> target = codegen::Target::named(program.arch);
  if (!node || mlir::failed(target))
    return std::nullopt;
  const plan::KernelT &kernel = *program.kernels[node->kernel];
  return factsOf(plan.code(*program.modules[kernel.module_index]), kernel.entry, *target,
                 node->block.x() * node->block.y() * node->block.z(), node->shared_bytes);
}

std::string factsText(const KernelFacts &facts) {
  uint32_t blocks = facts.occupancy.blocks;
  return joinText(
      facts.needs.registers, " registers, ", bytesText(facts.sharedBytes()), " of shared memory, ",
      facts.localBytes > 0 ? bytesText(facts.localBytes) + " of local memory a thread, " : "",
      blocks, blocks == 1 ? " block" : " blocks", " on a multiprocessor (",
      numberText(100 * facts.occupancy.threads, 0), " % of its threads, limited by ",
      facts.occupancy.limitedBy, ")");
}

llvm::json::Object factsJson(const KernelFacts &facts) {
  return llvm::json::Object{
      {"registers", static_cast<int64_t>(facts.needs.registers)},
      {"local_bytes", static_cast<int64_t>(facts.localBytes)},
      {"shared_bytes", static_cast<int64_t>(facts.sharedBytes())},
      {"static_shared_bytes", static_cast<int64_t>(facts.needs.staticSharedBytes)},
      {"blocks_per_multiprocessor", static_cast<int64_t>(facts.occupancy.blocks)},
      {"occupancy", facts.occupancy.threads},
      {"limited_by", facts.occupancy.limitedBy}};
}

} // namespace smelt::tools
