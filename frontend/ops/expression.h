// Formulas over tensors: operators create elementwise ops, numbers become scalars of the element
// type. Null operands make null results.
#pragma once

#include "frontend/graph_builder.h"

namespace smelt::frontend {

class Expression {
public:
  Expression(GraphBuilder &build, mlir::Value value) : builder(&build), tensor(value) {}

  mlir::Value value() const { return tensor; }
  GraphBuilder &build() const { return *builder; }
  Expression number(double number) const;
  /// In another element type; of another shape.
  Expression as(mlir::Type elementType) const { return with(builder->cast(tensor, elementType)); }
  Expression reshaped(llvm::ArrayRef<Dim> shape) const {
    return with(builder->reshape(tensor, shape));
  }
  template <typename Op> Expression apply() const { return with(builder->unary<Op>(tensor)); }
  template <typename Op> Expression apply(Expression other) const {
    return with(builder->create<Op>({tensor, other.tensor}));
  }

private:
  Expression with(mlir::Value value) const { return {*builder, value}; }

  GraphBuilder *builder;
  mlir::Value tensor;
};

inline Expression operator+(Expression a, Expression b) { return a.apply<AddOp>(b); }
inline Expression operator-(Expression a, Expression b) { return a.apply<SubOp>(b); }
inline Expression operator*(Expression a, Expression b) { return a.apply<MulOp>(b); }
inline Expression operator/(Expression a, Expression b) { return a.apply<DivOp>(b); }
inline Expression operator<(Expression a, Expression b) { return a.apply<LessOp>(b); }
inline Expression operator+(Expression a, double b) { return a + a.number(b); }
inline Expression operator-(Expression a, double b) { return a - a.number(b); }
inline Expression operator-(double a, Expression b) { return b.number(a) - b; }
inline Expression operator*(Expression a, double b) { return a * a.number(b); }
inline Expression operator/(Expression a, double b) { return a / a.number(b); }
inline Expression operator<(Expression a, double b) { return a < a.number(b); }

inline Expression floor(Expression x) { return x.apply<FloorOp>(); }
inline Expression ceil(Expression x) { return x.apply<CeilOp>(); }
inline Expression abs(Expression x) { return x.apply<AbsOp>(); }
inline Expression minimum(Expression a, Expression b) { return a.apply<MinOp>(b); }
inline Expression maximum(Expression a, Expression b) { return a.apply<MaxOp>(b); }
inline Expression either(Expression a, Expression b) { return a.apply<OrOp>(b); }
/// `x` where the condition holds, else `y`.
Expression select(Expression condition, Expression x, Expression y);

/// A size as a scalar of `elementType`, exact in float64.
Expression sizeAs(GraphBuilder &build, Dim size, mlir::Type elementType);
/// 0, 1, 2, ...
Expression countTo(GraphBuilder &build, Dim size, mlir::Type elementType);

/// The weight of an element `distance` >= 0 away in cubic convolution, which reaches 2 far.
Expression cubicWeight(Expression distance, double coefficient);

} // namespace smelt::frontend
