// Normalisations.
#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Scale and bias in the shape of the normalised axes.
Value fitToAxes(NodeReader &node, size_t index, int64_t axis) {
  auto normalisedAxes = [&] {
    SmallVector<Dim> shape = tensorType(node.input(0)).getShape();
    return SmallVector<Dim>(ArrayRef(shape).drop_front(axis));
  };
  SmallVector<Dim> normalised = normalisedAxes();
  Value value = node.input(index);
  if (!value)
    return {};
  SmallVector<Dim> given = tensorType(value).getShape();
  // Leading ones, as in [1, 1, 768], say nothing.
  Value trimmed = value;
  if (given.size() > normalised.size())
    trimmed = node.build.reshape(value, ArrayRef(given).take_back(normalised.size()));
  GraphBuilder &build = node.build;
  if (!trimmed || failed(build.getFacts().requireBroadcast(
                      build.getLocation(), tensorType(trimmed).getShape(), normalised)))
    return {};
  normalised = normalisedAxes(); // a symbol that met the weight's size is that size by now
  auto broadcast = broadcastShapes(tensorType(trimmed).getShape(), normalised);
  if (failed(broadcast) || *broadcast != normalised)
    return node.error() << node.describe(index) << " does not fit the normalised axes of "
                        << node.describe(0),
           Value();
  return build.expand(trimmed, normalised);
}

/// Mean and 1 / sqrt(variance + epsilon) over the normalised axes, in float, for models that read
/// them.
LogicalResult outputStatistics(NodeReader &node, int64_t axis, float epsilon) {
  GraphBuilder &build = node.build;
  TensorType type = tensorType(node.input(0));
  Type f32 = Float32Type::get(build.getContext());
  auto axes = llvm::to_vector(llvm::seq<int64_t>(axis, type.getRank()));
  Value input = build.cast(node.input(0), f32);
  Value mean = build.reduce(ReductionKind::mean, input, axes);
  Value centred = build.create<SubOp>({input, mean});
  Value variance = build.reduce(ReductionKind::mean, build.create<MulOp>({centred, centred}), axes);
  Value inverse = build.unary<RsqrtOp>(build.create<AddOp>({variance, build.scalar(epsilon, f32)}));
  return success(succeeded(node.output(mean, 1)) && succeeded(node.output(inverse, 2)));
}

LogicalResult importLayerNorm(NodeReader &node) {
  GraphBuilder &build = node.build;
  float epsilon = node.real("epsilon", 1e-5f);
  FailureOr<int64_t> axis =
      node.normalAxis(node.integer("axis", -1), tensorType(node.input(0)).getRank());
  if (failed(axis) || failed(node.requireSameType()))
    return failure();
  Value scale = fitToAxes(node, 1, *axis), bias = fitToAxes(node, 2, *axis);
  if (!scale || (node.input(2) && !bias))
    return failure();
  SmallVector<Value> operands{node.input(0), scale};
  if (bias)
    operands.push_back(bias);
  auto segments = DenseI32ArrayAttr::get(build.getContext(), {1, 1, bias ? 1 : 0});
  if (node.outputCount() > 1 && failed(outputStatistics(node, *axis, epsilon)))
    return failure();
  return node.output(build.create<LayerNormOp>(
      operands, {build.attribute("axis", *axis), build.attribute("epsilon", epsilon),
                 build.attribute("operandSegmentSizes", segments)}));
}

/// The result has the type of the scale, which may differ from the input's.
LogicalResult importRmsNorm(NodeReader &node) {
  GraphBuilder &build = node.build;
  float epsilon = node.real("epsilon", 1e-5f);
  FailureOr<int64_t> axis =
      node.normalAxis(node.integer("axis", -1), tensorType(node.input(0)).getRank());
  if (failed(axis))
    return failure();
  Value scale = fitToAxes(node, 1, *axis);
  if (!scale)
    return failure();
  SmallVector<NamedAttribute> attributes{build.attribute("axis", *axis),
                                         build.attribute("epsilon", epsilon)};
  Type target = tensorType(scale).getElementType();
  if (target == tensorType(node.input(0)).getElementType())
    return node.output(build.create<RmsNormOp>({node.input(0), scale}, attributes));
  Value normalised = build.create<RmsNormOp>(node.input(0), attributes);
  return node.output(build.create<MulOp>({build.cast(normalised, target), scale}));
}

} // namespace

ArrayRef<NodeRule> normRules() {
  static constexpr NodeRule kRules[] = {
      {"LayerNormalization", 17, 2, importLayerNorm},
      {"RMSNormalization", 23, 2, importRmsNorm},
  };
  return kRules;
}

} // namespace smelt::frontend
