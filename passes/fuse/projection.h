// A product of activations and weights, and the bias behind it.
#pragma once

#include "ir/dialect.h"

namespace smelt::passes {

/// x W, or x W + b where nothing but the sum reads the product.
struct Projection {
  MatmulOp matmul;
  AddOp add;        ///< null without a bias
  mlir::Value bias; ///< [N], a weight expression; null without one

  /// Where it ends: its bias add or its product.
  mlir::Operation *end() const;

  /// What `matmul` and its reader are. It is free, and W a weight expression of two axes; none where it is not.
  static std::optional<Projection> match(MatmulOp matmul);
};

} // namespace smelt::passes
