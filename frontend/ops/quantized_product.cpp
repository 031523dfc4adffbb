#include "frontend/ops/quantized_product.h"

#include "frontend/node_table.h"
#include "ir/capabilities.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Moves the range of bytes without sign to that of bytes with one.
constexpr int64_t kSignShift = 128;

/// Reads the zero point of `factor` from input `index`, which may be omitted; fails after a report.
LogicalResult readZeroPoint(NodeReader &node, size_t index, QuantizedFactor &factor) {
  GraphBuilder &build = node.build;
  Value given = node.input(index);
  std::optional<int64_t> uniform = given ? uniformValue(given) : 0;
  if (uniform == 0)
    return success();
  if (uniform == kSignShift && isWeightExpression(factor.values)) {
    // A weight that is shifted when compiling needs no correction.
    Value shift = build.scalar(kSignShift, int32(build));
    factor.values = build.cast(build.create<SubOp>({factor.inInt32(build), shift}),
                               IntegerType::get(build.getContext(), 8));
    return success(factor.values != nullptr);
  }
  factor.zeroPoint = build.cast(alignWithFactor(node, index, factor), int32(build));
  return success(factor.zeroPoint != nullptr);
}

/// `product` less what the zero points of one factor and the sums of the other make of it.
Value correct(GraphBuilder &build, Value product, Value zeroPoint, Value summed, int64_t depth) {
  if (!zeroPoint)
    return product;
  Value sums = build.reduce(ReductionKind::sum, summed, depth);
  return build.create<SubOp>({product, build.create<MulOp>({zeroPoint, sums})});
}

LogicalResult importMatMulInteger(NodeReader &node) {
  FailureOr<QuantizedProduct> product = QuantizedProduct::read(node, {0, 2, 1, 3});
  if (failed(product))
    return failure();
  return node.output(product->factors.dropAddedAxes(node, product->sums));
}

/// Floats of 8 bits are multiplied as the numbers that they stand for, and the product divided by
/// y_scale; null after a report.
Value multiplyDequantized(NodeReader &node, const Factors &factors) {
  GraphBuilder &build = node.build;
  Factors real = factors;
  auto dequantize = [&](Value values, size_t scale, size_t zeroPoint, int64_t depth) {
    QuantizedFactor factor{values, {}, depth};
    auto inFloat = [&](Value value) { return build.cast(value, float32(build)); };
    Value centred =
        build.create<SubOp>({inFloat(values), inFloat(alignWithFactor(node, zeroPoint, factor))});
    return build.create<MulOp>({centred, inFloat(alignWithFactor(node, scale, factor))});
  };
  real.lhs = dequantize(factors.lhs, 1, 2, tensorType(factors.lhs).getRank() - 1);
  real.rhs = dequantize(factors.rhs, 4, 5, tensorType(factors.rhs).getRank() - 2);
  Value product = real.multiply(node);
  if (!product)
    return {};
  QuantizedFactor result{product, {}, tensorType(product).getRank() - 1};
  return build.create<DivOp>(
      {product, build.cast(alignWithFactor(node, 6, result), float32(build))});
}

/// a_scale b_scale / y_scale times the product of bytes, in float32; null after a report.
Value multiplyBytes(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<QuantizedProduct> product = QuantizedProduct::read(node, {0, 2, 3, 5});
  if (failed(product) || !product->sums)
    return {};
  auto scaleOf = [&](size_t index, const QuantizedFactor &factor) {
    return build.cast(alignWithFactor(node, index, factor), float32(build));
  };
  QuantizedFactor result{product->sums, {}, tensorType(product->sums).getRank() - 1};
  Value factor = build.create<MulOp>({scaleOf(1, product->left), scaleOf(4, product->right)});
  factor = build.create<DivOp>({factor, scaleOf(6, result)});
  return build.create<MulOp>({build.cast(product->sums, float32(build)), factor});
}

/// The product of what is quantised, quantised.
LogicalResult importQLinearMatMul(NodeReader &node) {
  GraphBuilder &build = node.build;
  auto isFloat = [&](size_t index) {
    return isa<FloatType>(tensorType(node.input(index)).getElementType());
  };
  FailureOr<Factors> factors = Factors::read(node, 0, 3);
  if (failed(factors))
    return failure();
  Value scaled =
      isFloat(0) || isFloat(3) ? multiplyDequantized(node, *factors) : multiplyBytes(node);
  if (!scaled)
    return failure();
  QuantizedFactor result{scaled, {}, tensorType(scaled).getRank() - 1};
  Value zeroPoint = alignWithFactor(node, 7, result);
  if (!zeroPoint)
    return failure();
  Type type = tensorType(node.input(7)).getElementType();
  return node.output(factors->dropAddedAxes(node, quantizeTo(build, scaled, zeroPoint, type)));
}

} // namespace

Value alignWithFactor(NodeReader &node, size_t index, const QuantizedFactor &factor) {
  GraphBuilder &build = node.build;
  Value given = node.input(index);
  SmallVector<Dim> shape = tensorType(given).getShape(),
                   full = tensorType(factor.values).getShape();
  if (tensorType(given).getNumElements().isConstant(1))
    return build.reshape(given, {});
  full[factor.depth] = build.size(1);
  if (shape.size() == 1) {
    bool isRight = full.size() - 2 == static_cast<size_t>(factor.depth);
    shape.insert(isRight ? shape.begin() : shape.end(), build.size(1));
  } else if (shape.size() != full.size()) {
    node.error() << node.describe(index)
                 << " is neither one value, nor a list, nor of the rank of its matrix, "
                 << full.size();
    return {};
  }
  for (auto [size, of] : llvm::zip(shape, ArrayRef(full).take_back(shape.size())))
    if (failed(build.getFacts().requireEqual(
            build.getLocation(), size, of,
            "zero points and scales are one for each row on the left, for each column on the "
            "right")))
      return {};
  return build.reshape(given, shape);
}

Value centreProduct(GraphBuilder &build, Value product, const QuantizedFactor &left,
                    const QuantizedFactor &right) {
  product = correct(build, product, left.zeroPoint, right.centred(build), right.depth);
  return correct(build, product, right.zeroPoint, left.inInt32(build), left.depth);
}

FailureOr<QuantizedProduct> QuantizedProduct::read(NodeReader &node, ProductInputs inputs) {
  if (failed(node.requireSameType({inputs.left, inputs.leftZero})) ||
      failed(node.requireSameType({inputs.right, inputs.rightZero})))
    return failure();
  FailureOr<Factors> factors = Factors::read(node, inputs.left, inputs.right);
  if (failed(factors))
    return failure();
  QuantizedFactor left{factors->lhs, {}, tensorType(factors->lhs).getRank() - 1};
  if (failed(readZeroPoint(node, inputs.leftZero, left)))
    return failure();
  return multiply(node, *factors, left, inputs.rightZero);
}

FailureOr<QuantizedProduct> QuantizedProduct::multiply(NodeReader &node, Factors factors,
                                                       const QuantizedFactor &left,
                                                       size_t rightZero) {
  QuantizedFactor right{factors.rhs, {}, tensorType(factors.rhs).getRank() - 2};
  if (failed(readZeroPoint(node, rightZero, right)))
    return failure();
  factors.lhs = left.values, factors.rhs = right.values;
  Value sums = centreProduct(node.build, factors.multiply(node), left, right);
  return QuantizedProduct{factors, left, right, sums};
}

ArrayRef<NodeRule> quantizedProductRules() {
  static constexpr NodeRule kRules[] = {
      {"MatMulInteger", 10, 2, importMatMulInteger},
      {"QLinearMatMul", 10, 8, importQLinearMatMul},
  };
  return kRules;
}

} // namespace smelt::frontend
