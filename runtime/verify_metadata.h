// Whether a plan's metadata means something: every reference lies in range, every program of a dim
// is well formed, every launch can be put into a graph.
#pragma once

#include "runtime/plan_format.h"
#include "runtime/status.h"

namespace smelt {

/// Bytes in the sections that the metadata's ranges point into.
struct SectionSizes {
  uint64_t code = 0;
  uint64_t sources = 0;
  uint64_t weights = 0;
};

/// Fails with StatusCode::kPlan. The runtime relies on this check: what it reads afterwards it
/// indexes without looking.
Status verifyMetadata(const plan::MetadataT &metadata, const SectionSizes &sections);

/// An architecture name taken apart: "sm_90a" is {90, true, false}, "compute_80" {80, false, true}.
struct Architecture {
  int number = 0;        ///< ten times the major compute capability, plus the minor one
  bool specific = false; ///< 'a': runs on exactly this compute capability
  bool isPtx = false;    ///< runs on this compute capability and every later one
};

/// Fails with StatusCode::kPlan when `name` is not of the form sm_<number>[a] or compute_<number>.
Result<Architecture> parseArchitecture(const std::string &name);

} // namespace smelt
