// What stands around the softmax of an attention: the chain from Q K^T down to it, and from it to
// the product with V. raise_attention.cpp makes one op of what is found here.
#pragma once

#include "ir/dialect.h"
#include "passes/raise/attention_windows.h"

#include "mlir/IR/Builders.h"

#include <optional>
#include <string>

namespace smelt::passes {

/// The finite number that masked scores have, in the model and in the bias. It tells rows apart in
/// which every key is masked: there the softmax averages over the keys that have it.
struct MaskFill {
  double own, placed;

  /// Adding anything to it is lost in rounding, in the model as in the bias.
  bool absorbs() const { return own == placed; }
};

/// How a softmax's input comes from Q K^T: softcap * tanh(scale * product / softcap) + bias.
struct Scores {
  MatmulOp product;
  double scale = 1, softcap = 0;  ///< a soft cap of 0 is none
  bool capIsOpen = false;         ///< a tanh without the factor that makes it a cap
  mlir::Value bias;               ///< null: none
  std::optional<MaskFill> fill;   ///< of the masks with a finite fill
  bool narrowed = false;          ///< a cast on the way rounds
  std::optional<Windows> windows; ///< of the softmax's input, where the product's axes are merged
};

/// The predicate that failed and what was found instead.
struct Refusal {
  llvm::StringRef predicate;
  std::string found;
};

/// Walks up from a softmax's input. What it takes off the chain as a bias is built where `builder`
/// stands.
class ScoreMatcher {
public:
  ScoreMatcher(mlir::OpBuilder &builder, mlir::Location location)
      : builder(builder), location(location) {}

  std::optional<Scores> match(mlir::Value value, int depth = 0);

  /// Why a mask on the way to a product cannot be a bias.
  const std::optional<Refusal> &getRefusal() const { return refusal; }

private:
  std::optional<Scores> matchCast(mlir::Operation *op, int depth);
  std::optional<Scores> matchFactor(mlir::Value value, double factor, int depth);
  std::optional<Scores> matchTanh(mlir::Operation *op, int depth);
  std::optional<Scores> matchSplit(ReshapeOp op, int depth);
  std::optional<Scores> matchSum(mlir::Operation *op, int depth);
  std::optional<Scores> matchSelect(SelectOp op, int depth);
  std::optional<Scores> masked(Scores scores, SelectOp op, double fill, bool fillWhenTrue);
  std::nullopt_t refuse(llvm::StringRef predicate, std::string found);

  mlir::OpBuilder &builder;
  mlir::Location location;
  std::optional<Refusal> refusal;
};

/// What a softmax's result goes through before the product with V.
struct Probabilities {
  MatmulOp weighted;
  bool zeroMaskedRows = false, narrowed = false;
  std::optional<Windows> windows; ///< of the softmax's result, which the product reads merged
};

/// Follows the only reader of the softmax: a guard of rows without a visible key, casts, then the product with V. Where that
/// fails, `found` says what reads it.
std::optional<Probabilities> matchProbabilities(SoftmaxOp softmax, std::string &found);

} // namespace smelt::passes
