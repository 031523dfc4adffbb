// What a context is made with.
#pragma once

#include "runtime/logger.h"
#include "runtime/status.h"

#include <optional>

namespace smelt::runtime {

struct ContextOptions {
  /// Graphs of how many shapes to keep.
  size_t cachedShapes = 16;
  std::optional<Logger> logger = {}; ///< none: the engine's

  Status check() const {
    if (cachedShapes == 0)
      return Status(StatusCode::kUsage, "a context must keep the graph of at least one shape");
    return {};
  }
};

} // namespace smelt::runtime
