// Squeeze and excitation as ops: which of them it is made of.
//
//   mean = reduce image over its pixels          [b, 1, 1, c]
//   hidden = f(mean S)                           [b, 1, h]
//   gate = g(hidden E)                           [b, 1, 1, c]
//   scaled = image * gate                        [b, y, x, c], where the gate has no other reader
//
// Asked by the pass that forms fusions, by the verifier of the fused form, and by code generation. (Hu et al.,
// "Squeeze-and-Excitation Networks", 2018.)
#pragma once

#include "ir/dialect.h"

namespace smelt {

struct SqueezeExcite {
  ReduceOp reduction;
  MatmulOp squeeze, excite;
  mlir::Value gate;   ///< [b, 1, ..., c]
  mlir::Value result; ///< what scales the image by the gate, else the gate

  /// Largest sizes that the templates take (squeeze_excite_config.cuh); of either weight.
  static constexpr int64_t kMostChannels = 4096, kMostHidden = 256, kMostWeightBytes = 480 << 10;

  /// From the mean on. Each value on the way has one reader. Before the first product lie only conversions and
  /// reshapes, so that it is linear in the sums; behind it elementwise ops with constants and weights, too. None
  /// where the templates do not take its sizes or types.
  static std::optional<SqueezeExcite> match(ReduceOp reduction);

  bool scalesImage() const { return result != gate; }
  /// Those of the chain from the reduction to the result, in order.
  llvm::SmallVector<mlir::Operation *> ops() const;

  int64_t channels() const;
  int64_t hiddenValues() const;
};

} // namespace smelt
