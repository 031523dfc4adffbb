// The launches of a plan's program, by the sizes at which they run.
#pragma once

#include "runtime/plan_format.h"

#include <optional>
#include <string>
#include <vector>

namespace smelt::tools {

/// A launch, and where it stands in its program.
struct PlanLaunch {
  std::string number; ///< plan::launchNumber()
  size_t kernelNumber;
  const plan::StepT *step;
  const plan::VariantT *variant;
  const plan::LaunchT *launch;
  bool runsOnce; ///< for each shape
};

/// Of all variants, in the order of their numbers.
std::vector<PlanLaunch> launchesOf(const plan::ProgramT &program);

/// "33 to 256 rows"; "" where the variant runs at every size that no variant before it takes.
std::string ruleText(const plan::SizeRuleT *rule);

/// "128 x 6 blocks" of the extents of a grid, but for 1 at their end.
std::string blocksText(std::vector<std::string> extents);

/// Launches that run at the same sizes.
struct KernelSet {
  /// "at every size", "33 to 256 rows (batch*seq)".
  std::string sizes;
  /// Of each launch "", "once a shape", or its own rule where those of a kernel depend on several sizes.
  std::vector<std::string> rules;
  std::vector<PlanLaunch> launches;
};

/// Every launch that can run, in one set or several: those that run at every size; for each size that kernels
/// depend on, one set for each range of it within which the same kernels run; those whose rules name several sizes.
std::vector<KernelSet> kernelSets(const plan::MetadataT &metadata, const plan::ProgramT &program);

} // namespace smelt::tools
