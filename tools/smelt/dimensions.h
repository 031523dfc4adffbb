// Sizes given by the name of a dimension, as shapes of the inputs that have it.
#pragma once

#include "runtime/status.h"

#include <string>
#include <vector>

namespace smelt::tools {

/// Adds to `shapes` ("ids=8x?") what `dimensions` ("batch=8") mean for the inputs of the .onnx or .plan at `path`; an input that has
/// a shape keeps it. Fails with kUsage for a dimension that no input has, naming those that there are, for what is no size, and where
/// a given shape says otherwise; with what reading a plan fails with.
Status nameShapes(const std::string &path, const std::vector<std::string> &dimensions,
                  std::vector<std::string> &shapes);

} // namespace smelt::tools
