// Reductions, running sums and products.
#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// The axes to reduce: all where none are named, unless the node says that this means none.
FailureOr<SmallVector<int64_t>> reducedAxes(NodeReader &node) {
  int64_t rank = tensorType(node.input(0)).getRank();
  auto given = node.axes(1);
  if (failed(given))
    return failure();
  if (*given && !(*given)->empty())
    return node.normalAxes(**given, rank);
  if (node.flag("noop_with_empty_axes"))
    return SmallVector<int64_t>();
  return llvm::to_vector(llvm::seq<int64_t>(0, rank));
}

/// Drops the reduced axes, which are 1, where the node does not keep them.
LogicalResult finish(NodeReader &node, Value result, ArrayRef<int64_t> axes) {
  if (!result)
    return failure();
  SmallVector<Dim> shape = tensorType(result).getShape();
  if (!node.integer("keepdims", 1))
    for (int64_t axis : llvm::reverse(axes))
      shape.erase(shape.begin() + axis);
  return node.output(node.build.reshape(result, shape));
}

template <ReductionKind kind> LogicalResult importReduce(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<SmallVector<int64_t>> axes = reducedAxes(node);
  if (failed(axes))
    return failure();
  Value input = node.input(0);
  if (axes->empty())
    return node.output(input);
  Type element = tensorType(input).getElementType();
  if (!element.isInteger(1))
    return finish(node, build.reduce(kind, input, *axes), *axes);
  // Counted, so that an empty maximum (the least number) is false and an empty minimum true.
  Type i32 = IntegerType::get(build.getContext(), 32);
  Value reduced = build.reduce(kind, build.cast(input, i32), *axes);
  return finish(node, build.create<LessOp>({build.scalar(0, i32), reduced}), *axes);
}

using Composition = Value (*)(GraphBuilder &, Value, ArrayRef<int64_t>);

Value sumOf(GraphBuilder &build, Value input, ArrayRef<int64_t> axes) {
  return build.reduce(ReductionKind::sum, input, axes);
}
Value sumSquare(GraphBuilder &build, Value input, ArrayRef<int64_t> axes) {
  return sumOf(build, build.create<MulOp>({input, input}), axes);
}
Value norm1(GraphBuilder &build, Value input, ArrayRef<int64_t> axes) {
  return sumOf(build, build.unary<AbsOp>(input), axes);
}
Value norm2(GraphBuilder &build, Value input, ArrayRef<int64_t> axes) {
  return build.unary<SqrtOp>(sumSquare(build, input, axes));
}
Value logSum(GraphBuilder &build, Value input, ArrayRef<int64_t> axes) {
  return build.unary<LogOp>(sumOf(build, input, axes));
}
/// With the largest element taken out, so that no exponential overflows; an infinite one stays in.
Value logSumExp(GraphBuilder &build, Value input, ArrayRef<int64_t> axes) {
  Value largest = build.reduce(ReductionKind::max, input, axes);
  Value zero = build.scalar(0, tensorType(input).getElementType());
  largest = build.create<SelectOp>({build.create<IsInfOp>(largest), zero, largest});
  Value shifted = build.unary<ExpOp>(build.create<SubOp>({input, largest}));
  return build.create<AddOp>({logSum(build, shifted, axes), largest});
}

template <Composition compose> LogicalResult importComposed(NodeReader &node) {
  FailureOr<SmallVector<int64_t>> axes = reducedAxes(node);
  if (failed(axes))
    return failure();
  // Squares and exponentials of 16-bit floats would overflow.
  Value result = compose(node.build, node.build.widen(node.input(0)), *axes);
  if (result)
    result = node.build.cast(result, tensorType(node.input(0)).getElementType());
  return finish(node, result, *axes);
}

template <typename Op> LogicalResult importRunning(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<SmallVector<int64_t>> given = node.constants(1, "the axis");
  if (failed(given))
    return failure();
  if (given->size() != 1)
    return node.error() << "needs one axis, got " << node.describe(1);
  FailureOr<int64_t> axis = node.normalAxis(given->front(), tensorType(node.input(0)).getRank());
  if (failed(axis))
    return failure();
  SmallVector<NamedAttribute> attributes{build.attribute("axis", *axis)};
  for (StringRef name : {"exclusive", "reverse"})
    if (node.flag(name))
      attributes.push_back(build.flag(name));
  return node.output(build.unary<Op>(node.input(0), attributes));
}

} // namespace

ArrayRef<NodeRule> reductionRules() {
  static constexpr NodeRule kRules[] = {
      {"CumProd", 26, 2, importRunning<CumprodOp>},
      {"CumSum", 11, 2, importRunning<CumsumOp>},
      {"ReduceL1", 1, 1, importComposed<norm1>},
      {"ReduceL2", 1, 1, importComposed<norm2>},
      {"ReduceLogSum", 1, 1, importComposed<logSum>},
      {"ReduceLogSumExp", 1, 1, importComposed<logSumExp>},
      {"ReduceMax", 1, 1, importReduce<ReductionKind::max>},
      {"ReduceMean", 1, 1, importReduce<ReductionKind::mean>},
      {"ReduceMin", 1, 1, importReduce<ReductionKind::min>},
      {"ReduceProd", 1, 1, importReduce<ReductionKind::prod>},
      {"ReduceSum", 1, 1, importReduce<ReductionKind::sum>},
      {"ReduceSumSquare", 1, 1, importComposed<sumSquare>},
  };
  return kRules;
}

} // namespace smelt::frontend
