// What of a fused module may be measured: its products, each with a few tilings at a few numbers of rows.
#pragma once

#include "codegen/kernel.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace smelt::codegen {

/// A product, and the tilings that the model finds best.
struct TunableProduct {
  /// A number of rows, sizes at which there are so many, and the tilings to compare, best by the model first.
  struct Point {
    int64_t rows;
    std::map<std::string, int64_t> sizes; ///< by symbol; those that are not named are 1
    std::vector<std::string> tilings;     ///< GemmChoice::name
  };

  std::string key; ///< of its times in a Tuning: equal for products that run the same kernels
  std::string description; ///< for people: "gemm+add+gelu, 3072 columns, 768 deep"
  std::string module;      ///< fusionModuleText()
  std::vector<Point> points;
  std::vector<KernelText> kernels; ///< of all tilings of all points, each once
};

/// The distinct products of a module in the fused form, at most `most` tilings a point; those with a known
/// number of rows have one point. Products that update a buffer in place are not among them. Fails with
/// kInvalidModel where compileToPlan would.
Result<std::vector<TunableProduct>> tunableProducts(mlir::ModuleOp fused, const Target &target,
                                                    bool tf32, size_t most);

/// Bytes of the weights that the products of such a module read in one run.
int64_t productWeightBytes(mlir::ModuleOp fused);

} // namespace smelt::codegen
