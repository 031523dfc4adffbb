// The smallest part of something that still fails: Zeller and Hildebrandt's ddmin.
#pragma once

#include "runtime/status.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace smelt::tools {

/// Which of the things 0 to `count` - 1 fail together, in their order: `fails` holds for these and for
/// none of the sets that lack one of them. It must hold for all. Fails as `fails` does.
Result<std::vector<size_t>>
smallestFailing(size_t count,
                const std::function<Result<bool>(const std::vector<size_t> &)> &fails);

} // namespace smelt::tools
