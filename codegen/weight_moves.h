// The bytes of a weight whose elements are those of other weights, moved: a transposition, a
// concatenation, a slice. The loops that say where they lie (weight_parts.h) are copies at the rate of
// memory, where the interpreter widens and narrows every element on its way.
#pragma once

#include "codegen/weight_parts.h"

#include <cstddef>
#include <span>

namespace smelt::codegen {

/// Whether the parts are every element of `value`, in its own type: then copies alone make it.
bool areAllOf(mlir::Value value, const WeightParts &parts);

/// Copies the elements of a part, of `width` bytes each (1, 2, 4 or 8), from those of its weight to those of the
/// target. Both hold what the loops reach.
void copyPart(const WeightPart &part, size_t width, std::span<const std::byte> source,
              std::span<std::byte> target);

/// Copies the elements of the op's input, as `source` holds them, to where its output has them.
void copyTransposed(TransposeOp op, std::span<const std::byte> source, std::span<std::byte> target);

} // namespace smelt::codegen
