// Operands in the spellings that give them every class of strides: plain, transposed, stepped, offset, expanded, gathered,
// joined, converted, or computed.
#pragma once

#include "tests/generate/drawing.h"

namespace smelt::generate {

/// A value of this type and shape, made in a random spelling. Derived sizes may not be among the shape's.
Value operand(Drawing &draw, ElementType type, const Shape &shape, Bounds bounds);
Value operand(Drawing &draw, ElementType type, const Shape &shape);

/// A value that broadcasts with `value`: an earlier one, a constant, or a new one of a shape with some axes left out or 1.
/// Its elements lie within `bounds`.
Value partner(Drawing &draw, const Value &value, ElementType type, Bounds bounds);

bool hasDerived(const Shape &shape);
/// No size may be 0.
bool isFilled(const Shape &shape);

/// All integers of a type.
Bounds rangeOf(ElementType type);

inline bool isByte(ElementType type) { return type == Wire::INT8 || type == Wire::UINT8; }

} // namespace smelt::generate
