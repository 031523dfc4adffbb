// Operands of attention as tensor maps describe them (kernels/attention/attention_tma.cuh).
#pragma once

#include "codegen/iteration_space.h"
#include "codegen/kernel.h"

#include <optional>

namespace smelt::codegen {

/// An operand whose element (batch, head, row, column) lies at the sum of constant distances, in
/// elements; columns are neighbours.
struct HeadLayout {
  unsigned input;
  Dim offset; ///< of the first element in the input
  Dim rowStride, headStride, batchStride;
  bool isByRow, isByHead, isByBatch; ///< the element depends on the coordinate
  Dim misfit; ///< 0 at the sizes at which rows, heads and batches start at multiples of 16 bytes
};

/// Of an operand of `input` whose row [batch, head, row] starts at element `first`, of `elementBytes` each,
/// as a map can describe it. None where that cannot be. Heads or batches have their elements in common only
/// where the operand `mayBroadcast`.
std::optional<HeadLayout> headLayout(unsigned input, Dim first, const Index &index,
                                     int64_t elementBytes, bool mayBroadcast = false);

/// Boxes of `boxRows` rows of one head of an operand [batch, head, row, column].
TensorMap headMap(const HeadLayout &layout, TensorType type, int boxRows);

/// Boxes of the biases of a warpgroup's rows; along an axis that they do not depend on, one element.
TensorMap biasMap(const HeadLayout &layout, mlir::Type element, TensorType query, TensorType key);

} // namespace smelt::codegen
