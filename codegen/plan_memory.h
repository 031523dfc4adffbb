// Arena slots and launch order of a plan.
//
// Buffers that never live at the same time share a slot of the arena; a slot is as large as its
// largest buffer, and sizes are symbolic, so the assignment holds for every shape. Launches overlap
// (parallel branches of the graph, programmatic launches), so lifetimes are not intervals of the
// launch list: a buffer may take over a slot only where every launch that touched the slot's last
// buffer is ordered before it. Those orders become dependencies.
#pragma once

#include "ir/dim.h"

#include <vector>

namespace smelt::codegen {

/// The buffers that one launch (or one group of launches that exclude each other) reads and writes.
/// A buffer is written by exactly one launch.
struct LaunchAccess {
  llvm::SmallVector<unsigned> reads;
  llvm::SmallVector<unsigned> writes;
};

struct MemoryPlan {
  /// Slot of each buffer; kPinned for those that do not live in the arena.
  static constexpr unsigned kPinned = ~0u;
  std::vector<unsigned> slots;
  unsigned slotCount = 0;
  /// For each launch, the earlier launches that must complete first; transitively reduced,
  /// ascending.
  std::vector<std::vector<unsigned>> dependsOn;
};

/// `bufferBytes[b]` is the size of buffer b; empty for a buffer outside the arena (a result of the
/// model), which is ordered but shares memory with none. Launches are in an order in which they may
/// run one by one.
MemoryPlan planMemory(llvm::ArrayRef<LaunchAccess> launches, llvm::ArrayRef<Dim> bufferBytes);

} // namespace smelt::codegen
