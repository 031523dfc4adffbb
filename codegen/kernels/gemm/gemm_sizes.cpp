#include "codegen/kernels/gemm/gemm_sizes.h"

#include <cstdlib>

namespace smelt::codegen {

std::optional<int64_t> rowsAt(const GemmProduct &product, const Sizes &sizes) {
  std::optional<int64_t> rows =
      product.rows.evaluate([&](llvm::StringRef symbol) -> std::optional<int64_t> {
        auto found = sizes.find(symbol.str());
        return found == sizes.end() ? 1 : found->second;
      });
  return rows && *rows > 0 ? rows : std::nullopt;
}

/// With the largest size `symbol` at which there are no more rows than `rows`, and with 1 where there is none.
static Sizes stretch(const GemmProduct &product, Sizes sizes, const std::string &symbol,
                     int64_t rows) {
  int64_t least = 1, most = rows; // row counts grow with every size
  while (least < most) {
    int64_t middle = (least + most + 1) / 2;
    sizes[symbol] = middle;
    if (rowsAt(product, sizes).value_or(0) <= rows)
      least = middle;
    else
      most = middle - 1;
  }
  sizes[symbol] = least;
  return sizes;
}

Sizes sizesFor(const GemmProduct &product, int64_t rows) {
  Sizes typical;
  auto assume = [&](Dim dim, int64_t size) {
    dim.forEachSymbol([&](llvm::StringRef symbol) { typical[symbol.str()] = size; });
  };
  assume(product.batches, kTypicalBatches);
  assume(product.columns, kTypicalSize);
  assume(product.depth, kTypicalSize);
  assume(product.rows, 1);
  Sizes best = typical;
  auto distance = [&](const Sizes &sizes) {
    std::optional<int64_t> reached = rowsAt(product, sizes);
    return reached ? std::abs(*reached - rows) : std::numeric_limits<int64_t>::max();
  };
  product.rows.forEachSymbol([&](llvm::StringRef symbol) {
    Sizes sizes = stretch(product, typical, symbol.str(), rows);
    if (distance(sizes) < distance(best))
      best = std::move(sizes);
  });
  return best;
}

} // namespace smelt::codegen
