#include "codegen/plan_memory.h"

#include "ir/dialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt::codegen {

namespace {

constexpr unsigned kNone = MemoryPlan::kPinned;
/// Free slots that are looked at for a buffer, the latest first.
constexpr unsigned kMaxCandidates = 16;

/// A buffer between its first and its last use.
struct BufferState {
  unsigned lastUse = 0;               ///< a step
  llvm::SmallVector<unsigned> latest; ///< users so far that no other user follows
};

class Planner {
public:
  Planner(llvm::ArrayRef<StepAccess> steps, llvm::ArrayRef<Dim> bufferBytes)
      : steps(steps), bytes(bufferBytes), buffers(bufferBytes.size()),
        ordered(orderSteps(steps, bufferBytes.size())) {
    plan.slots.assign(bufferBytes.size(), kNone);
  }

  MemoryPlan run() {
    for (auto [index, step] : llvm::enumerate(steps))
      for (unsigned buffer : llvm::concat<const unsigned>(step.reads, step.writes))
        buffers[buffer].lastUse = index;
    for (unsigned index = 0; index < steps.size(); ++index)
      visit(index);
    plan.dependsOn = std::move(ordered.dependsOn);
    return std::move(plan);
  }

private:
  void visit(unsigned index) {
    for (unsigned buffer : steps[index].writes)
      if (bytes[buffer] && plan.slots[buffer] == kNone)
        plan.slots[buffer] = takeSlot(buffer, index);
    leave(index);
  }

  /// Remembers who touched what, and frees the slots of buffers that are not used again.
  void leave(unsigned index) {
    for (unsigned buffer : llvm::concat<const unsigned>(steps[index].reads, steps[index].writes)) {
      if (!bytes[buffer])
        continue;
      BufferState &state = buffers[buffer];
      llvm::erase_if(state.latest, [&](unsigned user) {
        return user == index || ordered.order.isBefore(user, index);
      });
      state.latest.push_back(index);
      unsigned slot = plan.slots[buffer];
      if (state.lastUse == index && slot != kNone && !isFree[slot]) {
        isFree[slot] = true;
        freeSlots.push_back(slot);
        freeOfSize[bytes[largest[slot]].getAttribute()].push_back(slot);
      }
    }
  }

  bool isOrdered(unsigned slot, unsigned step) const {
    return llvm::all_of(buffers[occupants[slot]].latest,
                        [&](unsigned user) { return ordered.order.isBefore(user, step); });
  }

  /// The cheapest of the latest free slots in `candidates` that the step may take over; kNone where
  /// there is none. Forgets slots that were taken since.
  unsigned findSlot(std::vector<unsigned> &candidates, unsigned buffer, unsigned step) {
    unsigned best = kNone;
    int bestCost = 0;
    unsigned seen = 0;
    for (size_t index = candidates.size(); index-- > 0 && seen < kMaxCandidates;) {
      unsigned slot = candidates[index];
      if (!isFree[slot]) {
        candidates.erase(candidates.begin() + index);
        continue;
      }
      ++seen;
      Dim room = bytes[largest[slot]];
      bool fits = bytes[buffer].isKnownLessEqual(room);
      if ((!fits && !room.isKnownLessEqual(bytes[buffer])) || !isOrdered(slot, step))
        continue;
      int cost = (fits ? 0 : 1) + (bytes[buffer] == room ? 0 : 1);
      if (best == kNone || cost < bestCost)
        best = slot, bestCost = cost;
      if (bestCost == 0)
        break;
    }
    return best;
  }

  /// A slot whose last buffer is dead and whose users all come before; else a new slot.
  unsigned takeSlot(unsigned buffer, unsigned step) {
    unsigned slot = kNone;
    if (auto sameSize = freeOfSize.find(bytes[buffer].getAttribute()); sameSize != freeOfSize.end())
      slot = findSlot(sameSize->second, buffer, step);
    if (slot == kNone)
      slot = findSlot(freeSlots, buffer, step);
    if (slot == kNone) {
      occupants.push_back(buffer);
      largest.push_back(buffer);
      isFree.push_back(false);
      return plan.slotCount++;
    }
    isFree[slot] = false;
    occupants[slot] = buffer;
    if (bytes[largest[slot]].isKnownLessEqual(bytes[buffer]))
      largest[slot] = buffer;
    return slot;
  }

  llvm::ArrayRef<StepAccess> steps;
  llvm::ArrayRef<Dim> bytes;
  std::vector<BufferState> buffers;
  OrderedSteps ordered;
  std::vector<unsigned> occupants, largest; // per slot: the last buffer, the largest so far
  std::vector<bool> isFree;                 // per slot
  std::vector<unsigned> freeSlots;          // the latest last; may name slots that were taken since
  llvm::DenseMap<mlir::Attribute, std::vector<unsigned>> freeOfSize; // of the largest buffer's size
  MemoryPlan plan;
};

} // namespace

MemoryPlan planMemory(llvm::ArrayRef<StepAccess> steps, llvm::ArrayRef<Dim> bufferBytes) {
  return Planner(steps, bufferBytes).run();
}

} // namespace smelt::codegen
