// Arena slots of the buffers of a plan.
//
// Buffers that never live at the same time share a slot of the arena; a slot is as large as its
// largest buffer, and sizes are symbolic, so the assignment holds for every shape. Steps overlap
// (parallel branches of the graph, programmatic launches), so lifetimes are not intervals of the
// list: a buffer takes over a slot only where every step that touched the slot's last buffer is
// ordered before it already. Memory is cheaper than an edge that would make one branch wait for
// another, so no order is added for the sake of a slot.
#pragma once

#include "codegen/step_order.h"
#include "ir/dim.h"

#include <vector>

namespace smelt::codegen {

struct MemoryPlan {
  /// Slot of each buffer; kPinned for those that do not live in the arena.
  static constexpr unsigned kPinned = ~0u;
  std::vector<unsigned> slots;
  unsigned slotCount = 0;
  std::vector<std::vector<unsigned>> dependsOn; ///< what orderSteps says of the steps
};

/// `bufferBytes[b]` is the size of buffer b; empty for a buffer outside the arena (the caller's
/// memory, a weight), which is ordered but shares memory with none. Steps are in an order in which
/// they may run one by one.
MemoryPlan planMemory(llvm::ArrayRef<StepAccess> steps, llvm::ArrayRef<Dim> bufferBytes);

} // namespace smelt::codegen
