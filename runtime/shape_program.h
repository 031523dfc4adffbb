// The shape program: values of symbols from the shapes of inputs, and of dims from symbols. Runs on
// the host, once per shape.
#pragma once

#include "runtime/plan_format.h"
#include "runtime/status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace smelt::runtime {

using Shape = std::vector<int64_t>;

/// Everything sizes depend on, for one set of input shapes.
struct ShapeValues {
  std::vector<int64_t> symbols; ///< in Metadata.symbols' order
  std::vector<int64_t> dims;    ///< in Metadata.dims' order
};

/// Solves the symbols from the inputs' shapes (one for each of metadata.inputs) and the capacities
/// of outputs (one for each of metadata.outputs, or none at all; 0: as large as the output),
/// evaluates every dim, and checks the shapes and the guards. Fails with kUsage naming the input, or
/// the guard's message.
Result<ShapeValues> solveShapes(const plan::MetadataT &metadata, std::span<const Shape> inputs,
                                std::span<const int64_t> capacities = {});

/// The extents of an input or output; all at least 0.
Shape shapeOf(const plan::TensorT &tensor, const ShapeValues &values);

/// Bytes of a tensor whose rows lie behind each other. Fails with kUsage when they exceed 63 bits.
Result<int64_t> tensorBytes(const plan::TensorT &tensor, const ShapeValues &values);

/// The value of one dim expression; nothing when it overflows or divides by zero.
std::optional<int64_t> evaluateDim(const plan::DimExpressionT &dim,
                                   std::span<const int64_t> symbols);

/// A dim as people write it, e.g. "batch*(seq + 1)".
std::string dimText(const plan::MetadataT &metadata, uint32_t dim);

} // namespace smelt::runtime
