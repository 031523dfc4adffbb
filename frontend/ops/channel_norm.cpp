// Normalisations that treat the channels of [N, C, spatial...] apart: by groups, by batch, by
// neighbours.
#include "frontend/node_table.h"
#include "frontend/ops/norm.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// value * scale + bias
Value scaleAndShift(GraphBuilder &build, Value value, Value scale, Value bias) {
  return build.create<AddOp>({build.create<MulOp>({value, scale}), bias});
}

LogicalResult requireChannels(NodeReader &node) {
  if (tensorType(node.input(0)).getRank() < 2)
    return node.error() << "needs a batch and channels, got " << node.describe(0);
  return success();
}

/// `groups` groups, or as many as there are channels where it is 0. Scale and bias have a value for
/// each channel, or for each group.
LogicalResult outputGroupNorm(NodeReader &node, int64_t groups, bool scalesGroups) {
  GraphBuilder &build = node.build;
  if (failed(requireChannels(node)) || failed(node.requireSameType()))
    return failure();
  auto channels = [&] { return tensorType(node.input(0)).getDim(1); };
  Dim scaled = scalesGroups ? build.size(groups) : channels();
  Value scale = perChannel(node, 1, scaled, 2), bias = perChannel(node, 2, scaled, 2);
  if (!scale || !bias)
    return failure();
  Value normalised = normaliseGroups(node, node.input(0), groups ? build.size(groups) : channels(),
                                     node.real("epsilon", 1e-5f));
  Value result = scaleAndShift(build, normalised, spreadOverGroups(build, scale, normalised),
                               spreadOverGroups(build, bias, normalised));
  return node.output(build.reshape(result, tensorType(node.input(0)).getShape()));
}

LogicalResult importInstanceNorm(NodeReader &node) { return outputGroupNorm(node, 0, false); }

template <bool scalesGroups> LogicalResult importGroupNorm(NodeReader &node) {
  int64_t groups = node.integer("num_groups", 0);
  if (groups < 1 || groups > kMaxElements)
    return node.error() << "cannot have " << groups << " groups";
  return outputGroupNorm(node, groups, scalesGroups);
}

/// What BatchNormalization computes with: all in the type of the widened input.
struct BatchNorm {
  NodeReader &node;
  GraphBuilder &build;
  Value input;
  Type element;
  /// Of each channel, broadcasting to the input; scale, bias, mean and variance are inputs 1 to 4.
  Value scale, bias, mean, variance;

  explicit BatchNorm(NodeReader &node)
      : node(node), build(node.build), input(build.widen(node.input(0))),
        element(tensorType(input).getElementType()) {}

  LogicalResult readParameters() {
    for (auto [index, parameter] :
         {std::pair<size_t, Value *>(1, &scale), {2, &bias}, {3, &mean}, {4, &variance}})
      if (!(*parameter = build.cast(readParameter(index), element)))
        return failure();
    return success();
  }

  LogicalResult output() {
    Value addend = build.scalar(node.real("epsilon", 1e-5f), element);
    Value inverse = build.unary<RsqrtOp>(build.create<AddOp>({variance, addend}));
    Value result = scaleAndShift(build, build.create<SubOp>({input, mean}),
                                 build.create<MulOp>({scale, inverse}), bias);
    return node.output(build.cast(result, tensorType(node.input(0)).getElementType()));
  }

  /// Mean and variance become those of this batch; those that ran so far move towards them.
  LogicalResult useBatch() {
    int64_t rank = tensorType(input).getRank();
    SmallVector<int64_t> axes;
    for (int64_t axis = 0; axis < rank; ++axis)
      if (axis != 1)
        axes.push_back(axis);
    Value oldMean = mean, oldVariance = variance;
    mean = build.reduce(ReductionKind::mean, input, axes);
    Value centred = build.create<SubOp>({input, mean});
    variance = build.reduce(ReductionKind::mean, build.create<MulOp>({centred, centred}), axes);
    return success(succeeded(outputRunning(oldMean, mean, 1)) &&
                   succeeded(outputRunning(oldVariance, variance, 2)));
  }

private:
  /// Of each element of a sample where the attribute `spatial`, which opset 9 dropped, says so.
  Value readParameter(size_t index) {
    SmallVector<Dim> shape = tensorType(input).getShape();
    if (node.opset() >= 9 || node.integer("spatial", 1))
      return perChannel(node, index, shape.size() > 1 ? shape[1] : build.size(1), shape.size());
    if (tensorType(node.input(index)).getShape() == ArrayRef(shape).drop_front(1))
      return node.input(index);
    node.error() << node.describe(index) << " does not fit the samples of " << node.describe(0);
    return {};
  }

  LogicalResult outputRunning(Value old, Value now, size_t index) {
    float momentum = node.real("momentum", 0.9f);
    Value kept = build.create<MulOp>({old, build.scalar(momentum, element)});
    Value moved = build.create<MulOp>({now, build.scalar(1.0 - momentum, element)});
    Value running = build.cast(build.create<AddOp>({kept, moved}),
                               tensorType(node.input(index + 2)).getElementType());
    if (!running)
      return failure();
    return node.output(build.reshape(running, tensorType(node.input(index + 2)).getShape()), index);
  }
};

LogicalResult importBatchNorm(NodeReader &node) {
  if (tensorType(node.input(0)).getRank() < 1)
    return node.error() << "needs a batch, got " << node.describe(0);
  BatchNorm norm(node);
  bool isTraining = node.opset() >= 14 && node.flag("training_mode");
  if (failed(norm.readParameters()) || (isTraining && failed(norm.useBatch())))
    return failure();
  return norm.output();
}

/// x / (bias + alpha / size * sum of squares)^beta, summed over `size` neighbouring channels.
LogicalResult importLrn(NodeReader &node) {
  GraphBuilder &build = node.build;
  int64_t size = node.integer("size", 0);
  if (failed(requireChannels(node)))
    return failure();
  if (size < 1 || size > kMaxElements)
    return node.error() << "cannot sum over " << size << " channels";
  Value input = build.widen(node.input(0));
  Type element = tensorType(input).getElementType();
  auto number = [&](double value) { return build.scalar(value, element); };
  Value padded = build.pad(build.create<MulOp>({input, input}), 1, build.size((size - 1) / 2),
                           build.size(size / 2), number(0));
  SmallVector<Dim> shape = tensorType(input).getShape(), windowed = shape;
  windowed.insert(windowed.begin() + 2, build.size(size));
  Value windows = build.createAs<WindowsOp>(TensorType::get(windowed, element), padded,
                                            {build.attribute("axis", int64_t{1}),
                                             build.attribute("stride", int64_t{1}),
                                             build.attribute("dilation", int64_t{1})});
  // The window goes last: sums of rows take it as it is read, others in memory.
  auto last = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(windowed.size())));
  last.erase(last.begin() + 2);
  last.push_back(2);
  Value sum = build.reduce(ReductionKind::sum, build.transpose(windows, last), last.size() - 1);
  if (!sum)
    return failure();
  Value scaled =
      build.create<MulOp>({build.reshape(sum, shape),
                           number(double{node.real("alpha", 1e-4f)} / static_cast<double>(size))});
  Value base = build.create<AddOp>({scaled, number(node.real("bias", 1))});
  Value divisor = build.create<PowOp>({base, number(node.real("beta", 0.75f))});
  return node.output(build.cast(build.create<DivOp>({input, divisor}),
                                tensorType(node.input(0)).getElementType()));
}

} // namespace

Value perChannel(NodeReader &node, size_t index, Dim channels, size_t rank) {
  GraphBuilder &build = node.build;
  Value value = node.input(index);
  if (tensorType(value).getRank() != 1)
    return node.error() << "needs a vector, got " << node.describe(index), Value();
  if (failed(build.getFacts().requireEqual(build.getLocation(), tensorType(value).getDim(0),
                                           channels, "each channel has a value")))
    return {};
  SmallVector<Dim> shape(std::max<size_t>(rank, 2) - 1, build.size(1));
  shape[0] = tensorType(value).getDim(0);
  return build.reshape(value, shape);
}

Value normaliseGroups(NodeReader &node, Value input, Dim groups, float epsilon) {
  GraphBuilder &build = node.build;
  SmallVector<Dim> shape = tensorType(input).getShape();
  std::optional<Dim> size = shape[1].exactDiv(groups);
  if (!size)
    return node.error() << "the channels of " << node.describe(0) << " do not make "
                        << groups.toString()
                        << " groups of one size; their number must be constant",
           Value();
  if (!size->isConstant(1) || shape.size() == 2) { // else it has this shape
    shape[1] = *size;
    shape.insert(shape.begin() + 1, groups);
  }
  return layerNorm(build, build.reshape(input, shape), Value(), Value(), 2, epsilon);
}

Value spreadOverGroups(GraphBuilder &build, Value values, Value normalised) {
  if (!values || !normalised)
    return {};
  SmallVector<Dim> shape = tensorType(normalised).getShape();
  shape.erase(shape.begin());
  if (tensorType(values).getDim(0) == shape[0])
    shape[1] = build.size(1);
  for (Dim &dim : MutableArrayRef(shape).drop_front(2))
    dim = build.size(1);
  return build.reshape(values, shape);
}

ArrayRef<NodeRule> channelNormRules() {
  static constexpr NodeRule kRules[] = {
      {"BatchNormalization", 1, 5, importBatchNorm},
      {"GroupNormalization", 18, 3, importGroupNorm<true>},
      {"GroupNormalization", 21, 3, importGroupNorm<false>},
      {"InstanceNormalization", 1, 3, importInstanceNorm},
      {"LRN", 1, 1, importLrn},
  };
  return kRules;
}

} // namespace smelt::frontend
