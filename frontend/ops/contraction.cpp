// Matrix products and convolutions.
#include "frontend/ops/contraction.h"

#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// The product of two tensors of at least two axes; sizes that meet are made to agree.
Value multiply(NodeReader &node, Value lhs, Value rhs) {
  GraphBuilder &build = node.build;
  if (!lhs || !rhs)
    return {};
  SmallVector<Dim> a = tensorType(lhs).getShape(), b = tensorType(rhs).getShape();
  ShapeFacts &facts = build.getFacts();
  if (failed(facts.requireEqual(build.getLocation(), a.back(), b[b.size() - 2],
                                "the columns of the left matrix meet the rows of the right one")) ||
      failed(facts.requireBroadcast(build.getLocation(), ArrayRef(a).drop_back(2),
                                    ArrayRef(b).drop_back(2))))
    return {};
  return build.create<MatmulOp>({lhs, rhs});
}

LogicalResult importMatMul(NodeReader &node) {
  if (failed(node.requireSameType()))
    return failure();
  FailureOr<Factors> factors = Factors::read(node, 0, 1);
  if (failed(factors))
    return failure();
  return node.output(factors->dropAddedAxes(node, factors->multiply(node)));
}

/// alpha * A' B' + beta * C, where C broadcasts to the product.
LogicalResult importGemm(NodeReader &node) {
  GraphBuilder &build = node.build;
  if (failed(node.requireSameType()))
    return failure();
  for (size_t index : {0, 1})
    if (tensorType(node.input(index)).getRank() != 2)
      return node.error() << "needs matrices, got " << node.describe(index);
  Value lhs = node.flag("transA") ? build.transposeMatrix(node.input(0)) : node.input(0);
  Value rhs = node.flag("transB") ? build.transposeMatrix(node.input(1)) : node.input(1);
  Value product = scale(build, multiply(node, lhs, rhs), node.real("alpha", 1));
  float beta = node.real("beta", 1);
  if (!node.input(2) || beta == 0)
    return node.output(product);
  Value sum = build.create<AddOp>({product, scale(build, node.input(2), beta)});
  if (sum && tensorType(sum).getShape() != tensorType(product).getShape())
    return node.error() << "its addend " << node.describe(2)
                        << " does not broadcast to the product";
  return node.output(sum);
}

LogicalResult importConv(NodeReader &node) {
  GraphBuilder &build = node.build;
  if (failed(node.requireSameType()))
    return failure();
  FailureOr<Convolution> conv = Convolution::read(node, 0, 1);
  if (failed(conv))
    return failure();
  SmallVector<Value> operands{node.input(0), node.input(1)};
  if (Value bias = node.input(2)) {
    if (failed(requireBias(node, 2, 1)))
      return failure();
    operands.push_back(bias);
  }
  const Window &window = conv->window;
  return node.output(build.create<ConvOp>(operands, {build.attribute("strides", window.strides),
                                                     build.attribute("pads", window.pads),
                                                     build.attribute("dilations", window.dilations),
                                                     build.attribute("groups", conv->groups)}));
}

} // namespace

Value scale(GraphBuilder &build, Value input, float factor) {
  if (!input || factor == 1)
    return input;
  return build.create<MulOp>({input, build.scalar(factor, tensorType(input).getElementType())});
}

LogicalResult requireBias(NodeReader &node, size_t bias, size_t filter) {
  if (tensorType(node.input(bias)).getShape() ==
      ArrayRef(tensorType(node.input(filter)).getShape()).take_front(1))
    return success();
  return node.error() << "its bias " << node.describe(bias) << " does not fit the filter "
                      << node.describe(filter);
}

FailureOr<Convolution> Convolution::read(NodeReader &node, size_t data, size_t weight) {
  GraphBuilder &build = node.build;
  SmallVector<Dim> input = tensorType(node.input(data)).getShape(),
                   filter = tensorType(node.input(weight)).getShape();
  if (input.size() < 3 || filter.size() != input.size())
    return node.error() << node.describe(data) << " and filter " << node.describe(weight)
                        << " must have the same rank, at least 3";
  int64_t groups = node.integer("group", 1);
  if (groups < 1 || groups > kMaxElements)
    return node.error() << "cannot have " << groups << " groups";
  ArrayRef<Dim> kernel = ArrayRef(filter).drop_front(2);
  if (auto declared = node.integers("kernel_shape"))
    if (SmallVector<Dim>(kernel) !=
        llvm::map_to_vector(*declared, [&](int64_t size) { return build.size(size); }))
      return node.error() << "its kernel_shape contradicts the filter " << node.describe(weight);
  FailureOr<Window> window = readWindow(node, ArrayRef(input).drop_front(2), kernel);
  if (failed(window) ||
      failed(build.getFacts().requireEqual(build.getLocation(), input[1], filter[1] * groups,
                                           "the filter covers the channels of its group")))
    return failure();
  return Convolution{groups, *window};
}

FailureOr<Factors> Factors::read(NodeReader &node, size_t left, size_t right) {
  GraphBuilder &build = node.build;
  Factors factors;
  factors.lhs = node.input(left), factors.rhs = node.input(right);
  SmallVector<Dim> a = tensorType(factors.lhs).getShape(), b = tensorType(factors.rhs).getShape();
  if (a.empty() || b.empty())
    return node.error() << "needs inputs of at least one axis, got " << node.describe(left)
                        << " and " << node.describe(right);
  factors.isRow = a.size() == 1, factors.isColumn = b.size() == 1;
  if (factors.isRow)
    factors.lhs = build.reshape(factors.lhs, {build.size(1), a[0]});
  if (factors.isColumn)
    factors.rhs = build.reshape(factors.rhs, {b[0], build.size(1)});
  return factors;
}

Value Factors::multiply(NodeReader &node) const { return frontend::multiply(node, lhs, rhs); }

Value Factors::dropAddedAxes(NodeReader &node, Value product) const {
  if (!product)
    return {};
  SmallVector<Dim> shape = tensorType(product).getShape();
  if (isRow)
    shape.erase(shape.end() - 2);
  if (isColumn)
    shape.pop_back();
  return node.build.reshape(product, shape);
}

ArrayRef<NodeRule> contractionRules() {
  static constexpr NodeRule kRules[] = {
      {"Conv", 1, 2, importConv},
      {"Gemm", 1, 2, importGemm},
      {"MatMul", 1, 2, importMatMul},
  };
  return kRules;
}

} // namespace smelt::frontend
