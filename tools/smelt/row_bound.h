// What a model says about the values of an integer input.
#pragma once

#include "mlir/IR/Value.h"

#include <cstdint>
#include <optional>

namespace smelt::tools {

/// The number of rows that `input` indexes, where the model looks rows up with it, directly or
/// through casts, views, concatenations and selections: its values lie in [0, bound). The smallest
/// where there are several, none where there is none or it is symbolic.
std::optional<int64_t> rowBound(mlir::Value input);

} // namespace smelt::tools
