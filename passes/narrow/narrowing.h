// Which float32 values of a function can be kept in 16 bits: the decisions of the narrow pass, apart
// from the rewrite, for whoever wants to overrule some of them.
#pragma once

#include "ir/dialect.h"
#include "ir/weights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt::passes {

/// A UnitAttr on ops whose results must stay as wide as they are.
inline constexpr llvm::StringLiteral kKeepWide = "smelt.keep_wide";

class Narrowing {
public:
  /// Decides for every op of `main`'s block. `to` is f16 or bf16; without `weights` their values
  /// count as within its range. Both must outlive the object.
  Narrowing(mlir::func::FuncOp main, mlir::FloatType to, WeightStore *weights);

  /// Whether the float32 operands of `op` become 16 bits wide.
  bool narrowsOperands(mlir::Operation *op) const { return decisions.lookup(op).operands; }
  /// Whether its float32 results do.
  bool narrowsResults(mlir::Operation *op) const { return decisions.lookup(op).results; }
  /// Whether this operand stays as it is beside others that become narrow: a bias of attention that
  /// masks with numbers that 16 bits do not hold.
  bool keepsOperand(mlir::OpOperand &operand) const;
  /// Why a product, a convolution or an attention stays wide; "" where it does not, and for other ops.
  llvm::StringRef whyWide(mlir::Operation *op) const { return decisions.lookup(op).whyWide; }

private:
  /// What is known of a value.
  enum class Kind {
    other,    ///< no float32
    constant, ///< of weights and constants alone: it has either width, for nothing
    wide,
    narrow,
  };
  struct Fact {
    Kind kind = Kind::other;
    bool isLarge = false; ///< it may hold finite numbers that 16 bits do not
    bool isIndex = false; ///< of integers and constants alone: positions, which must stay exact
    bool isSmall = false; ///< a wide one as harmless in 16 bits as a narrow one is
  };
  struct Decision {
    bool operands = false, results = false;
    llvm::StringRef whyWide;
  };

  void decide(mlir::Operation *op);
  Decision decisionOn(mlir::Operation *op) const;
  Decision decisionOnCore(mlir::Operation *op, mlir::ValueRange factors) const;
  bool canFollow(mlir::Operation *op) const;
  Fact factOf(mlir::Operation *op, const Decision &decision) const;
  void keepWideForReaders(mlir::Operation *op);

  Fact factOf(mlir::Value value) const { return facts.lookup(value); }
  bool isFloat32(mlir::Value value) const;
  bool fits(ConstantOp constant) const;
  bool exceedsRange(ConstantOp constant) const;
  bool isWithinRange(WeightOp weight) const;

  mlir::FloatType to;
  WeightStore *weights;
  llvm::DenseMap<mlir::Value, Fact> facts;
  llvm::DenseMap<mlir::Operation *, Decision> decisions;
};

} // namespace smelt::passes
