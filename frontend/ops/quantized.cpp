// Quantised tensors: an element q stands for scale * (q - zero point).
#include "frontend/ops/quantized.h"

#include "frontend/element_type.h"
#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// `input` between two numbers that its type holds.
Value clip(GraphBuilder &build, Value input, int64_t low, int64_t high) {
  if (!input)
    return {};
  Type type = tensorType(input).getElementType();
  Value bounded = build.create<MaxOp>({input, build.scalar(static_cast<double>(low), type)});
  return build.create<MinOp>({bounded, build.scalar(static_cast<double>(high), type)});
}

/// The nearest values of an integer type of at most 16 bits, where `scaled` is in float32 and the
/// zero point, which may be null, broadcasts with it. Within the type's range float32 adds the zero
/// point exactly. Where it is known, what is rounded is clipped before: small numbers round faster.
Value roundTo(GraphBuilder &build, Value scaled, Value zeroPoint, Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = type.isUnsignedInteger();
  int64_t low = isUnsigned ? 0 : llvm::minIntN(width),
          high = isUnsigned ? static_cast<int64_t>(llvm::maxUIntN(width)) : llvm::maxIntN(width);
  std::optional<int64_t> known = zeroPoint ? uniformValue(zeroPoint) : 0;
  if (known)
    scaled = clip(build, scaled, low - *known, high - *known);
  Value rounded = scaled ? build.unary<RoundOp>(scaled) : Value();
  if (known != 0)
    rounded = build.create<AddOp>({rounded, build.cast(zeroPoint, float32(build))});
  return build.cast(known ? rounded : clip(build, rounded, low, high), type);
}

/// `given`, with a value for each block of `size` elements along the axis, with one for each element:
/// every value is repeated, and what lies behind the last element is dropped.
Value repeatBlocks(GraphBuilder &build, Value given, ArrayRef<Dim> full, int64_t axis,
                   int64_t size) {
  SmallVector<Dim> shape = tensorType(given).getShape(), split = shape;
  Dim blocks = shape[axis];
  split.insert(split.begin() + axis + 1, build.size(1));
  Value apart = build.reshape(given, split);
  split[axis + 1] = build.size(size);
  shape[axis] = blocks * build.size(size);
  Value repeated = build.reshape(build.expand(apart, split), shape);
  return build.slice(repeated, axis, build.size(0), full[axis]);
}

/// Scales or zero points of blocks; null after a report.
Value alignBlocks(NodeReader &node, size_t index, int64_t axis, int64_t size) {
  GraphBuilder &build = node.build;
  Value given = node.input(index);
  SmallVector<Dim> full = tensorType(node.input(0)).getShape(), wanted = full;
  TensorType type = tensorType(given);
  if (size < 0 || type.getRank() != full.size()) {
    node.error() << "attribute 'block_size' is " << size << ", which must be positive, and "
                 << node.describe(index) << " must be of the rank of its data, " << full.size();
    return {};
  }
  wanted[axis] = full[axis].ceilDiv(build.size(size));
  for (auto [have, want] : llvm::zip(type.getShape(), wanted))
    if (failed(build.getFacts().requireEqual(
            build.getLocation(), have, want,
            "scales and zero points of blocks have the shape of the data, but for one for each "
            "block along the axis")))
      return {};
  return repeatBlocks(build, build.reshape(given, wanted), full, axis, size);
}

/// Input `index`, scales or zero points, in a shape that broadcasts with input 0: one for all, one
/// for each element along attribute 'axis', or one for each block along it. Null after a report.
Value alignAlongAxis(NodeReader &node, size_t index) {
  GraphBuilder &build = node.build;
  Value given = node.input(index);
  TensorType type = tensorType(given);
  if (type.getNumElements().isConstant(1))
    return build.reshape(given, {});
  SmallVector<Dim> full = tensorType(node.input(0)).getShape();
  FailureOr<int64_t> axis = node.normalAxis(node.integer("axis", 1), full.size());
  if (failed(axis))
    return {};
  if (int64_t size = node.integer("block_size", 0))
    return alignBlocks(node, index, *axis, size);
  if (type.getRank() != 1) {
    node.error() << "needs attribute 'block_size' for " << node.describe(index);
    return {};
  }
  if (failed(build.getFacts().requireEqual(
          build.getLocation(), type.getDim(0), full[*axis],
          "scales and zero points are one for each element along the axis")))
    return {};
  SmallVector<Dim> shape(full.size() - *axis, build.size(1));
  shape.front() = type.getDim(0);
  return build.reshape(given, shape);
}

/// The type that attribute `name` names where `allows` takes it, or `standard`; null after a report.
Type namedType(NodeReader &node, StringRef name, Type standard,
               llvm::function_ref<bool(Type)> allows) {
  int64_t named = node.integer(name, 0);
  if (named == 0)
    return standard;
  Type type = elementType(node.build.getContext(), static_cast<int32_t>(named));
  if (type && allows(type))
    return type;
  node.error() << "attribute '" << name << "': " << dataTypeName(static_cast<int32_t>(named))
               << " is not supported";
  return {};
}

bool isComputedFloat(Type type) { return type.isF16() || type.isBF16() || type.isF32(); }

bool isQuantized(Type type) {
  if (isa<FloatType>(type))
    return type.getIntOrFloatBitWidth() <= 8 && !isa<Float8E8M0FNUType>(type);
  return type.getIntOrFloatBitWidth() <= 16 && !type.isInteger(1);
}

/// Numbers of up to 16 bits less their zero points are exact in float32, wider integers in int32.
Type typeToCentreIn(GraphBuilder &build, Type type) {
  return isa<FloatType>(type) || type.getIntOrFloatBitWidth() <= 16 ? float32(build) : int32(build);
}

LogicalResult importDequantizeLinear(NodeReader &node) {
  GraphBuilder &build = node.build;
  Value scale = alignAlongAxis(node, 1);
  if (failed(node.requireSameType({0, 2})) || !scale)
    return failure();
  Type through = typeToCentreIn(build, tensorType(node.input(0)).getElementType());
  Value values = build.cast(node.input(0), through);
  if (node.input(2) && uniformValue(node.input(2)) != 0)
    values = build.create<SubOp>({values, build.cast(alignAlongAxis(node, 2), through)});
  Type scaleType = tensorType(scale).getElementType();
  Type standard = isComputedFloat(scaleType) ? scaleType : float32(build);
  Type type = namedType(node, "output_dtype", standard, isComputedFloat);
  if (!values || !type)
    return failure();
  Value result =
      build.create<MulOp>({build.cast(values, float32(build)), build.cast(scale, float32(build))});
  return node.output(build.cast(result, type));
}

/// Input 0 over the scale, in float32, rounded to the type of attribute 'precision', or of the scale.
Value divideByScale(NodeReader &node, Value scale) {
  GraphBuilder &build = node.build;
  Type scaleType = tensorType(node.input(1)).getElementType();
  Type precision = namedType(
      node, "precision", isComputedFloat(scaleType) ? scaleType : float32(build), isComputedFloat);
  if (!precision)
    return {};
  auto rounded = [&](Value value) {
    return build.cast(build.cast(value, precision), float32(build));
  };
  return rounded(build.create<DivOp>({rounded(node.input(0)), rounded(scale)}));
}

LogicalResult importQuantizeLinear(NodeReader &node) {
  GraphBuilder &build = node.build;
  Value zeroPoint = node.input(2), scale = alignAlongAxis(node, 1);
  Type type = IntegerType::get(build.getContext(), 8, IntegerType::Unsigned);
  type = namedType(node, "output_dtype", type, isQuantized);
  if (zeroPoint)
    type = tensorType(zeroPoint).getElementType();
  if (scale && zeroPoint)
    zeroPoint = alignAlongAxis(node, 2);
  Value scaled = scale ? divideByScale(node, scale) : Value();
  if (!scaled || !type || (node.input(2) && !zeroPoint))
    return failure();
  return node.output(
      quantizeTo(build, scaled, zeroPoint, type, {node.integer("saturate", 1) != 0}));
}

/// The smallest or largest element, or 0 where that is smaller or larger.
template <typename Op> Value extreme(GraphBuilder &build, Value input, ReductionKind kind) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(input).getRank()));
  Value found = axes.empty() ? input : build.reduce(kind, input, axes);
  return build.create<Op>({build.reshape(found, {}), build.scalar(0, float32(build))});
}

LogicalResult importDynamicQuantizeLinear(NodeReader &node) {
  DynamicallyQuantized made = quantizeDynamically(node.build, node.input(0));
  if (failed(node.output(made.values)) || failed(node.output(made.scale, 1)))
    return failure();
  return node.output(made.zeroPoint, 2);
}

} // namespace

Type int32(GraphBuilder &build) { return IntegerType::get(build.getContext(), 32); }
Type float32(GraphBuilder &build) { return Float32Type::get(build.getContext()); }

std::optional<int64_t> uniformValue(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat() || !isa<IntegerType>(elements.getElementType()))
    return std::nullopt;
  auto bits = elements.getSplatValue<APInt>();
  return tensorType(value).getElementType().isUnsignedInteger() ? bits.getZExtValue()
                                                                : bits.getSExtValue();
}

Value quantizeTo(GraphBuilder &build, Value scaled, Value zeroPoint, Type type, CastRules rules) {
  if (!isa<FloatType>(type))
    return roundTo(build, scaled, zeroPoint, type);
  if (zeroPoint)
    scaled = build.create<AddOp>({scaled, build.cast(zeroPoint, float32(build))});
  return castByRules(build, scaled, type, rules);
}

DynamicallyQuantized quantizeDynamically(GraphBuilder &build, Value input) {
  constexpr double kLargest = 255;
  Value zero = build.scalar(0, float32(build));
  Type type = IntegerType::get(build.getContext(), 8, IntegerType::Unsigned);
  Value low = extreme<MinOp>(build, input, ReductionKind::min),
        high = extreme<MaxOp>(build, input, ReductionKind::max);
  Value range = build.create<SubOp>({high, low});
  Value scale = build.create<DivOp>({range, build.scalar(kLargest, float32(build))});
  Value isZero = build.create<EqualOp>({scale, zero});
  scale = build.create<SelectOp>({isZero, build.scalar(1, float32(build)), scale});
  Value zeroPoint =
      roundTo(build, build.create<SubOp>({zero, build.create<DivOp>({low, scale})}), Value(), type);
  Value values = roundTo(build, build.create<DivOp>({input, scale}), zeroPoint, type);
  return {values, scale, zeroPoint};
}

ArrayRef<NodeRule> quantizedRules() {
  static constexpr NodeRule kRules[] = {
      {"DequantizeLinear", 10, 2, importDequantizeLinear},
      {"DequantizeLinear", 1, 2, importDequantizeLinear, "com.microsoft"},
      {"DynamicQuantizeLinear", 11, 1, importDynamicQuantizeLinear},
      {"QuantizeLinear", 10, 2, importQuantizeLinear},
      {"QuantizeLinear", 1, 2, importQuantizeLinear, "com.microsoft"},
  };
  return kRules;
}

} // namespace smelt::frontend
