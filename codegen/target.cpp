#include "codegen/target.h"

#include "codegen/targets/compute_80.h"
#include "codegen/targets/sm_100.h"
#include "codegen/targets/sm_103.h"
#include "codegen/targets/sm_120.h"
#include "codegen/targets/sm_80.h"
#include "codegen/targets/sm_86.h"
#include "codegen/targets/sm_87.h"
#include "codegen/targets/sm_89.h"
#include "codegen/targets/sm_90a.h"

#include "llvm/ADT/StringRef.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

/// Oldest first, PTX at the end.
constexpr Target kTargets[] = {kSm80,  kSm86,  kSm87,  kSm89,     kSm90a,
                               kSm100, kSm103, kSm120, kCompute80};

constexpr int kGeneration = 10;

} // namespace

double Target::rate(plan::Arithmetic arithmetic) const {
  switch (arithmetic) {
  case plan::Arithmetic::float64:
    return flopsPerClock.float64;
  case plan::Arithmetic::float32:
    return flopsPerClock.float32;
  case plan::Arithmetic::tf32:
    return flopsPerClock.tf32;
  case plan::Arithmetic::half:
    return flopsPerClock.half;
  case plan::Arithmetic::int8:
    return flopsPerClock.int8;
  case plan::Arithmetic::float8:
    return flopsPerClock.float8;
  }
  return 0;
}

bool Target::isPtx(StringRef arch) { return arch.starts_with("compute_"); }

FailureOr<Target> Target::named(StringRef arch) {
  for (const Target &target : kTargets)
    if (arch == target.arch)
      return target;
  return failure();
}

FailureOr<Target> Target::forCapability(int capability) {
  const Target *best = nullptr;
  for (const Target &target : kTargets) {
    bool isSpecific = StringRef(target.arch).ends_with("a");
    bool runs = isPtx(target.arch) ? !best && target.capability <= capability
                : isSpecific ? target.capability == capability
                             : target.capability <= capability &&
                                   target.capability / kGeneration == capability / kGeneration;
    if (runs)
      best = &target;
  }
  if (!best)
    return failure();
  return *best;
}

std::string Target::names() {
  std::string all;
  for (const Target &target : kTargets)
    all += (all.empty() ? "" : ", ") + std::string(target.arch);
  return all;
}

} // namespace smelt::codegen
