// Sizes of a product that are not known when compiling: what stands for them, and sizes that lead to a number of rows.
#pragma once

#include "codegen/kernels/gemm/gemm_product.h"

#include <map>
#include <string>

namespace smelt::codegen {

/// Stand for an extent, and for a number of batches, that is not known when compiling.
inline constexpr int64_t kTypicalSize = 256, kTypicalBatches = 8;

/// Values of size symbols by their names; those that are not named are 1.
using Sizes = std::map<std::string, int64_t>;

/// The number of rows at these sizes; none where they make no sense.
std::optional<int64_t> rowsAt(const GemmProduct &product, const Sizes &sizes);

/// Sizes at which the product has `rows` rows, or nearly as many. Of those that decide it one is more than 1; those
/// that decide about other extents are typical.
Sizes sizesFor(const GemmProduct &product, int64_t rows);

} // namespace smelt::codegen
