// Normalisations over trailing axes, and over axes by name.
#include "frontend/ops/norm.h"

#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

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
  float epsilon = node.real("epsilon", 1e-5f);
  FailureOr<int64_t> axis =
      node.normalAxis(node.integer("axis", -1), tensorType(node.input(0)).getRank());
  // Before its opset the result may have the type of the scale, another than the input's.
  bool maySettleType = node.opset() < 17;
  if (failed(axis) || failed(maySettleType ? node.requireSameType({1, 2}) : node.requireSameType()))
    return failure();
  Value scale = fitToAxes(node, 1, node.input(0), *axis),
        bias = fitToAxes(node, 2, node.input(0), *axis);
  if (!scale || (node.input(2) && !bias))
    return failure();
  if (node.outputCount() > 1 && failed(outputStatistics(node, *axis, epsilon)))
    return failure();
  Value input = node.build.cast(node.input(0), tensorType(scale).getElementType());
  return node.output(layerNorm(node.build, input, scale, bias, *axis, epsilon));
}

/// The result has the type of the scale, which may differ from the input's.
LogicalResult importRmsNorm(NodeReader &node) {
  GraphBuilder &build = node.build;
  float epsilon = node.real("epsilon", 1e-5f);
  FailureOr<int64_t> axis =
      node.normalAxis(node.integer("axis", -1), tensorType(node.input(0)).getRank());
  if (failed(axis))
    return failure();
  Value scale = fitToAxes(node, 1, node.input(0), *axis);
  if (!scale)
    return failure();
  Type target = tensorType(scale).getElementType();
  if (target == tensorType(node.input(0)).getElementType())
    return node.output(rmsNorm(build, node.input(0), scale, *axis, epsilon));
  Value normalised = rmsNorm(build, node.input(0), Value(), *axis, epsilon);
  return node.output(build.create<MulOp>({build.cast(normalised, target), scale}));
}

/// (x - mean) / (deviation + 1e-9)
LogicalResult importMeanVarianceNorm(NodeReader &node) {
  GraphBuilder &build = node.build;
  Value input = build.widen(node.input(0));
  FailureOr<SmallVector<int64_t>> axes = node.normalAxes(
      node.integers("axes").value_or(SmallVector<int64_t>{0, 2, 3}), tensorType(input).getRank());
  if (failed(axes))
    return failure();
  Value centred = build.create<SubOp>({input, build.reduce(ReductionKind::mean, input, *axes)});
  Value variance =
      build.reduce(ReductionKind::mean, build.create<MulOp>({centred, centred}), *axes);
  Value least = build.scalar(1e-9, tensorType(input).getElementType());
  Value deviation = build.create<AddOp>({build.unary<SqrtOp>(variance), least});
  return node.output(build.cast(build.create<DivOp>({centred, deviation}),
                                tensorType(node.input(0)).getElementType()));
}

/// x / norm along one axis; 0 where the norm is 0.
LogicalResult importLpNorm(NodeReader &node) {
  GraphBuilder &build = node.build;
  Value input = build.widen(node.input(0));
  int64_t power = node.integer("p", 2);
  FailureOr<int64_t> axis = node.normalAxis(node.integer("axis", -1), tensorType(input).getRank());
  if (failed(axis))
    return failure();
  if (power != 1 && power != 2)
    return node.error() << "the norm with p = " << power << " is not supported, only 1 and 2 are";
  Value parts = power == 1 ? build.unary<AbsOp>(input) : build.create<MulOp>({input, input});
  Value norm = build.reduce(ReductionKind::sum, parts, *axis);
  if (power == 2)
    norm = build.unary<SqrtOp>(norm);
  Value zero = build.scalar(0, tensorType(input).getElementType());
  Value quotient = build.create<DivOp>({input, norm});
  Value result = build.create<SelectOp>({build.create<EqualOp>({norm, zero}), zero, quotient});
  return node.output(build.cast(result, tensorType(node.input(0)).getElementType()));
}

} // namespace

Value layerNorm(GraphBuilder &build, Value input, Value scale, Value bias, int64_t axis,
                float epsilon) {
  SmallVector<Value> operands{input};
  for (Value operand : {scale, bias})
    if (operand)
      operands.push_back(operand);
  auto segments = DenseI32ArrayAttr::get(build.getContext(), {1, scale ? 1 : 0, bias ? 1 : 0});
  return build.create<LayerNormOp>(operands, {build.attribute("axis", axis),
                                              build.attribute("epsilon", epsilon),
                                              build.attribute("operandSegmentSizes", segments)});
}

Value rmsNorm(GraphBuilder &build, Value input, Value scale, int64_t axis, float epsilon) {
  SmallVector<Value> operands{input};
  if (scale)
    operands.push_back(scale);
  return build.create<RmsNormOp>(
      operands, {build.attribute("axis", axis), build.attribute("epsilon", epsilon)});
}

Value fitToAxes(NodeReader &node, size_t index, Value normalised, int64_t axis) {
  auto normalisedAxes = [&] {
    SmallVector<Dim> shape = tensorType(normalised).getShape();
    return SmallVector<Dim>(ArrayRef(shape).drop_front(axis));
  };
  SmallVector<Dim> sizes = normalisedAxes();
  Value value = node.input(index);
  if (!value)
    return {};
  SmallVector<Dim> given = tensorType(value).getShape();
  // Leading ones, as in [1, 1, 768], say nothing.
  Value trimmed = value;
  if (given.size() > sizes.size())
    trimmed = node.build.reshape(value, ArrayRef(given).take_back(sizes.size()));
  GraphBuilder &build = node.build;
  if (!trimmed || failed(build.getFacts().requireBroadcast(build.getLocation(),
                                                           tensorType(trimmed).getShape(), sizes)))
    return {};
  sizes = normalisedAxes(); // a symbol that met the weight's size is that size by now
  auto broadcast = broadcastShapes(tensorType(trimmed).getShape(), sizes);
  if (failed(broadcast) || *broadcast != sizes)
    return node.error() << node.describe(index) << " does not fit the normalised axes of "
                        << node.describe(0),
           Value();
  return build.expand(trimmed, sizes);
}

ArrayRef<NodeRule> normRules() {
  static constexpr NodeRule kRules[] = {
      {"LayerNormalization", 1, 2, importLayerNorm}, // since 17; ONNX Runtime writes it before too
      {"LpNormalization", 1, 1, importLpNorm},
      {"MeanVarianceNormalization", 9, 1, importMeanVarianceNorm},
      {"RMSNormalization", 23, 2, importRmsNorm},
      {"SimplifiedLayerNormalization", 1, 2, importRmsNorm}, // which ONNX Runtime writes
  };
  return kRules;
}

} // namespace smelt::frontend
