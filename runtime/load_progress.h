// How far the loading of a plan is, and whether it should go on.
#pragma once

#include "runtime/status.h"

#include <cstdint>
#include <functional>

namespace smelt::runtime {

struct LoadProgress {
  /// "read" and "weights" count bytes, those of the file that are verified and those that are uploaded;
  /// "kernels" counts modules of machine code. In the order read, kernels, weights.
  const char *phase;
  uint64_t done;
  uint64_t total;
};

/// Called on the loading thread, again and again in each phase and when it is done. False stops the
/// loading, which fails with kResources.
using LoadProgressHandler = std::function<bool(const LoadProgress &)>;

/// How many bytes are read or uploaded between two calls: a few hundredths of a second.
constexpr uint64_t kLoadProgressBytes = uint64_t(64) << 20;

inline Status tell(const LoadProgressHandler &handler, const LoadProgress &progress) {
  if (handler && !handler(progress))
    return Status(StatusCode::kResources, "loading the plan was stopped");
  return {};
}

} // namespace smelt::runtime
