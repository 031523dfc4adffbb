#include "passes/simplify/dequantized.h"

#include "ir/capabilities.h"
#include "ir/element_bytes.h"
#include "ir/number_range.h"
#include "passes/constants.h"
#include "passes/view_shape.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace smelt::passes {

namespace {

bool isOne(Dim size) { return size.isConstant(1); }

bool isSingle(Value factor) { return tensorType(factor).getNumElements().isConstant(1); }

/// Bytes widened to f32, floats of 8 bits also to fewer; null for others.
Value bytesBehind(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  if (!cast || !isa<FloatType>(elementType(value)))
    return {};
  Type type = elementType(cast.getInput());
  bool isWidened = type.isInteger(8)
                       ? elementType(value).isF32()
                       : isFloat8Operand(type) && elementBytes(elementType(value)) > 1;
  return isWidened ? cast.getInput() : Value();
}

/// A cast from f32 to 16 bits.
CastOp narrowingCast(Operation *op) {
  auto cast = dyn_cast_or_null<CastOp>(op);
  return cast && elementType(cast.getInput()).isF32() &&
                 (elementType(cast.getOutput()).isF16() || elementType(cast.getOutput()).isBF16())
             ? cast
             : CastOp();
}

/// `zero` is a number that bytes of `type` hold, or some: exact in the integers of a product's sums. A
/// fraction, as the mean of an image, is none.
bool isZeroPoint(Value zero, Type type) {
  if (isFloat8Operand(type))
    return isSplat(zero, 0);
  while (Operation *op = zero.getDefiningOp<ReshapeOp>())
    zero = op->getOperand(0);
  if (auto cast = zero.getDefiningOp<CastOp>())
    return elementType(cast.getInput()) == type;
  auto constant = zero.getDefiningOp<ConstantOp>();
  auto numbers =
      constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
  return numbers && llvm::all_of(numbers.getValues<APFloat>(), [&](const APFloat &each) {
           double number = each.convertToDouble();
           return isByte({number, number, number == std::floor(number)}, type);
         });
}

/// The bytes and the zero point of what is multiplied by a scale.
std::optional<Dequantized> centred(Value value) {
  if (Value bytes = bytesBehind(value))
    return Dequantized{bytes, {}, {}};
  auto sub = value.getDefiningOp<SubOp>();
  Value bytes = sub ? bytesBehind(sub.getLhs()) : Value();
  if (!bytes || !isZeroPoint(sub.getRhs(), elementType(bytes)))
    return std::nullopt;
  return Dequantized{bytes, isSplat(sub.getRhs(), 0) ? Value() : sub.getRhs(), {}};
}

/// What a product of centred bytes and their scale is made of. Floats of 8 bits may have none.
std::optional<Dequantized> scaled(OpBuilder &builder, Value value) {
  auto product = value.getDefiningOp<MulOp>();
  if (!product) {
    std::optional<Dequantized> found = centred(value);
    if (!found || !isFloat8Operand(elementType(found->bytes)))
      return std::nullopt;
    found->scale = makeScalar(builder, value.getLoc(), 1, builder.getF32Type());
    return found;
  }
  for (auto [factor, scale] : {std::pair{product.getLhs(), product.getRhs()},
                               std::pair{product.getRhs(), product.getLhs()}})
    if (std::optional<Dequantized> found = centred(factor);
        found && shapeOf(found->bytes) == shapeOf(value)) {
      found->scale = elementType(scale).isF32()
                         ? scale
                         : CastOp::create(builder, value.getLoc(), scale, builder.getF32Type());
      return found;
    }
  return std::nullopt;
}

/// `factor`, which broadcasts with `from`, reshaped with it to `to`; null where it no longer broadcasts.
Value reshapeFactor(OpBuilder &builder, Value factor, ArrayRef<Dim> from, ArrayRef<Dim> to) {
  auto groups = groupAxes(from, to);
  if (!groups)
    return {};
  SmallVector<Dim> given = padShape(shapeOf(factor), from.size(), builder.getContext());
  SmallVector<Dim> shape(to.size(), Dim::constant(builder.getContext(), 1));
  for (const AxisGroup &group : *groups) {
    if (llvm::all_of(group.input, [&](unsigned axis) { return isOne(given[axis]); }))
      continue;
    if (llvm::any_of(group.input, [&](unsigned axis) { return given[axis] != from[axis]; }))
      return {};
    for (unsigned axis : group.output)
      shape[axis] = to[axis];
  }
  return reshapeTo(builder, factor.getLoc(), factor, shape);
}

/// `factor`, which broadcasts with the operand of `view`, as it broadcasts with the result.
Value viewOfFactor(OpBuilder &builder, Value factor, Operation *view) {
  if (!factor || isSingle(factor))
    return factor ? reshapeTo(builder, factor.getLoc(), factor, {}) : Value();
  SmallVector<Dim> from = shapeOf(view->getOperand(0)), to = shapeOf(view->getResult(0));
  if (isa<ReshapeOp>(view))
    return reshapeFactor(builder, factor, from, to);
  auto transpose = dyn_cast<TransposeOp>(view);
  if (!transpose)
    return {};
  SmallVector<Dim> padded = padShape(shapeOf(factor), from.size(), builder.getContext());
  return TransposeOp::create(builder, factor.getLoc(),
                             reshapeTo(builder, factor.getLoc(), factor, padded),
                             transpose.getPermutation());
}

/// What stands for the surrounding among bytes; none where that is no number.
std::optional<double> surroundingByte(const Dequantized &inside, Surrounding surrounding) {
  constexpr double kLowest = -128;
  if (surrounding == Surrounding::lowest && isa<FloatType>(elementType(inside.bytes)))
    return std::nullopt;
  if (surrounding == Surrounding::lowest)
    return elementType(inside.bytes).isUnsignedInteger() ? 0 : kLowest;
  return inside.zero ? splatNumber(inside.zero) : 0;
}

/// `concat`, which surrounds a tensor, of bytes; null where the surrounding is none.
Value padBytes(OpBuilder &builder, const Dequantized &inside, ConcatOp concat, unsigned padded,
               Surrounding surrounding) {
  std::optional<double> byte = surroundingByte(inside, surrounding);
  if (!byte)
    return {};
  Type type = elementType(inside.bytes);
  Value number = makeScalar(builder, concat.getLoc(), *byte, type);
  SmallVector<Value> parts;
  for (auto [index, input] : llvm::enumerate(concat.getInputs()))
    parts.push_back(index == padded ? inside.bytes
                                    : broadcastTo(builder, concat.getLoc(), number,
                                                  tensorType(input).withElementType(type)));
  return ConcatOp::create(builder, concat.getLoc(), parts, concat.getAxis());
}

/// What the result of `view`, of dequantized bytes `inside`, is; its bytes are null where it is none.
Dequantized through(OpBuilder &builder, const Dequantized &inside, Operation *view,
                    Surrounding surrounding) {
  if (auto concat = dyn_cast<ConcatOp>(view)) {
    unsigned fromEnd = tensorType(concat.getOutput()).getRank() - 1 - concat.getAxis();
    if (!isConstantAlong(inside.scale, fromEnd))
      return {};
    unsigned padded = *surroundedOperand(concat, surrounding);
    return {padBytes(builder, inside, concat, padded, surrounding), inside.zero, inside.scale};
  }
  Value scale = viewOfFactor(builder, inside.scale, view),
        zero = viewOfFactor(builder, inside.zero, view);
  if (!scale || (inside.zero && !zero))
    return {};
  Operation *ofBytes = view->clone();
  ofBytes->setOperand(0, inside.bytes);
  ofBytes->getResult(0).setType(
      tensorType(view->getResult(0)).withElementType(elementType(inside.bytes)));
  builder.insert(ofBytes);
  return {ofBytes->getResult(0), zero, scale};
}

} // namespace

std::optional<unsigned> surroundedOperand(ConcatOp concat, Surrounding surrounding) {
  if (surrounding == Surrounding::zeros)
    return operandPaddedByZeros(concat);
  std::optional<unsigned> found;
  for (auto [number, input] : llvm::enumerate(concat.getInputs())) {
    if (isSplat(input, -std::numeric_limits<double>::infinity()))
      continue;
    if (found)
      return std::nullopt;
    found = number;
  }
  return found;
}

std::optional<Dequantized> findDequantized(OpBuilder &builder, Value value,
                                           Surrounding surrounding) {
  SmallVector<Operation *> views; // from the last to the first
  for (Operation *op = value.getDefiningOp(); op; op = value.getDefiningOp()) {
    if (CastOp cast = narrowingCast(op)) {
      value = cast.getInput();
      continue;
    }
    auto concat = dyn_cast<ConcatOp>(op);
    std::optional<unsigned> padded = concat ? surroundedOperand(concat, surrounding) : std::nullopt;
    if (!op->hasTrait<View>() && !padded)
      break;
    views.push_back(op);
    value = op->getOperand(padded.value_or(0));
  }
  std::optional<Dequantized> found = scaled(builder, value);
  for (Operation *view : llvm::reverse(views)) {
    if (!found)
      return std::nullopt;
    Dequantized next = through(builder, *found, view, surrounding);
    found = next.bytes ? std::optional(next) : std::nullopt;
  }
  return found;
}

bool isConstantAlong(Value factor, unsigned fromEnd) {
  SmallVector<Dim> shape = shapeOf(factor);
  return shape.size() <= fromEnd || isOne(shape[shape.size() - 1 - fromEnd]);
}

} // namespace smelt::passes
