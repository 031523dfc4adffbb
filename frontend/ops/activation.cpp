// Activations and softmax.
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
LogicalResult importSwish(NodeReader &node) {
  GraphBuilder &build = node.build;
  float alpha = node.real("alpha", 1);
  Value input = node.input(0);
  if (alpha == 1)
    return node.output(build.unary<SiluOp>(input));
  Value scaled =
      build.create<MulOp>({input, build.scalar(alpha, tensorType(input).getElementType())});
  return node.output(build.create<MulOp>({input, build.unary<SigmoidOp>(scaled)}));
}

Value softmax(GraphBuilder &build, Value input, int64_t axis) {
  return build.unary<SoftmaxOp>(input, build.attribute("axis", axis));
}

/// x - max - log(sum(exp(x - max))), which stays finite where softmax underflows.
Value logSoftmax(GraphBuilder &build, Value input, int64_t axis) {
  Value shifted = build.create<SubOp>({input, build.reduce(ReductionKind::max, input, axis)});
  Value sum = build.reduce(ReductionKind::sum, build.unary<ExpOp>(shifted), axis);
  return build.create<SubOp>({shifted, build.unary<LogOp>(sum)});
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

ArrayRef<NodeRule> activationRules() {
  static constexpr NodeRule kRules[] = {
      {"Gelu", 20, 1, importGelu},
      {"LogSoftmax", 1, 1, importFlatSoftmax<logSoftmax>},
      {"LogSoftmax", 13, 1, importSoftmax<logSoftmax>},
      {"Relu", 6, 1, importActivation<ReluOp>},
      {"Sigmoid", 6, 1, importActivation<SigmoidOp>},
      {"Softmax", 1, 1, importFlatSoftmax<softmax>},
      {"Softmax", 13, 1, importSoftmax<softmax>},
      {"Softplus", 1, 1, importActivation<SoftplusOp>},
      {"Swish", 24, 1, importSwish},
      {"Tanh", 6, 1, importActivation<TanhOp>},
  };
  return kRules;
}

} // namespace smelt::frontend
