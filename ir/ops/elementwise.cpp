// Elementwise ops: result types by broadcasting, one element-type rule for each family.
#include "ir/ops/common.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace smelt {

namespace {

LogicalResult inferBroadcast(std::optional<Location> location, ValueRange operands,
                             Type elementType, SmallVectorImpl<Type> &results) {
  SmallVector<Dim> shape;
  for (TensorType type : tensorTypes(operands)) {
    FailureOr<SmallVector<Dim>> broadcast = broadcastShapes(shape, type.getShape());
    if (failed(broadcast))
      return inferError(location, "shapes ", toString(shape), " and ", toString(type.getShape()),
                        " do not broadcast");
    shape = *broadcast;
  }
  results.push_back(TensorType::get(shape, elementType));
  return success();
}

/// Operands of one element type, result of the same.
LogicalResult inferSame(std::optional<Location> location, ValueRange operands,
                        SmallVectorImpl<Type> &results) {
  Type first = tensorType(operands[0]).getElementType(),
       second = tensorType(operands[1]).getElementType();
  if (first != second)
    return inferError(location, "operands have different element types, ", first, " and ", second);
  return inferBroadcast(location, operands, first, results);
}

/// Operands of one element type, result bool.
LogicalResult inferComparison(std::optional<Location> location, ValueRange operands,
                              SmallVectorImpl<Type> &results) {
  SmallVector<Type> same;
  if (failed(inferSame(location, operands, same)))
    return failure();
  Type boolean = IntegerType::get(same[0].getContext(), 1);
  results.push_back(cast<TensorType>(same[0]).withElementType(boolean));
  return success();
}

LogicalResult inferLogical(std::optional<Location> location, ValueRange operands,
                           SmallVectorImpl<Type> &results) {
  for (TensorType type : tensorTypes(operands))
    if (!type.getElementType().isInteger(1))
      return inferError(location, "operands must be bool, got ", type.getElementType());
  return inferSame(location, operands, results);
}

/// Integers of one type that are no bools.
LogicalResult inferBits(std::optional<Location> location, ValueRange operands,
                        SmallVectorImpl<Type> &results) {
  Type type = tensorType(operands[0]).getElementType();
  if (!type.isInteger() || type.isInteger(1))
    return inferError(location, "operands must be integers, got ", type);
  return inferSame(location, operands, results);
}

LogicalResult inferTest(ValueRange operands, SmallVectorImpl<Type> &results) {
  TensorType type = tensorType(operands[0]);
  results.push_back(type.withElementType(IntegerType::get(type.getContext(), 1)));
  return success();
}

} // namespace

#define SMELT_INFER(Op, expression)                                                                \
  LogicalResult Op::inferReturnTypes(MLIRContext *, std::optional<Location> location,              \
                                     ValueRange operands, DictionaryAttr, OpaqueProperties,        \
                                     RegionRange, SmallVectorImpl<Type> &results) {                \
    return expression;                                                                             \
  }

SMELT_INFER(AddOp, inferSame(location, operands, results))
SMELT_INFER(SubOp, inferSame(location, operands, results))
SMELT_INFER(MulOp, inferSame(location, operands, results))
SMELT_INFER(DivOp, inferSame(location, operands, results))
SMELT_INFER(MinOp, inferSame(location, operands, results))
SMELT_INFER(MaxOp, inferSame(location, operands, results))
SMELT_INFER(ModOp, inferSame(location, operands, results))
SMELT_INFER(PowOp,
            inferBroadcast(location, operands, tensorType(operands[0]).getElementType(), results))
SMELT_INFER(AndOp, inferLogical(location, operands, results))
SMELT_INFER(OrOp, inferLogical(location, operands, results))
SMELT_INFER(XorOp, inferLogical(location, operands, results))
SMELT_INFER(BitAndOp, inferBits(location, operands, results))
SMELT_INFER(BitOrOp, inferBits(location, operands, results))
SMELT_INFER(BitXorOp, inferBits(location, operands, results))
SMELT_INFER(ShiftLeftOp, inferBits(location, operands, results))
SMELT_INFER(ShiftRightOp, inferBits(location, operands, results))
SMELT_INFER(EqualOp, inferComparison(location, operands, results))
SMELT_INFER(LessOp, inferComparison(location, operands, results))
SMELT_INFER(LessEqualOp, inferComparison(location, operands, results))
SMELT_INFER(IsNanOp, inferTest(operands, results))
SMELT_INFER(IsInfOp, inferTest(operands, results))
#undef SMELT_INFER

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr, OpaqueProperties,
                                         RegionRange, SmallVectorImpl<Type> &results) {
  if (!tensorType(operands[0]).getElementType().isInteger(1))
    return inferError(location, "the condition must be bool, got ",
                      tensorType(operands[0]).getElementType());
  SmallVector<Type> branches;
  if (failed(inferSame(location, operands.drop_front(), branches)))
    return failure();
  return inferBroadcast(location, operands, cast<TensorType>(branches[0]).getElementType(),
                        results);
}

void CastOp::build(OpBuilder &, OperationState &state, Value input, Type elementType) {
  state.addOperands(input);
  state.addTypes(tensorType(input).withElementType(elementType));
}

LogicalResult CastOp::verify() {
  if (tensorType(getInput()).getShape() != tensorType(getOutput()).getShape())
    return emitOpError("must keep the shape");
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getInput().getType() == getOutput().getType() ? getInput() : OpFoldResult();
}

LogicalResult BitcastOp::verify() {
  TensorType input = tensorType(getInput()), output = tensorType(getOutput());
  if (input.getShape() != output.getShape())
    return emitOpError("must keep the shape");
  Type from = input.getElementType(), to = output.getElementType();
  if (from.isInteger(1) || from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return emitOpError() << "cannot read the bits of " << from << " as " << to;
  return success();
}

OpFoldResult BitcastOp::fold(FoldAdaptor) {
  return getInput().getType() == getOutput().getType() ? getInput() : OpFoldResult();
}

} // namespace smelt
