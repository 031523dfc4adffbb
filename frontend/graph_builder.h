// Creates IR ops for the handlers: checked, never aborting.
//
// Null stands for "failed, and already reported": every function returns null where an operand is
// null, so that handlers compose calls and look at the end result only. Sizes that meet in an
// elementwise op are made to agree in ShapeFacts first; result types are inferred, checked against
// the limits below, and verified.
#pragma once

#include "frontend/shape_facts.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace smelt::frontend {

/// A tensor may have at most this many elements, dimensions and symbolic dimensions: beyond it,
/// sizes could overflow or their products grow without bound.
constexpr int64_t kMaxElements = int64_t{1} << 48;
constexpr int kMaxRank = 64;
constexpr size_t kMaxSymbolicDims = 12;
constexpr size_t kMaxDimTerms = 32;

/// Reports a type whose size is out of these bounds; success for the others.
mlir::LogicalResult checkSize(mlir::Location location, TensorType type);

class GraphBuilder {
public:
  /// Builds into the empty `function`; finish() must follow.
  GraphBuilder(mlir::func::FuncOp function, ShapeFacts &facts);
  /// Ends the function with a return of `results`; constants and weights come first.
  void finish(mlir::ValueRange results);

  mlir::MLIRContext *getContext() const { return facts.getContext(); }
  mlir::Location getLocation() const { return location; }
  ShapeFacts &getFacts() { return facts; }
  mlir::func::FuncOp getFunction() const {
    return mlir::cast<mlir::func::FuncOp>(sources->getParentOp());
  }

  /// Restores the location, and the place of insertion, when it goes out of scope.
  class Scope {
  public:
    Scope(GraphBuilder &build, llvm::StringRef name, mlir::Block *block);
    ~Scope();

  private:
    GraphBuilder &build;
    mlir::Location location;
    mlir::Block *block;
  };
  /// Until the scope ends, ops are located at `name`.
  Scope at(llvm::StringRef name);
  /// The same, and they come before the ops of every node: for constants and weights.
  Scope atStart(llvm::StringRef name);

  mlir::NamedAttribute attribute(llvm::StringRef name, mlir::Attribute value);
  mlir::NamedAttribute attribute(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute attribute(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  mlir::NamedAttribute attribute(llvm::StringRef name, float value);
  mlir::NamedAttribute flag(llvm::StringRef name);

  /// An op with one result, whose type is inferred.
  template <typename Op>
  mlir::Value create(mlir::ValueRange operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return onlyResult(build(Op::getOperationName(), {}, operands, attributes));
  }
  template <typename Op>
  mlir::Value createAs(TensorType type, mlir::ValueRange operands,
                       llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return onlyResult(build(Op::getOperationName(), type, operands, attributes));
  }
  /// An op with several results; none where an operand is missing or the op is refused.
  template <typename Op>
  llvm::SmallVector<mlir::Value> createAll(llvm::ArrayRef<TensorType> types,
                                           mlir::ValueRange operands,
                                           llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    mlir::Operation *op = build(Op::getOperationName(), types, operands, attributes);
    return op ? llvm::to_vector_of<mlir::Value>(op->getResults())
              : llvm::SmallVector<mlir::Value>();
  }
  /// An elementwise op whose result has the type of its operand.
  template <typename Op>
  mlir::Value unary(mlir::Value input, llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return input ? createAs<Op>(tensorType(input), input, attributes) : mlir::Value();
  }

  mlir::Value cast(mlir::Value input, mlir::Type elementType);
  /// 16-bit floats as float32, for what would overflow or lose digits in them; others as they are.
  mlir::Value widen(mlir::Value input);
  mlir::Value reshape(mlir::Value input, llvm::ArrayRef<Dim> shape);
  mlir::Value transpose(mlir::Value input, llvm::ArrayRef<int64_t> permutation);
  /// Exchanges the last two axes.
  mlir::Value transposeMatrix(mlir::Value input);
  /// Broadcasts to `shape`, whose dimensions are the input's where the input's are not 1.
  mlir::Value expand(mlir::Value input, llvm::ArrayRef<Dim> shape);
  /// `length` elements of one axis from `start` on; both within the axis.
  mlir::Value slice(mlir::Value input, int64_t axis, Dim start, Dim length, int64_t step = 1);
  mlir::Value concat(mlir::ValueRange inputs, int64_t axis);
  /// `before` and `after` elements that are `fill`, a scalar, around one axis; a negative constant
  /// takes elements away, as many as there are.
  mlir::Value pad(mlir::Value input, int64_t axis, Dim before, Dim after, mlir::Value fill);
  /// `count` windows of `length` elements along an axis, as two axes in its place.
  mlir::Value windows(mlir::Value input, int64_t axis, Dim count, Dim length, int64_t stride,
                      int64_t dilation);
  mlir::Value reduce(ReductionKind kind, mlir::Value input, llvm::ArrayRef<int64_t> axes);

  mlir::Value constant(mlir::DenseElementsAttr value);
  /// A scalar (rank 0); an integer type gets the truncated value.
  mlir::Value scalar(double value, mlir::Type elementType);
  mlir::Value integers(llvm::ArrayRef<int64_t> values, mlir::Type elementType);
  /// Sizes as data: of rank 1, or a scalar.
  mlir::Value dims(llvm::ArrayRef<Dim> values, mlir::Type elementType);
  mlir::Value dim(Dim value, mlir::Type elementType);
  Dim size(int64_t value) const { return Dim::constant(getContext(), value); }

  /// Reports and fails for negative sizes, of which no type can be made.
  mlir::LogicalResult requireSizes(llvm::ArrayRef<Dim> shape);

  /// The inputs that `value` is computed from.
  llvm::SmallVector<mlir::BlockArgument> inputsOf(mlir::Value value) const;
  /// Remembers the inputs that `value` is computed from: their values are needed to go on.
  void needValue(mlir::Value value);
  const llvm::SmallPtrSetImpl<mlir::Value> &neededInputs() const { return needed; }

private:
  /// Without `types` the op has one result, whose type is inferred. Null after a report, and where
  /// an operand is missing.
  mlir::Operation *build(llvm::StringRef name, llvm::ArrayRef<TensorType> types,
                         mlir::ValueRange operands,
                         llvm::ArrayRef<mlir::NamedAttribute> attributes);
  /// A view of another shape; reports negative sizes.
  template <typename Op>
  mlir::Value view(mlir::Value input, llvm::ArrayRef<Dim> shape,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return mlir::succeeded(requireSizes(shape))
               ? createAs<Op>(tensorType(input).withShape(shape), input, attributes)
               : mlir::Value();
  }
  static mlir::Value onlyResult(mlir::Operation *op) {
    return op ? op->getResult(0) : mlir::Value();
  }
  mlir::LogicalResult alignBroadcast(mlir::Operation *op);
  mlir::FailureOr<TensorType> inferType(mlir::Operation *op);

  ShapeFacts &facts;
  mlir::Block *sources; // the function's entry: constants and weights
  mlir::Block *nodes;   // appended to it by finish()
  mlir::OpBuilder builder;
  mlir::Location location;
  llvm::SmallPtrSet<mlir::Value, 4> needed;
};

} // namespace smelt::frontend
