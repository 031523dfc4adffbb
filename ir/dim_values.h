// Integer tensors whose elements are known dimensions: the values behind Shape -> Gather -> Concat
// -> Reshape chains.
#pragma once

#include "ir/dialect.h"

namespace smelt {

/// The elements of `value`, in row-major order, where each is a constant or an expression over size
/// symbols; none where one depends on data or there are more than 64 elements. Looks through shape
/// arithmetic: constants, dims, gather, concat, slice, reshape, expand, add, sub, mul, div, mod,
/// min, max, cast, equal, select, reduce.
std::optional<llvm::SmallVector<Dim>> knownDims(mlir::Value value);

/// Whether a tensor of the integer type can hold the value.
bool hasInteger(mlir::Type type, int64_t value);

} // namespace smelt
