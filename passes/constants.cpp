#include "passes/constants.h"

#include "llvm/ADT/APFloat.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// The splat attribute behind `value`, looked up through views.
DenseElementsAttr splatAttribute(Value value) {
  for (Operation *op = value.getDefiningOp(); op; op = op->getOperand(0).getDefiningOp()) {
    if (auto constant = dyn_cast<ConstantOp>(op))
      return literalSplat(constant);
    if (!op->hasTrait<View>())
      return {};
  }
  return {};
}

APFloat convert(double number, Type type, bool &exact) {
  APFloat result(number);
  bool lost = false;
  result.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
  exact = !lost;
  return result;
}

} // namespace

DenseElementsAttr literalSplat(ConstantOp constant) {
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!dense || !dense.isSplat())
    return {};
  bool isWeight = isa<FloatType>(dense.getElementType()) && dense.getNumElements() > 1;
  return isWeight ? DenseElementsAttr() : dense;
}

std::optional<double> splatFloat(Value value) {
  DenseElementsAttr splat = splatAttribute(value);
  if (!splat || !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  APFloat number = splat.getSplatValue<APFloat>();
  bool lost;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return number.convertToDouble();
}

std::optional<int64_t> splatInteger(Value value) {
  DenseElementsAttr splat = splatAttribute(value);
  if (!splat || !splat.getElementType().isInteger())
    return std::nullopt;
  APInt number = splat.getSplatValue<APInt>();
  bool isUnsigned = number.getBitWidth() == 1 || splat.getElementType().isUnsignedInteger();
  if (number.getBitWidth() > 64 || (isUnsigned && number.getActiveBits() > 63))
    return std::nullopt;
  return isUnsigned ? static_cast<int64_t>(number.getZExtValue()) : number.getSExtValue();
}

std::optional<double> splatNumber(Value value) {
  if (std::optional<double> number = splatFloat(value))
    return number;
  std::optional<int64_t> integer = splatInteger(value);
  return integer ? std::optional<double>(static_cast<double>(*integer)) : std::nullopt;
}

bool isExactIn(double number, Type type) {
  bool exact = false;
  convert(number, type, exact);
  return exact;
}

Value makeScalar(OpBuilder &builder, Location location, double number, Type type) {
  if (type.isInteger())
    return makeScalarInteger(builder, location, static_cast<int64_t>(number), type);
  bool exact;
  APFloat value = convert(number, type, exact);
  return ConstantOp::create(builder, location,
                            DenseElementsAttr::get(RankedTensorType::get({}, type), value));
}

Value makeScalarInteger(OpBuilder &builder, Location location, int64_t number, Type type) {
  APInt value(type.getIntOrFloatBitWidth(), static_cast<uint64_t>(number), false, true);
  return ConstantOp::create(builder, location,
                            DenseElementsAttr::get(RankedTensorType::get({}, type), value));
}

Value broadcastTo(OpBuilder &builder, Location location, Value value, TensorType type) {
  return value.getType() == type ? value
                                 : ExpandOp::create(builder, location, type, value).getOutput();
}

bool isWeightView(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && op->hasTrait<View>())
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<ConstantOp, WeightOp>(op);
}

} // namespace smelt::passes
