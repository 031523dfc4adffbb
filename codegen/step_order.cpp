#include "codegen/step_order.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt::codegen {

namespace {

constexpr unsigned kNoStep = ~0u, kNoLane = ~0u;
constexpr unsigned kMaxLanes = 64;

using Dependencies = std::vector<std::vector<unsigned>>;

void insertSorted(std::vector<unsigned> &list, unsigned value) {
  auto at = llvm::lower_bound(list, value);
  if (at == list.end() || *at != value)
    list.insert(at, value);
}

/// What the steps have done to one buffer so far.
struct BufferUsers {
  unsigned lastWrite = 0; ///< of all steps
  unsigned writer = kNoStep;
  llvm::SmallVector<unsigned> readers; ///< since then
};

/// The steps that each must follow for the sake of the buffers that it touches.
Dependencies orderByBuffers(llvm::ArrayRef<StepAccess> steps, size_t bufferCount) {
  std::vector<BufferUsers> buffers(bufferCount);
  for (auto [index, step] : llvm::enumerate(steps))
    for (unsigned buffer : step.writes)
      buffers[buffer].lastWrite = index;
  Dependencies dependsOn(steps.size());
  for (unsigned index = 0; index < steps.size(); ++index) {
    auto follow = [&](unsigned earlier) {
      if (earlier != kNoStep && earlier != index)
        dependsOn[index].push_back(earlier);
    };
    for (unsigned buffer : steps[index].reads) {
      follow(buffers[buffer].writer);
      if (buffers[buffer].lastWrite > index)
        buffers[buffer].readers.push_back(index);
    }
    for (unsigned buffer : steps[index].writes) {
      BufferUsers &users = buffers[buffer];
      follow(users.writer);
      llvm::for_each(users.readers, follow);
      users.writer = index;
      users.readers.clear();
    }
    llvm::sort(dependsOn[index]);
    dependsOn[index].erase(llvm::unique(dependsOn[index]), dependsOn[index].end());
  }
  return dependsOn;
}

/// Adds the dependencies that take light steps into the line.
class LightSteps {
public:
  LightSteps(llvm::ArrayRef<StepAccess> steps, const StepOrder &order, Dependencies &dependsOn)
      : steps(steps), order(order), dependsOn(dependsOn), followers(steps.size()) {
    for (unsigned step = 0; step < steps.size(); ++step)
      for (unsigned earlier : dependsOn[step])
        followers[earlier].push_back(step);
  }

  /// Whether there are any. From the last join to the first, as what is taken in at one may make
  /// another before it.
  bool takeIn() {
    std::vector<unsigned> ends; // the graph's own end joins what nobody follows
    for (unsigned step = 0; step < steps.size(); ++step)
      if (followers[step].empty() && !steps[step].runsOnce)
        ends.push_back(step);
    lineUp(ends);
    for (unsigned step = steps.size(); step-- > 0;)
      lineUp(dependsOn[step]);
    return added;
  }

private:
  void lineUp(llvm::ArrayRef<unsigned> joined) {
    for (size_t i = 1; i < joined.size(); ++i) {
      unsigned earlier = joined[i - 1], later = joined[i];
      if (!isFree(earlier, later))
        continue;
      insertSorted(dependsOn[later], earlier);
      followers[earlier].push_back(later);
      added = true;
    }
  }

  /// Whether no more than a light step is waited for anew where `later` follows `earlier`.
  bool isFree(unsigned earlier, unsigned later) const {
    bool waitsForLight =
        steps[earlier].isLight && llvm::all_of(dependsOn[earlier], [&](unsigned before) {
          return order.isBefore(before, later);
        });
    return waitsForLight ||
           (steps[later].isLight && llvm::all_of(followers[later], [&](unsigned after) {
              return order.isBefore(earlier, after);
            }));
  }

  llvm::ArrayRef<StepAccess> steps;
  const StepOrder &order; ///< by buffers alone
  Dependencies &dependsOn;
  Dependencies followers; ///< the other way round
  bool added = false;
};

} // namespace

StepOrder::StepOrder(size_t steps) : lane(steps, kNoLane), position(steps, 0) {
  clocks.reserve(steps);
}

void StepOrder::add(std::vector<unsigned> &direct) {
  Clock implied;
  for (unsigned earlier : direct)
    merge(implied, clocks[earlier]);
  llvm::erase_if(direct, [&](unsigned earlier) { return reaches(implied, earlier); });
  for (unsigned earlier : direct)
    raise(implied, earlier);
  clocks.push_back(std::move(implied));
  takeLane(clocks.size() - 1);
}

void StepOrder::takeLane(unsigned step) {
  const Clock &clock = clocks[step];
  for (unsigned candidate = 0; candidate < lengths.size(); ++candidate)
    if ((candidate < clock.size() ? clock[candidate] : 0) == lengths[candidate])
      return append(step, candidate);
  if (lengths.size() == kMaxLanes)
    return;
  lengths.push_back(0);
  append(step, lengths.size() - 1);
}

void StepOrder::append(unsigned step, unsigned to) {
  lane[step] = to;
  position[step] = ++lengths[to];
}

void StepOrder::merge(Clock &clock, const Clock &other) {
  if (clock.size() < other.size())
    clock.resize(other.size());
  for (auto [index, count] : llvm::enumerate(other))
    clock[index] = std::max(clock[index], count);
}

void StepOrder::raise(Clock &clock, unsigned step) const {
  if (lane[step] == kNoLane)
    return;
  if (clock.size() <= lane[step])
    clock.resize(lane[step] + 1);
  clock[lane[step]] = std::max(clock[lane[step]], position[step]);
}

bool StepOrder::reaches(const Clock &clock, unsigned step) const {
  return lane[step] != kNoLane && lane[step] < clock.size() && clock[lane[step]] >= position[step];
}

/// Drops what other dependencies imply.
static StepOrder reduce(Dependencies &dependsOn) {
  StepOrder order(dependsOn.size());
  for (std::vector<unsigned> &direct : dependsOn)
    order.add(direct);
  return order;
}

OrderedSteps orderSteps(llvm::ArrayRef<StepAccess> steps, size_t bufferCount) {
  Dependencies dependsOn = orderByBuffers(steps, bufferCount);
  StepOrder order = reduce(dependsOn);
  if (LightSteps(steps, order, dependsOn).takeIn())
    order = reduce(dependsOn);
  return {std::move(dependsOn), std::move(order)};
}

} // namespace smelt::codegen
