// smelt inspect --shape and --sweep: what a plan does at given shapes, predicted without a device.
#pragma once

#include "runtime/read_plan.h"

#include <string>
#include <vector>

namespace smelt::tools {

/// Shows the kernels that run where the inputs have the shapes "NAME=1x128", with their memory and roofline time. `path`
/// stands in the JSON.
Status inspectAt(const runtime::Plan &plan, const std::string &path,
                 const std::vector<std::string> &shapes, bool json);

/// Shows memory and roofline time for each size of a dimension, "NAME=1..512" or "NAME=1..512:8", beside the shapes
/// given, and where the set of kernels changes. Fails with kUsage where that is no sweep, or no input has the dimension.
Status sweepPlan(const runtime::Plan &plan, const std::string &path, const std::string &sweep,
                 const std::vector<std::string> &shapes, bool json);

} // namespace smelt::tools
