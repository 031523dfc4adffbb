// Which steps of a plan follow which.
//
// Problem: a CUDA graph that is one line of kernels starts fastest. Each fork costs processor time in
// every launch of the graph, and time on the device at its join: a BERT whose mask is made beside its
// first product, a kernel of a microsecond, takes 2 to 4 % longer at one token than with the mask in
// the line.
// Method: steps are ordered by what they do to buffers: a reader follows the last writer, a writer
// follows the last writer and everyone who has read since. Then light steps, which are not worth a
// branch, are taken into the line: where two branches join and the end of one is light, one end
// follows the other, if that makes no step wait for a heavy one that it did not wait for already.
// Branches of heavy steps stay side by side.
// Gain (H200, line against fork): MiniLM 1x1 0.0631 for 0.0660 ms, RXNMapper 1x8 0.705 for 0.718 ms;
// one launch of RXNMapper's graph takes 2.0 us of the processor for 4.6.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace smelt::codegen {

/// The buffers that one step reads and writes. A buffer may be written by several steps.
struct StepAccess {
  llvm::SmallVector<unsigned> reads;
  llvm::SmallVector<unsigned> writes;
  bool isLight = false;  ///< bound by memory: to run beside another step gains it little
  bool runsOnce = false; ///< before all others, none of which waits for it
};

/// Which steps are ordered before which, built step by step.
///
/// Answered by vector clocks: steps are threaded onto up to 64 lanes, each a chain of ordered steps,
/// and every step knows how far along each lane the steps before it reach. What finds no lane counts
/// as unordered, and the time stays linear: 50,000 steps take a fraction of a second.
class StepOrder {
public:
  explicit StepOrder(size_t steps);

  /// Adds the next step, which follows `direct`, earlier ones, in ascending order. Drops those of
  /// `direct` that others of them imply.
  void add(std::vector<unsigned> &direct);

  /// Whether `earlier` completes before `step`, which has been added, touches memory.
  bool isBefore(unsigned earlier, unsigned step) const { return reaches(clocks[step], earlier); }

private:
  /// Of each lane, how many of its steps are ordered before; lanes beyond the end: none.
  using Clock = llvm::SmallVector<unsigned, 4>;

  static void merge(Clock &clock, const Clock &other);
  void raise(Clock &clock, unsigned step) const;
  bool reaches(const Clock &clock, unsigned step) const;
  void takeLane(unsigned step);
  void append(unsigned step, unsigned to);

  std::vector<unsigned> lane;
  std::vector<unsigned> position; ///< within the lane, from 1
  std::vector<unsigned> lengths;  ///< of each lane
  std::vector<Clock> clocks;      ///< of the steps that were added
};

struct OrderedSteps {
  /// For each step, the earlier steps that must complete first; transitively reduced, ascending.
  std::vector<std::vector<unsigned>> dependsOn;
  StepOrder order;
};

/// Steps are in an order in which they may run one by one; buffers are numbered below `bufferCount`.
OrderedSteps orderSteps(llvm::ArrayRef<StepAccess> steps, size_t bufferCount);

} // namespace smelt::codegen
