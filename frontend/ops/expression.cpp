#include "frontend/ops/expression.h"

using namespace mlir;

namespace smelt::frontend {

Expression Expression::number(double number) const {
  if (!tensor)
    return *this;
  return with(builder->scalar(number, tensorType(tensor).getElementType()));
}

Expression select(Expression condition, Expression x, Expression y) {
  GraphBuilder &build = condition.build();
  return {build, build.create<SelectOp>({condition.value(), x.value(), y.value()})};
}

Expression sizeAs(GraphBuilder &build, Dim size, Type elementType) {
  Type i64 = IntegerType::get(build.getContext(), 64);
  if (auto constant = size.asConstant(); constant && !elementType.isInteger())
    return {build, build.scalar(static_cast<double>(*constant), elementType)};
  return {build, build.cast(build.dim(size, i64), elementType)};
}

Expression countTo(GraphBuilder &build, Dim size, Type elementType) {
  return {build, build.createAs<IotaOp>(TensorType::get({size}, elementType), {})};
}

Expression cubicWeight(Expression distance, double coefficient) {
  double a = coefficient;
  Expression x = distance, square = x * x, cube = square * x;
  Expression near = cube * (a + 2) - square * (a + 3) + 1,
             far = cube * a - square * (5 * a) + x * (8 * a) - 4 * a;
  return select(x < 1, near, select(x < 2, far, x.number(0)));
}

} // namespace smelt::frontend
