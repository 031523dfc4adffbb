#include "tools/smelt/peaks.h"

#include <algorithm>

namespace smelt::tools {

double Peaks::leastMicroseconds(int64_t bytes, int64_t flops, plan::Arithmetic arithmetic) const {
  double rate = flopsPerSecond(arithmetic);
  if (rate == 0)
    return 0;
  return 1e6 *
         std::max(static_cast<double>(bytes) / bytesPerSecond, static_cast<double>(flops) / rate);
}

bool Peaks::isBoundByMemory(int64_t bytes, int64_t flops, plan::Arithmetic arithmetic) const {
  return static_cast<double>(bytes) * flopsPerSecond(arithmetic) >=
         static_cast<double>(flops) * bytesPerSecond;
}

std::optional<Peaks> peaksOfPart(const std::string &arch) {
  mlir::FailureOr<codegen::Target> target = codegen::Target::named(arch);
  if (mlir::failed(target) || target->part.clocksPerSecond == 0)
    return std::nullopt;
  return Peaks{target->part.bytesPerSecond,
               target->part.clocksPerSecond * target->part.multiprocessors, *target};
}

} // namespace smelt::tools
