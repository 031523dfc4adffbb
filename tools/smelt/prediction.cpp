#include "tools/smelt/prediction.h"

#include "codegen/target.h"
#include "runtime/block_placement.h"

#include <numeric>

namespace smelt::tools {

std::optional<double> Prediction::microseconds() const {
  double sum = 0;
  for (const PredictedLaunch &launch : launches) {
    if (!launch.microseconds)
      return std::nullopt;
    sum += *launch.microseconds;
  }
  return sum;
}

static PredictedLaunch predict(const runtime::PlannedLaunch &planned,
                               const runtime::ScheduledLaunch &scheduled,
                               const runtime::ShapeValues &values,
                               const std::optional<Peaks> &peaks) {
  auto value = [&](uint32_t dim) { return dim == plan::kNone ? 0 : values.dims[dim]; };
  const plan::LaunchT &launch = *planned.launch;
  PredictedLaunch predicted{
      &planned, scheduled.grid, scheduled.sharedBytes, value(launch.bytes), value(launch.flops), {},
      true};
  if (!peaks || peaks->flopsPerSecond(launch.arithmetic) == 0)
    return predicted;
  predicted.microseconds =
      peaks->leastMicroseconds(predicted.bytes, predicted.flops, launch.arithmetic);
  predicted.isBoundByMemory =
      peaks->isBoundByMemory(predicted.bytes, predicted.flops, launch.arithmetic);
  return predicted;
}

/// As an engine on the architecture's part does.
static void spreadBlocks(const runtime::LaunchTable &table, runtime::Schedule &schedule) {
  auto target = codegen::Target::named(table.program().arch);
  if (succeeded(target) && target->instructions.programmaticLaunch)
    runtime::spreadBlocks({target->part.multiprocessors,
                           static_cast<uint32_t>(target->limits.sharedBytesPerMultiprocessor),
                           codegen::Target::kReservedSharedBytes},
                          table, schedule);
}

Result<Prediction> Predictor::at(const std::vector<runtime::Shape> &shapes) const {
  SMELT_ASSIGN_OR_RETURN(runtime::ShapeValues values, runtime::solveShapes(metadata, shapes));
  auto shared = std::make_shared<runtime::ShapeValues>(std::move(values));
  SMELT_ASSIGN_OR_RETURN(runtime::Schedule schedule,
                         runtime::makeSchedule(metadata, table, shared));
  spreadBlocks(table, schedule);
  Prediction prediction;
  for (const runtime::ScheduledLaunch &scheduled : schedule.launches)
    prediction.launches.push_back(predict(table[scheduled.id], scheduled, *shared, peaks));
  auto sum = [](const std::vector<uint64_t> &bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
  };
  prediction.inputBytes = sum(schedule.inputBytes);
  prediction.outputBytes = sum(schedule.outputBytes);
  prediction.arenaBytes = schedule.arenaBytes;
  prediction.shapeBytes = schedule.shapeBytes;
  return prediction;
}

} // namespace smelt::tools
