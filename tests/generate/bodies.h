// What graphs that nodes hold compute: some ops, one after the other.
#pragma once

#include "tests/generate/drawing.h"

namespace smelt::generate {

/// The operand and a few other values, for a body to read from the graph around it.
std::vector<Value> visibleWith(Drawing &draw, const Value &operand);

/// What a change leaves as it is.
enum class Keeps : uint8_t { nothing, type, typeAndShape };

/// What some ops make of `value`, the last of them in this very graph.
Value drawChange(Drawing &draw, const Value &value, Keeps keeps);

Value identity(Drawing &draw, const Value &value);

/// Whether numbers of this type may be added without a thought for its range.
bool hasSums(ElementType type);

/// `value` plus a number, which is a scalar of int64.
Value addNumber(Drawing &draw, const Value &value, const Value &number);

/// Something made of both, which have one type and shape.
Value join(Drawing &draw, const Value &one, const Value &other);

} // namespace smelt::generate
