// Times that a report measures itself.
#pragma once

#include "tools/smelt/measurement.h"

#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace smelt::tools {

/// Runs the session's plan on its GPU, as `smelt bench` does with these shapes, and says what that would print. `path` is the model's,
/// as the user gave it. Warnings go to stderr. Fails as running a plan does.
Result<llvm::json::Object> measurePlan(std::unique_ptr<CudaSession> session,
                                       const std::string &path,
                                       const std::vector<std::string> &shapes,
                                       const MeasureOptions &options);

} // namespace smelt::tools
