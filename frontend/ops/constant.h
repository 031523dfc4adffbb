// Numbers that are known when a model is imported.
#pragma once

#include "mlir/IR/Value.h"

#include <optional>

namespace smelt::frontend {

/// The one element of a constant of floats; none where the value is no such constant.
std::optional<double> constantFloat(mlir::Value value);

} // namespace smelt::frontend
