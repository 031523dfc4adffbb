// What a plan does at one set of shapes, and the least time for it by the roofline: computed on the host, without a
// device.
#pragma once

#include "runtime/read_plan.h"
#include "runtime/schedule.h"
#include "tools/smelt/peaks.h"

#include <optional>
#include <vector>

namespace smelt::tools {

struct PredictedLaunch {
  const runtime::PlannedLaunch *planned; ///< of the predictor's table
  std::array<uint32_t, 3> grid;          ///< of a kernel
  uint32_t sharedBytes;                  ///< that a block asks for (runtime/block_placement.h)
  int64_t bytes, flops;                  ///< 0 where the plan does not tell
  std::optional<double>
      microseconds; ///< the least by the roofline; nothing without peaks of its arithmetic
  bool isBoundByMemory;
};

struct Prediction {
  std::vector<PredictedLaunch> launches; ///< of one run
  uint64_t inputBytes = 0, outputBytes = 0;
  uint64_t arenaBytes = 0; ///< values between kernels
  uint64_t shapeBytes = 0; ///< values that are kept for the shape

  /// Of all launches one after the other; nothing where one is not known.
  std::optional<double> microseconds() const;
};

/// Predicts runs of one program of a plan, which must outlive it, as it must its predictions.
class Predictor {
public:
  Predictor(const runtime::Plan &plan, const plan::ProgramT &program)
      : metadata(plan.metadata()), table(program), peaks(peaksOfPart(program.arch)) {}

  /// At these shapes of the inputs, in order. Fails as solveShapes() and makeSchedule() do.
  Result<Prediction> at(const std::vector<runtime::Shape> &shapes) const;

private:
  const plan::MetadataT &metadata;
  runtime::LaunchTable table;
  std::optional<Peaks> peaks;
};

} // namespace smelt::tools
