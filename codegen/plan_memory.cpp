#include "codegen/plan_memory.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt::codegen {

namespace {

constexpr unsigned kNone = MemoryPlan::kPinned;

class Planner {
public:
  Planner(llvm::ArrayRef<LaunchAccess> launches, llvm::ArrayRef<Dim> bufferBytes)
      : launches(launches), bytes(bufferBytes), writer(bufferBytes.size(), kNone),
        users(bufferBytes.size()), lastUse(bufferBytes.size(), 0),
        before(launches.size(), llvm::BitVector(launches.size())) {
    plan.slots.assign(bufferBytes.size(), kNone);
    plan.dependsOn.resize(launches.size());
  }

  MemoryPlan run() {
    for (auto [index, launch] : llvm::enumerate(launches)) {
      for (unsigned buffer : launch.writes)
        writer[buffer] = index;
      for (unsigned buffer : llvm::concat<const unsigned>(launch.reads, launch.writes)) {
        users[buffer].push_back(index);
        lastUse[buffer] = index;
      }
    }
    for (unsigned index = 0; index < launches.size(); ++index)
      visit(index);
    return std::move(plan);
  }

private:
  void visit(unsigned index) {
    for (unsigned buffer : launches[index].reads)
      if (writer[buffer] != kNone && writer[buffer] != index)
        order(writer[buffer], index);
    for (unsigned buffer : launches[index].writes)
      if (bytes[buffer])
        plan.slots[buffer] = takeSlot(buffer, index);
    reduce(index);
  }

  /// `earlier` completes before `later` starts to touch memory.
  void order(unsigned earlier, unsigned later) {
    if (!llvm::is_contained(plan.dependsOn[later], earlier))
      plan.dependsOn[later].push_back(earlier);
    before[later] |= before[earlier];
    before[later].set(earlier);
  }

  /// A slot whose buffer is dead, best one that costs no new order and no growth; else a new slot.
  unsigned takeSlot(unsigned buffer, unsigned launch) {
    unsigned best = kNone;
    int bestCost = 0;
    for (unsigned slot = 0; slot < occupants.size(); ++slot) {
      unsigned occupant = occupants[slot];
      // A launch that reads a buffer may not overwrite it: other blocks may still read.
      if (lastUse[occupant] >= launch)
        continue;
      bool ordered =
          llvm::all_of(users[occupant], [&](unsigned user) { return before[launch].test(user); });
      bool fits = bytes[buffer].isKnownLessEqual(bytes[largest[slot]]);
      bool grows = bytes[largest[slot]].isKnownLessEqual(bytes[buffer]);
      if (!fits && !grows)
        continue;
      int cost =
          (ordered ? 0 : 2) + (fits ? 0 : 1) + (bytes[buffer] == bytes[largest[slot]] ? 0 : 1);
      if (best == kNone || cost < bestCost)
        best = slot, bestCost = cost;
    }
    if (best == kNone) {
      occupants.push_back(buffer);
      largest.push_back(buffer);
      return plan.slotCount++;
    }
    for (unsigned user : users[occupants[best]])
      order(user, launch);
    occupants[best] = buffer;
    if (bytes[largest[best]].isKnownLessEqual(bytes[buffer]))
      largest[best] = buffer;
    return best;
  }

  /// Drops dependencies that another dependency implies.
  void reduce(unsigned index) {
    std::vector<unsigned> &direct = plan.dependsOn[index];
    llvm::erase_if(direct, [&](unsigned candidate) {
      return llvm::any_of(direct, [&](unsigned other) {
        return other != candidate && before[other].test(candidate);
      });
    });
    llvm::sort(direct);
  }

  llvm::ArrayRef<LaunchAccess> launches;
  llvm::ArrayRef<Dim> bytes;
  std::vector<unsigned> writer;
  std::vector<llvm::SmallVector<unsigned>> users;
  std::vector<unsigned> lastUse;
  /// before[i]: launches that complete before launch i touches memory.
  std::vector<llvm::BitVector> before;
  std::vector<unsigned> occupants,
      largest; // per slot: the present buffer, the largest buffer so far
  MemoryPlan plan;
};

} // namespace

MemoryPlan planMemory(llvm::ArrayRef<LaunchAccess> launches, llvm::ArrayRef<Dim> bufferBytes) {
  return Planner(launches, bufferBytes).run();
}

} // namespace smelt::codegen
