// Arena slots and the order between the steps of a plan.
//
// Steps are ordered by what they do to buffers: a reader follows the last writer, a writer follows
// the last writer and everyone who has read since. Buffers that never live at the same time share a
// slot of the arena; a slot is as large as its largest buffer, and sizes are symbolic, so the
// assignment holds for every shape. Steps overlap (parallel branches of the graph, programmatic
// launches), so lifetimes are not intervals of the list: a buffer takes over a slot only where every
// step that touched the slot's last buffer is ordered before it already. Memory is cheaper than an
// edge that would make one branch wait for another, so no order is added for the sake of a slot.
//
// Whether one step is ordered before another is answered by vector clocks: steps are threaded onto
// up to 64 lanes, each a chain of ordered steps, and every step knows how far along each lane the
// steps before it reach. What finds no lane counts as unordered, which costs memory in graphs wider
// than that and keeps the time linear: 50,000 steps take a fraction of a second.
#pragma once

#include "ir/dim.h"

#include <vector>

namespace smelt::codegen {

/// The buffers that one step reads and writes. A buffer may be written by several steps.
struct StepAccess {
  llvm::SmallVector<unsigned> reads;
  llvm::SmallVector<unsigned> writes;
};

struct MemoryPlan {
  /// Slot of each buffer; kPinned for those that do not live in the arena.
  static constexpr unsigned kPinned = ~0u;
  std::vector<unsigned> slots;
  unsigned slotCount = 0;
  /// For each step, the earlier steps that must complete first; transitively reduced, ascending.
  std::vector<std::vector<unsigned>> dependsOn;
};

/// `bufferBytes[b]` is the size of buffer b; empty for a buffer outside the arena (the caller's
/// memory, a weight), which is ordered but shares memory with none. Steps are in an order in which
/// they may run one by one.
MemoryPlan planMemory(llvm::ArrayRef<StepAccess> steps, llvm::ArrayRef<Dim> bufferBytes);

} // namespace smelt::codegen
