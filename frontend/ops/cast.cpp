// Conversions between element types.
//
// `smelt.cast` to a float of 8 bits makes what is too large infinite or NaN; saturation is a clip
// before it. Scales (float8e8m0) are the exponents of float32: their rounding is arithmetic on its
// bits.
#include "frontend/ops/cast.h"

#include "frontend/element_type.h"
#include "frontend/node_table.h"

#include "llvm/ADT/APFloat.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

bool isScaleType(Type type) { return isa<Float8E8M0FNUType>(type); }
bool isFloat8(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8; }

/// The largest number of a float type.
double largestOf(Type type) {
  return llvm::APFloat::getLargest(cast<FloatType>(type).getFloatSemantics()).convertToDouble();
}

/// NaN stays: minima and maxima keep it.
Value clipToRange(GraphBuilder &build, Value input, Type target) {
  Type type = tensorType(input).getElementType();
  double bound = largestOf(target);
  Value above = build.create<MaxOp>({input, build.scalar(-bound, type)});
  return build.create<MinOp>({above, build.scalar(bound, type)});
}

/// The exponent of float32 as a scale's code, in int32. Zero, and what is below the smallest scale
/// of 2^-127, is that scale, or NaN where it does not saturate; the sign is ignored.
Value scaleCode(GraphBuilder &build, Value bits, const CastRules &rules) {
  constexpr int64_t kMagnitude = 0x7fffffff, kFraction = 0x7fffff, kHalf = 0x400000;
  constexpr int64_t kSmallest = 0x400000, kNan = 255;
  Type type = tensorType(bits).getElementType();
  auto scalar = [&](int64_t value) { return build.scalar(static_cast<double>(value), type); };
  Value magnitude = build.create<BitAndOp>({bits, scalar(kMagnitude)});
  int64_t added = rules.roundMode == "up" ? kFraction : rules.roundMode == "down" ? 0 : kHalf;
  // float32 is subnormal from 2^-127 on, where its bits have no exponent.
  int64_t lastOfSmallest = rules.roundMode == "nearest" ? kSmallest + kSmallest / 2 - 1 : kSmallest;
  Value rounded =
      build.create<ShiftRightOp>({build.create<AddOp>({magnitude, scalar(added)}), scalar(23)});
  Value isSmallest = build.create<LessEqualOp>({magnitude, scalar(lastOfSmallest)});
  Value code = build.create<SelectOp>({isSmallest, scalar(0), rounded});
  if (rules.saturate)
    return build.create<MinOp>({code, scalar(kNan - 1)});
  Value isBelow = build.create<LessOp>({magnitude, scalar(kSmallest)});
  return build.create<SelectOp>({isBelow, scalar(kNan), code});
}

Value castToScale(GraphBuilder &build, Value input, Type target, const CastRules &rules) {
  MLIRContext *context = build.getContext();
  Type int32 = IntegerType::get(context, 32), byte = IntegerType::get(context, 8);
  Value single = build.cast(input, Float32Type::get(context));
  if (!single)
    return {};
  TensorType type = tensorType(single);
  Value code =
      scaleCode(build, build.createAs<BitcastOp>(type.withElementType(int32), single), rules);
  Value nan = build.scalar(255, int32);
  code = build.create<SelectOp>({build.create<IsNanOp>(single), nan, code});
  return build.createAs<BitcastOp>(type.withElementType(target), build.cast(code, byte));
}

/// The type that attribute 'to' names; null after a report.
Type targetType(NodeReader &node) {
  int64_t to = node.integer("to", 0);
  Type target = elementType(node.build.getContext(), static_cast<int32_t>(to));
  if (target && to == static_cast<int32_t>(to))
    return target;
  node.error() << "conversion to " << dataTypeName(static_cast<int32_t>(to)) << " is not supported";
  return {};
}

LogicalResult importCastTo(NodeReader &node, Type target) {
  std::string roundMode = node.text("round_mode", "up");
  if (roundMode != "up" && roundMode != "down" && roundMode != "nearest")
    return node.error() << "attribute 'round_mode' is '" << roundMode
                        << "'; it must be 'up', 'down' or 'nearest'";
  CastRules rules{node.integer("saturate", 1) != 0, roundMode};
  return node.output(castByRules(node.build, node.input(0), target, rules));
}

LogicalResult importCast(NodeReader &node) {
  Type target = targetType(node);
  return target ? importCastTo(node, target) : failure();
}

LogicalResult importCastLike(NodeReader &node) {
  return importCastTo(node, tensorType(node.input(1)).getElementType());
}

/// The byte of a bool is 0 or 1, as its cast to a number is; not every byte is that of a bool.
LogicalResult importBitCast(NodeReader &node) {
  Value input = node.input(0);
  TensorType type = tensorType(input);
  Type from = type.getElementType(), target = targetType(node);
  if (!target)
    return failure();
  if (from == target)
    return node.output(input);
  if (target.isInteger(1))
    return node.error() << "reading the bits of " << typeName(from) << " as bool is not supported";
  auto widthOf = [](Type each) {
    return each.isInteger(1) ? 8 : each.getIntOrFloatBitWidth(); // a bool is stored in a byte
  };
  if (widthOf(from) != widthOf(target))
    return node.error() << "cannot read the bits of " << typeName(from) << " as "
                        << typeName(target) << ", which has another width";
  if (from.isInteger(1))
    return node.output(node.build.cast(input, target));
  return node.output(node.build.createAs<BitcastOp>(type.withElementType(target), input));
}

} // namespace

Value castByRules(GraphBuilder &build, Value input, Type target, CastRules rules) {
  if (!input || tensorType(input).getElementType() == target)
    return input;
  if (isScaleType(target))
    return castToScale(build, input, target, rules);
  if (!isFloat8(target) || !rules.saturate)
    return build.cast(input, target);
  // Integers beyond the range are floats beyond it.
  Type float32 = Float32Type::get(build.getContext());
  Type from = tensorType(input).getElementType();
  bool isComputed = isa<FloatType>(from) && from.getIntOrFloatBitWidth() >= 16;
  return build.cast(clipToRange(build, isComputed ? input : build.cast(input, float32), target),
                    target);
}

ArrayRef<NodeRule> castRules() {
  static constexpr NodeRule kRules[] = {
      {"BitCast", 26, 1, importBitCast},
      {"Cast", 6, 1, importCast},
      {"CastLike", 15, 2, importCastLike},
  };
  return kRules;
}

} // namespace smelt::frontend
