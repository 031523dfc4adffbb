// Activations and softmax.
#include "frontend/ops/softmax.h"

#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

template <typename Op> LogicalResult importActivation(NodeReader &node) {
  return node.output(node.build.unary<Op>(node.input(0)));
}

LogicalResult importGelu(NodeReader &node) {
  std::string approximate = node.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return node.error() << "the approximation '" << approximate << "' is neither 'none' nor 'tanh'";
  SmallVector<NamedAttribute> attributes;
  if (approximate == "tanh")
    attributes.push_back(node.build.flag("tanh"));
  return node.output(node.build.unary<GeluOp>(node.input(0), attributes));
}

/// x * sigmoid(alpha x)
Value swish(GraphBuilder &build, Value input, float alpha) {
  if (alpha == 1)
    return build.unary<SiluOp>(input);
  Value scaled =
      build.create<MulOp>({input, build.scalar(alpha, tensorType(input).getElementType())});
  return build.create<MulOp>({input, build.unary<SigmoidOp>(scaled)});
}

LogicalResult importSwish(NodeReader &node) {
  return node.output(swish(node.build, node.input(0), node.real("alpha", 1)));
}

/// swish(a) * b
LogicalResult importSwiGlu(NodeReader &node) {
  GraphBuilder &build = node.build;
  if (failed(node.requireSameType()))
    return failure();
  Value product =
      build.create<MulOp>({swish(build, node.input(0), node.real("alpha", 1)), node.input(1)});
  if (!product)
    return failure();
  for (size_t index : {0, 1})
    if (tensorType(node.input(index)).getShape() != tensorType(product).getShape())
      return node.error() << "its inputs " << node.describe(0) << " and " << node.describe(1)
                          << " must have one shape";
  return node.output(product);
}

/// x * tanh(log(1 + e^x))
LogicalResult importMish(NodeReader &node) {
  GraphBuilder &build = node.build;
  Value input = build.widen(node.input(0));
  Value gate = build.unary<TanhOp>(build.unary<SoftplusOp>(input));
  return node.output(
      build.cast(build.create<MulOp>({input, gate}), tensorType(node.input(0)).getElementType()));
}

/// x / (1 + |x|)
LogicalResult importSoftsign(NodeReader &node) {
  GraphBuilder &build = node.build;
  Value input = node.input(0);
  Value one = build.scalar(1, tensorType(input).getElementType());
  Value divisor = build.create<AddOp>({build.unary<AbsOp>(input), one});
  return node.output(build.create<DivOp>({input, divisor}));
}

Value softmax(GraphBuilder &build, Value input, int64_t axis) {
  return build.unary<SoftmaxOp>(input, build.attribute("axis", axis));
}

/// One at the first of the largest along the axis, where NaN is larger than any number; else zero.
Value hardmax(GraphBuilder &build, Value input, int64_t axis) {
  TensorType type = tensorType(input);
  int64_t last = type.getRank() - 1;
  Type i64 = IntegerType::get(build.getContext(), 64);
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, last + 1));
  std::swap(permutation[axis], permutation[last]); // rows are contiguous at the end
  input = build.transpose(input, permutation);
  if (!input)
    return {};
  SmallVector<Dim> shape = tensorType(input).getShape();
  Dim size = shape.back();
  if (failed(build.getFacts().requireAtMost(build.getLocation(), build.size(1), size,
                                            "the axis has a largest element")))
    return {};
  shape.back() = build.size(1);
  TensorType values = type.withShape(shape);
  auto largest = build.createAll<TopKOp>({values, values.withElementType(i64)}, input,
                                         build.attribute("axis", last));
  if (largest.empty())
    return {};
  Value positions = build.createAs<IotaOp>(TensorType::get({size}, i64), {});
  Value isFirst = build.create<EqualOp>({positions, largest[1]});
  return build.transpose(build.cast(isFirst, type.getElementType()), permutation);
}

using SoftmaxFunction = Value (*)(GraphBuilder &, Value, int64_t);

template <SoftmaxFunction function> LogicalResult importSoftmax(NodeReader &node) {
  FailureOr<int64_t> axis =
      node.normalAxis(node.integer("axis", -1), tensorType(node.input(0)).getRank());
  if (failed(axis))
    return failure();
  return node.output(function(node.build, node.input(0), *axis));
}

/// Before opset 13 the input was seen as a matrix: all axes from `axis` on share one softmax.
template <SoftmaxFunction function> LogicalResult importFlatSoftmax(NodeReader &node) {
  GraphBuilder &build = node.build;
  TensorType type = tensorType(node.input(0));
  FailureOr<int64_t> axis = node.normalAxis(node.integer("axis", 1), type.getRank());
  if (failed(axis))
    return failure();
  if (*axis + 1 == type.getRank())
    return node.output(function(build, node.input(0), *axis));
  SmallVector<Dim> flat = type.getShape();
  Dim last = build.size(1);
  for (Dim dim : llvm::drop_begin(flat, *axis))
    last = last * dim;
  flat.truncate(*axis);
  flat.push_back(last);
  return node.output(
      build.reshape(function(build, build.reshape(node.input(0), flat), *axis), type.getShape()));
}

} // namespace

Value logSoftmax(GraphBuilder &build, Value input, int64_t axis) {
  Value shifted = build.create<SubOp>({input, build.reduce(ReductionKind::max, input, axis)});
  Value sum = build.reduce(ReductionKind::sum, build.unary<ExpOp>(shifted), axis);
  return build.create<SubOp>({shifted, build.unary<LogOp>(sum)});
}

ArrayRef<NodeRule> activationRules() {
  static constexpr NodeRule kRules[] = {
      {"Gelu", 20, 1, importGelu},
      {"Hardmax", 1, 1, importFlatSoftmax<hardmax>},
      {"Hardmax", 13, 1, importSoftmax<hardmax>},
      {"LogSoftmax", 1, 1, importFlatSoftmax<logSoftmax>},
      {"LogSoftmax", 13, 1, importSoftmax<logSoftmax>},
      {"Mish", 18, 1, importMish},
      {"Relu", 1, 1, importActivation<ReluOp>},
      {"Sigmoid", 1, 1, importActivation<SigmoidOp>},
      {"Softmax", 1, 1, importFlatSoftmax<softmax>},
      {"Softmax", 13, 1, importSoftmax<softmax>},
      {"Softplus", 1, 1, importActivation<SoftplusOp>},
      {"Softsign", 1, 1, importSoftsign},
      {"SwiGLU", 28, 2, importSwiGlu},
      {"Swish", 24, 1, importSwish},
      {"Tanh", 1, 1, importActivation<TanhOp>},
  };
  return kRules;
}

} // namespace smelt::frontend
