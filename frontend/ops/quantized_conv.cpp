// Convolutions of bytes, in int32: products of the windows of the data by the filters.
//
// The windows are views of the data, padded with its zero point, which stands for 0: [N, groups,
// positions, K] by [groups, K, filters of a group], so that the product stays one of bytes.
#include "frontend/node_table.h"
#include "frontend/ops/quantized_product.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Where a node has its data, its filter and their zero points.
struct ConvInputs {
  size_t data, dataZero, filter, filterZero;
};

Dim productOf(GraphBuilder &build, ArrayRef<Dim> sizes) {
  return product(sizes, build.getContext());
}

/// A convolution as a product of matrices.
class ByteConvolution {
public:
  ByteConvolution(NodeReader &node, ConvInputs inputs, const Convolution &conv)
      : node(node), build(node.build), inputs(inputs), conv(conv),
        input(tensorType(node.input(inputs.data)).getShape()),
        filter(tensorType(node.input(inputs.filter)).getShape()) {}

  /// [N, filters, positions...] in int32; null after a report.
  Value sums() {
    Value zero = scalarZeroPoint();
    QuantizedFactor windows{windowsOf(zero), {}, 3}, filters{filterMatrix(), {}, 1};
    if (!windows.values || !filters.values)
      return {};
    if (node.input(inputs.dataZero))
      windows.zeroPoint = build.cast(zero, int32(build));
    if (node.input(inputs.filterZero))
      filters.zeroPoint = build.cast(perFilter(inputs.filterZero), int32(build));
    Value sums = build.create<MatmulOp>({windows.values, filters.values});
    sums = build.transposeMatrix(centreProduct(build, sums, windows, filters));
    SmallVector<Dim> shape{input[0], filter[0]};
    shape.append(counts);
    return sums ? build.reshape(sums, shape) : Value();
  }

  /// Input `index`, one value or one for each filter, as it broadcasts with the product.
  Value perFilter(size_t index) {
    Value given = node.input(index);
    if (tensorType(given).getNumElements().isConstant(1))
      return build.reshape(given, {});
    if (failed(requireBias(node, index, inputs.filter)))
      return {};
    Dim groups = build.size(conv.groups);
    return build.reshape(given, {groups, build.size(1), filter[0].floorDiv(groups)});
  }

private:
  size_t spatial() const { return input.size() - 2; }

  Value scalarZeroPoint() {
    Value given = node.input(inputs.dataZero);
    Type type = tensorType(node.input(inputs.data)).getElementType();
    if (!given)
      return build.scalar(0, type);
    if (!tensorType(given).getNumElements().isConstant(1)) {
      node.error() << "needs one zero point for its data, got " << node.describe(inputs.dataZero);
      return {};
    }
    return build.reshape(given, {});
  }

  /// The data, padded and cut into windows: [N, groups, channels, (position, element)...].
  Value cutWindows(Value zero) {
    const Window &window = conv.window;
    SmallVector<Dim> split{input[0], build.size(conv.groups), filter[1]};
    split.append(input.begin() + 2, input.end());
    Value data = build.reshape(node.input(inputs.data), split);
    for (size_t axis = 0; axis < spatial(); ++axis) {
      Dim before = build.size(window.pads[axis]), after = build.size(window.pads[axis + spatial()]),
          padded = input[axis + 2] + before + after, taps = filter[axis + 2],
          reach = window.reach(axis, taps);
      if (failed(build.getFacts().requireAtMost(build.getLocation(), reach, padded,
                                                "the filter fits into the padded input")))
        return {};
      counts.push_back((padded - reach).floorDiv(build.size(window.strides[axis])) + 1);
      size_t at = 3 + 2 * axis;
      data = build.windows(build.pad(data, at, before, after, zero), at, counts.back(), taps,
                           window.strides[axis], window.dilations[axis]);
    }
    return data;
  }

  Value windowsOf(Value zero) {
    Value data = zero ? cutWindows(zero) : Value();
    SmallVector<int64_t> order{0, 1}, elements{2};
    for (size_t axis = 0; axis < spatial(); ++axis) {
      order.push_back(3 + 2 * axis);
      elements.push_back(4 + 2 * axis);
    }
    order.append(elements);
    data = build.transpose(data, order);
    return data ? build.reshape(data, {input[0], build.size(conv.groups), productOf(build, counts),
                                       productOf(build, ArrayRef(filter).drop_front(1))})
                : Value();
  }

  Value filterMatrix() {
    Dim groups = build.size(conv.groups);
    return build.transposeMatrix(build.reshape(
        node.input(inputs.filter),
        {groups, filter[0].floorDiv(groups), productOf(build, ArrayRef(filter).drop_front(1))}));
  }

  NodeReader &node;
  GraphBuilder &build;
  ConvInputs inputs;
  const Convolution &conv;
  SmallVector<Dim> input, filter, counts; ///< counts: windows along each spatial axis
};

LogicalResult checkInputs(NodeReader &node, ConvInputs inputs, const Convolution &conv) {
  Dim filters = tensorType(node.input(inputs.filter)).getDim(0);
  if (filters.asConstant() && *filters.asConstant() % conv.groups != 0)
    return node.error() << "its filter " << node.describe(inputs.filter) << " does not divide into "
                        << conv.groups << " groups";
  if (failed(node.requireSameType({inputs.data, inputs.dataZero})))
    return failure();
  return node.requireSameType({inputs.filter, inputs.filterZero});
}

LogicalResult importConvInteger(NodeReader &node) {
  constexpr ConvInputs kInputs{0, 2, 1, 3};
  FailureOr<Convolution> conv = Convolution::read(node, kInputs.data, kInputs.filter);
  if (failed(conv) || failed(checkInputs(node, kInputs, *conv)))
    return failure();
  return node.output(ByteConvolution(node, kInputs, *conv).sums());
}

/// A value for each filter, or one for all, as it broadcasts with [N, filters, positions...].
Value alongFilters(NodeReader &node, size_t index, size_t rank) {
  Value given = node.input(index);
  if (tensorType(given).getNumElements().isConstant(1))
    return node.build.reshape(given, {});
  constexpr size_t kFilter = 3;
  if (failed(requireBias(node, index, kFilter)))
    return {};
  SmallVector<Dim> shape(rank - 1, node.build.size(1));
  shape.front() = tensorType(given).getDim(0);
  return node.build.reshape(given, shape);
}

/// x_scale w_scale / y_scale times the sums, to which the bias is added as they are.
LogicalResult importQLinearConv(NodeReader &node) {
  constexpr ConvInputs kInputs{0, 2, 3, 5};
  constexpr size_t kBias = 8;
  GraphBuilder &build = node.build;
  FailureOr<Convolution> conv = Convolution::read(node, kInputs.data, kInputs.filter);
  if (failed(conv) || failed(checkInputs(node, kInputs, *conv)))
    return failure();
  Value sums = ByteConvolution(node, kInputs, *conv).sums();
  if (!sums)
    return failure();
  size_t rank = tensorType(sums).getRank();
  if (node.input(kBias))
    sums = build.create<AddOp>({sums, alongFilters(node, kBias, rank)});
  auto single = [&](size_t index) {
    return build.cast(alongFilters(node, index, rank), float32(build));
  };
  Value factor = build.create<MulOp>({single(1), single(4)});
  factor = build.create<DivOp>({factor, single(6)});
  Value scaled = build.create<MulOp>({build.cast(sums, float32(build)), factor});
  Value zeroPoint = alongFilters(node, 7, rank);
  if (!scaled || !zeroPoint)
    return failure();
  return node.output(
      quantizeTo(build, scaled, zeroPoint, tensorType(node.input(7)).getElementType()));
}

} // namespace

ArrayRef<NodeRule> quantizedConvRules() {
  static constexpr NodeRule kRules[] = {
      {"ConvInteger", 10, 2, importConvInteger},
      {"QLinearConv", 10, 8, importQLinearConv},
  };
  return kRules;
}

} // namespace smelt::frontend
