// Ops without operands: constants, weights, dimensions as data, iota.
#include "ir/ops/common.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace smelt {

void ConstantOp::build(OpBuilder &, OperationState &state, DenseElementsAttr value) {
  state.getOrAddProperties<Properties>().value = value;
  state.addTypes(fromBuiltin(value.getType()));
}

LogicalResult ConstantOp::verify() {
  if (fromBuiltin(getValue().getShapedType()) != tensorType(getOutput()))
    return emitOpError("value of type ")
           << getValue().getType() << " does not fit the result " << getOutput().getType();
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult WeightOp::verify() {
  if (!tensorType(getOutput()).isStatic())
    return emitOpError("must have a static shape");
  return success();
}

LogicalResult DimsOp::verify() {
  TensorType type = tensorType(getOutput());
  bool fits = type.getRank() == 0
                  ? getDims().size() == 1
                  : type.getRank() == 1 && type.getDim(0).isConstant(getDims().size());
  if (!fits || !type.getElementType().isInteger())
    return emitOpError("needs an integer result of rank 0 or 1 with ")
           << getDims().size() << " elements";
  return success();
}

ParseResult DimsOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<Attribute> dims;
  Type type;
  auto parseOne = [&]() -> ParseResult {
    FailureOr<Dim> dim = parseDim(parser);
    if (failed(dim))
      return failure();
    dims.push_back(dim->getAttribute());
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type))
    return failure();
  result.getOrAddProperties<Properties>().dims = parser.getBuilder().getArrayAttr(dims);
  result.addTypes(type);
  return success();
}

void DimsOp::print(OpAsmPrinter &printer) {
  SmallVector<Dim> dims =
      llvm::map_to_vector(getDims(), [](Attribute dim) { return Dim(cast<DimAttr>(dim)); });
  printer << ' ' << toString(dims);
  printer.printOptionalAttrDict((*this)->getAttrs(), {"dims"});
  printer << " : " << getOutput().getType();
}

LogicalResult IotaOp::verify() {
  if (tensorType(getOutput()).getRank() != 1)
    return emitOpError("must have rank 1");
  return success();
}

} // namespace smelt
