// Norms and attention as exporters write them: clusters of small ops that the compiler is to recognise.
#pragma once

#include "tests/generate/drawing.h"

namespace smelt::generate {

/// A norm over the last axis, which is a number: as one op or spelled out; scale, bias, epsilon and conversions vary.
Value drawNormSpelling(Drawing &draw, const Value &operand);
/// Attention with its projections' reshapes and transposes; the scale, the mask, the groups of heads and the conversions
/// vary. Gives [batch, rows, heads * size] or [batch, heads, rows, size].
Value drawAttentionSpelling(Drawing &draw);
/// An activation as exporters spell it: gelu by erf or tanh, silu, hard forms.
Value drawActivationSpelling(Drawing &draw, const Value &operand);

} // namespace smelt::generate
