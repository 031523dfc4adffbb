// Quantised tensors: an element q stands for scale * (q - zero point).
//
// Zero points are taken out of products, (a - za)(b - zb) = a b - za sum(b - zb) - zb sum(a) with
// sums over K: what is multiplied stays bytes, and sums of weights are constants.
#include "frontend/element_type.h"
#include "frontend/node_table.h"
#include "frontend/ops/contraction.h"
#include "ir/capabilities.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Moves the range of bytes without sign to that of bytes with one.
constexpr int64_t kSignShift = 128;

Type int32(GraphBuilder &build) { return IntegerType::get(build.getContext(), 32); }
Type float32(GraphBuilder &build) { return Float32Type::get(build.getContext()); }

/// The value of all elements of an integer constant.
std::optional<int64_t> uniformValue(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat())
    return std::nullopt;
  auto bits = elements.getSplatValue<APInt>();
  return tensorType(value).getElementType().isUnsignedInteger() ? bits.getZExtValue()
                                                                : bits.getSExtValue();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// A matrix operand of a quantised product.
struct QuantizedFactor {
  Value values;
  Value zeroPoint; ///< int32, broadcasts with `values`; null where it is 0
  int64_t depth;   ///< the axis of `values` that is summed

  Value inInt32(GraphBuilder &build) const { return build.cast(values, int32(build)); }
  Value centred(GraphBuilder &build) const {
    Value wide = inInt32(build);
    return zeroPoint ? build.create<SubOp>({wide, zeroPoint}) : wide;
  }
};

/// Input `index`, zero points or scales, in a shape that broadcasts with the factor: one for all, or
/// one for each row on the left, for each column on the right. A list, or of the factor's rank with
/// one value along K. Null after a report.
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

/// Where a node has its factors and their zero points.
struct ProductInputs {
  size_t left, leftZero, right, rightZero;
};

/// A product of bytes, in int32.
struct QuantizedProduct {
  Factors factors;
  QuantizedFactor left, right;
  Value sums; ///< of at least two axes; null after a report

  static FailureOr<QuantizedProduct> read(NodeReader &node, ProductInputs inputs) {
    GraphBuilder &build = node.build;
    if (failed(node.requireSameType({inputs.left, inputs.leftZero})) ||
        failed(node.requireSameType({inputs.right, inputs.rightZero})))
      return failure();
    FailureOr<Factors> factors = Factors::read(node, inputs.left, inputs.right);
    if (failed(factors))
      return failure();
    QuantizedFactor a{factors->lhs, {}, tensorType(factors->lhs).getRank() - 1},
        b{factors->rhs, {}, tensorType(factors->rhs).getRank() - 2};
    if (failed(readZeroPoint(node, inputs.leftZero, a)) ||
        failed(readZeroPoint(node, inputs.rightZero, b)))
      return failure();
    factors->lhs = a.values, factors->rhs = b.values;
    Value product = factors->multiply(node);
    product = correct(build, product, a.zeroPoint, b.centred(build), b.depth);
    product = correct(build, product, b.zeroPoint, a.inInt32(build), a.depth);
    return QuantizedProduct{*factors, a, b, product};
  }
};

LogicalResult importMatMulInteger(NodeReader &node) {
  FailureOr<QuantizedProduct> product = QuantizedProduct::read(node, {0, 2, 1, 3});
  if (failed(product))
    return failure();
  return node.output(product->factors.dropAddedAxes(node, product->sums));
}

//===----------------------------------------------------------------------===//
// Quantisation
//===----------------------------------------------------------------------===//

/// `input` between two numbers that its type holds.
Value clip(GraphBuilder &build, Value input, int64_t low, int64_t high) {
  if (!input)
    return {};
  Type type = tensorType(input).getElementType();
  Value bounded = build.create<MaxOp>({input, build.scalar(static_cast<double>(low), type)});
  return build.create<MinOp>({bounded, build.scalar(static_cast<double>(high), type)});
}

/// The nearest values of an integer type of at most 16 bits, where `scaled` is in float32 and the
/// zero point, which may be null, broadcasts with it. Added as integers, the zero point is exact.
Value roundTo(GraphBuilder &build, Value scaled, Value zeroPoint, Type type) {
  constexpr int64_t kFar = 1 << 17; // beyond every type's range, wherever its zero point is
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = type.isUnsignedInteger();
  int64_t low = isUnsigned ? 0 : llvm::minIntN(width),
          high = isUnsigned ? static_cast<int64_t>(llvm::maxUIntN(width)) : llvm::maxIntN(width);
  Value rounded = scaled ? build.unary<RoundOp>(scaled) : Value();
  if (!zeroPoint)
    return build.cast(clip(build, rounded, low, high), type);
  Value near = build.cast(clip(build, rounded, -kFar, kFar), int32(build));
  Value moved = build.create<AddOp>({near, build.cast(zeroPoint, int32(build))});
  return build.cast(clip(build, moved, low, high), type);
}

/// Input `index`, scales or zero points, in a shape that broadcasts with input 0: one for all, or
/// one for each element along attribute 'axis'. Null after a report.
Value alignAlongAxis(NodeReader &node, size_t index) {
  GraphBuilder &build = node.build;
  Value given = node.input(index);
  TensorType type = tensorType(given);
  if (type.getNumElements().isConstant(1))
    return build.reshape(given, {});
  if (type.getRank() != 1 || node.integer("block_size", 0) != 0) {
    node.error() << "with scales of blocks is not supported: " << node.describe(index);
    return {};
  }
  SmallVector<Dim> full = tensorType(node.input(0)).getShape();
  FailureOr<int64_t> axis = node.normalAxis(node.integer("axis", 1), full.size());
  if (failed(axis) || failed(build.getFacts().requireEqual(
                          build.getLocation(), type.getDim(0), full[*axis],
                          "scales and zero points are one for each element along the axis")))
    return {};
  SmallVector<Dim> shape(full.size() - *axis, build.size(1));
  shape.front() = type.getDim(0);
  return build.reshape(given, shape);
}

/// The type that attribute 'output_dtype' names, or `standard`; null after a report.
Type outputType(NodeReader &node, Type standard) {
  int64_t named = node.integer("output_dtype", 0);
  if (named == 0)
    return standard;
  Type type = elementType(node.build.getContext(), static_cast<int32_t>(named));
  bool fits = type && (isa<FloatType>(standard) ? isa<FloatType>(type) && !type.isF64()
                                                : type.isInteger(8) || type.isInteger(16));
  if (!fits)
    node.error() << "to " << dataTypeName(static_cast<int32_t>(named)) << " is not supported";
  return fits ? type : Type();
}

LogicalResult importDequantizeLinear(NodeReader &node) {
  GraphBuilder &build = node.build;
  Value scale = alignAlongAxis(node, 1);
  if (failed(node.requireSameType({0, 2})) || !scale)
    return failure();
  Value values = build.cast(node.input(0), int32(build));
  if (node.input(2))
    values = build.create<SubOp>({values, build.cast(alignAlongAxis(node, 2), int32(build))});
  Type type = outputType(node, tensorType(scale).getElementType());
  if (!values || !type)
    return failure();
  Value result =
      build.create<MulOp>({build.cast(values, float32(build)), build.cast(scale, float32(build))});
  return node.output(build.cast(result, type));
}

LogicalResult importQuantizeLinear(NodeReader &node) {
  GraphBuilder &build = node.build;
  Value zeroPoint = node.input(2), scale = alignAlongAxis(node, 1);
  Type type = IntegerType::get(build.getContext(), 8, IntegerType::Unsigned);
  type = zeroPoint ? tensorType(zeroPoint).getElementType() : outputType(node, type);
  if (scale && zeroPoint)
    zeroPoint = alignAlongAxis(node, 2);
  if (!scale || !type || (node.input(2) && !zeroPoint))
    return failure();
  Value scaled = build.create<DivOp>(
      {build.cast(node.input(0), float32(build)), build.cast(scale, float32(build))});
  return node.output(roundTo(build, scaled, zeroPoint, type));
}

/// The smallest or largest element, or 0 where that is smaller or larger.
template <typename Op> Value extreme(GraphBuilder &build, Value input, ReductionKind kind) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(input).getRank()));
  Value found = axes.empty() ? input : build.reduce(kind, input, axes);
  return build.create<Op>({build.reshape(found, {}), build.scalar(0, float32(build))});
}

/// Bytes without sign whose range is that of the data and 0; the scale of zeros alone is 1.
LogicalResult importDynamicQuantizeLinear(NodeReader &node) {
  GraphBuilder &build = node.build;
  constexpr double kLargest = 255;
  Value input = node.input(0), zero = build.scalar(0, float32(build));
  Type type = IntegerType::get(build.getContext(), 8, IntegerType::Unsigned);
  Value low = extreme<MinOp>(build, input, ReductionKind::min),
        high = extreme<MaxOp>(build, input, ReductionKind::max);
  Value range = build.create<SubOp>({high, low});
  Value scale = build.create<DivOp>({range, build.scalar(kLargest, float32(build))});
  Value isZero = build.create<EqualOp>({scale, zero});
  scale = build.create<SelectOp>({isZero, build.scalar(1, float32(build)), scale});
  Value zeroPoint =
      roundTo(build, build.create<SubOp>({zero, build.create<DivOp>({low, scale})}), Value(), type);
  Value result = roundTo(build, build.create<DivOp>({input, scale}), zeroPoint, type);
  if (failed(node.output(result)) || failed(node.output(scale, 1)))
    return failure();
  return node.output(zeroPoint, 2);
}

/// a_scale b_scale / y_scale times the product, rounded to bytes.
LogicalResult importQLinearMatMul(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<QuantizedProduct> product = QuantizedProduct::read(node, {0, 2, 3, 5});
  if (failed(product) || !product->sums)
    return failure();
  QuantizedFactor result{product->sums, {}, tensorType(product->sums).getRank() - 1};
  auto scaleOf = [&](size_t index, const QuantizedFactor &factor) {
    return build.cast(alignWithFactor(node, index, factor), float32(build));
  };
  Value factor = build.create<MulOp>({scaleOf(1, product->left), scaleOf(4, product->right)});
  factor = build.create<DivOp>({factor, scaleOf(6, result)});
  Value zeroPoint = alignWithFactor(node, 7, result);
  if (!factor || !zeroPoint)
    return failure();
  Value scaled = build.create<MulOp>({build.cast(product->sums, float32(build)), factor});
  Value rounded = roundTo(build, scaled, zeroPoint, tensorType(node.input(7)).getElementType());
  return node.output(product->factors.dropAddedAxes(node, rounded));
}

} // namespace

ArrayRef<NodeRule> quantizedRules() {
  static constexpr NodeRule kRules[] = {
      {"DequantizeLinear", 10, 2, importDequantizeLinear},
      {"DynamicQuantizeLinear", 11, 1, importDynamicQuantizeLinear},
      {"MatMulInteger", 10, 2, importMatMulInteger},
      {"QLinearMatMul", 10, 8, importQLinearMatMul},
      {"QuantizeLinear", 10, 2, importQuantizeLinear},
  };
  return kRules;
}

} // namespace smelt::frontend
