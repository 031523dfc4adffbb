// Scales and zero points of quantised tensors: an element q stands for scale * (q - zero point).
#pragma once

#include "tests/generate/drawing.h"

namespace smelt::generate {

/// Scales of the quantised ops of com.microsoft.
inline constexpr Bounds kByteScale{0.02, 0.1};

/// Numbers from `bounds`, for all or one for each element along an axis. More often than not powers of two: with them sums of
/// bytes are exact, so that what rounds to another step is wrong (`exactness.h`).
Value drawScale(Drawing &draw, const Shape &shape, Bounds bounds);

/// Of bytes or shorts: 0, the middle or an end of their type, or any.
Value drawZeroPoint(Drawing &draw, ElementType type, const Shape &shape);

} // namespace smelt::generate
