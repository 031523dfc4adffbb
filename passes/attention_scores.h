// What stands around the softmax of an attention: the chain from Q K^T down to it, and from it to
// the product with V. raise_attention.cpp makes one op of what is found here.
#pragma once

#include "ir/dialect.h"

#include "mlir/IR/Builders.h"

#include <optional>
#include <string>

namespace smelt::passes {

/// How a softmax's input comes from Q K^T: softcap * tanh(scale * product / softcap) + bias.
struct Scores {
  MatmulOp product;
  double scale = 1, softcap = 0; ///< a soft cap of 0 is none
  bool capIsOpen = false;        ///< a tanh without the factor that makes it a cap
  mlir::Value bias;              ///< null: none
  bool narrowed = false;         ///< a cast on the way rounds
};

/// Walks up from a softmax's input. What it takes off the chain as a bias is built where `builder`
/// stands.
class ScoreMatcher {
public:
  ScoreMatcher(mlir::OpBuilder &builder, mlir::Location location)
      : builder(builder), location(location) {}

  std::optional<Scores> match(mlir::Value value, int depth = 0);

  /// A fill that was met in place of scores and that scores may reach, so that it masks nothing.
  std::optional<double> getReachableFill() const { return reachableFill; }

private:
  std::optional<Scores> matchCast(mlir::Operation *op, int depth);
  std::optional<Scores> matchFactor(mlir::Value value, double factor, int depth);
  std::optional<Scores> matchTanh(mlir::Operation *op, int depth);
  std::optional<Scores> matchSum(mlir::Operation *op, int depth);
  std::optional<Scores> matchSelect(SelectOp op, int depth);

  mlir::OpBuilder &builder;
  mlir::Location location;
  std::optional<double> reachableFill;
};

/// What a softmax's result goes through before the product with V.
struct Probabilities {
  MatmulOp weighted;
  bool zeroMaskedRows = false, narrowed = false;
};

/// Follows the only reader of the softmax: a NaN guard, casts, then the product with V. Where that
/// fails, `found` says what reads it.
std::optional<Probabilities> matchProbabilities(SoftmaxOp softmax, std::string &found);

} // namespace smelt::passes
