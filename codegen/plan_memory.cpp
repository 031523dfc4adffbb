#include "codegen/plan_memory.h"

#include "ir/dialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt::codegen {

namespace {

constexpr unsigned kNone = MemoryPlan::kPinned;
constexpr unsigned kMaxLanes = 64;
/// Free slots that are looked at for a buffer, the latest first.
constexpr unsigned kMaxCandidates = 16;

/// Which steps are ordered before which.
class Order {
public:
  explicit Order(size_t steps) : lane(steps, kNone), position(steps, 0), clocks(steps) {}

  /// Begins step `step`, which follows `direct`. Steps come in ascending order.
  void begin(unsigned step, llvm::ArrayRef<unsigned> direct) {
    for (unsigned earlier : direct) {
      merge(clocks[step], clocks[earlier]);
      raise(clocks[step], earlier);
    }
  }

  /// Drops those of `direct` that others of them imply.
  void reduce(std::vector<unsigned> &direct) const {
    Clock implied;
    for (unsigned earlier : direct)
      merge(implied, clocks[earlier]);
    llvm::erase_if(direct, [&](unsigned earlier) { return reaches(implied, earlier); });
  }

  /// Ends step `step`: later steps may follow it.
  void end(unsigned step) {
    const Clock &clock = clocks[step];
    for (unsigned candidate = 0; candidate < lengths.size(); ++candidate)
      if (at(clock, candidate) == lengths[candidate])
        return append(step, candidate);
    if (lengths.size() == kMaxLanes)
      return;
    lengths.push_back(0);
    append(step, lengths.size() - 1);
  }

  /// Whether `earlier` completes before `step`, which has begun, touches memory.
  bool isBefore(unsigned earlier, unsigned step) const { return reaches(clocks[step], earlier); }

private:
  /// Of each lane, how many of its steps are ordered before; lanes beyond the end: none.
  using Clock = llvm::SmallVector<unsigned, 4>;

  static unsigned at(const Clock &clock, unsigned lane) {
    return lane < clock.size() ? clock[lane] : 0;
  }
  static void merge(Clock &clock, const Clock &other) {
    if (clock.size() < other.size())
      clock.resize(other.size());
    for (auto [index, count] : llvm::enumerate(other))
      clock[index] = std::max(clock[index], count);
  }
  void raise(Clock &clock, unsigned step) const {
    if (lane[step] == kNone)
      return;
    if (clock.size() <= lane[step])
      clock.resize(lane[step] + 1);
    clock[lane[step]] = std::max(clock[lane[step]], position[step]);
  }
  bool reaches(const Clock &clock, unsigned step) const {
    return lane[step] != kNone && at(clock, lane[step]) >= position[step];
  }
  void append(unsigned step, unsigned to) {
    lane[step] = to;
    position[step] = ++lengths[to];
  }

  std::vector<unsigned> lane;
  std::vector<unsigned> position; // within the lane, from 1
  std::vector<unsigned> lengths;  // of each lane
  std::vector<Clock> clocks;
};

/// A buffer between its first and its last use.
struct BufferState {
  unsigned lastUse = 0, lastWrite = 0; ///< steps
  unsigned writer = kNone;             ///< the latest so far
  llvm::SmallVector<unsigned> readers; ///< since then
  llvm::SmallVector<unsigned> latest;  ///< users so far that no other user follows
};

class Planner {
public:
  Planner(llvm::ArrayRef<StepAccess> steps, llvm::ArrayRef<Dim> bufferBytes)
      : steps(steps), bytes(bufferBytes), buffers(bufferBytes.size()), order(steps.size()) {
    plan.slots.assign(bufferBytes.size(), kNone);
    plan.dependsOn.resize(steps.size());
  }

  MemoryPlan run() {
    for (auto [index, step] : llvm::enumerate(steps)) {
      for (unsigned buffer : step.reads)
        buffers[buffer].lastUse = index;
      for (unsigned buffer : step.writes)
        buffers[buffer].lastUse = buffers[buffer].lastWrite = index;
    }
    for (unsigned index = 0; index < steps.size(); ++index)
      visit(index);
    return std::move(plan);
  }

private:
  void visit(unsigned index) {
    std::vector<unsigned> &direct = plan.dependsOn[index];
    followOthers(index, direct);
    order.begin(index, direct);
    order.reduce(direct);
    for (unsigned buffer : steps[index].writes)
      if (bytes[buffer] && plan.slots[buffer] == kNone)
        plan.slots[buffer] = takeSlot(buffer, index);
    order.end(index);
    leave(index);
  }

  /// The steps that `index` must follow for the sake of the buffers that it touches.
  void followOthers(unsigned index, std::vector<unsigned> &direct) {
    auto follow = [&](unsigned earlier) {
      if (earlier != kNone && earlier != index)
        direct.push_back(earlier);
    };
    for (unsigned buffer : steps[index].reads) {
      follow(buffers[buffer].writer);
      if (buffers[buffer].lastWrite > index)
        buffers[buffer].readers.push_back(index);
    }
    for (unsigned buffer : steps[index].writes) {
      BufferState &state = buffers[buffer];
      follow(state.writer);
      llvm::for_each(state.readers, follow);
      state.writer = index;
      state.readers.clear();
    }
    llvm::sort(direct);
    direct.erase(llvm::unique(direct), direct.end());
  }

  /// Remembers who touched what, and frees the slots of buffers that are not used again.
  void leave(unsigned index) {
    for (unsigned buffer : llvm::concat<const unsigned>(steps[index].reads, steps[index].writes)) {
      if (!bytes[buffer])
        continue;
      BufferState &state = buffers[buffer];
      llvm::erase_if(state.latest,
                     [&](unsigned user) { return user == index || order.isBefore(user, index); });
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
                        [&](unsigned user) { return order.isBefore(user, step); });
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
  Order order;
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
