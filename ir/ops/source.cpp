// Ops without operands: constants, weights, dimensions as data, iota.
#include "ir/ops/common.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace smelt {

/// What an initializer is called where the IR is printed: as the model calls it, but for characters that no
/// value's name can have. A long name keeps its end, which says more than its begin, and a mark of the
/// whole, so that it is the same after every pass, whatever else there is.
static std::string valueName(StringRef name) {
  constexpr size_t kLongest = 32, kKept = 27;
  std::string text;
  for (char c : name)
    text += llvm::isAlnum(c) || c == '.' || c == '-' ? c : '_';
  if (text.size() > kLongest) {
    StringRef kept = StringRef(text).take_back(kKept);
    kept = kept.drop_front(std::min(kept.find_first_of("._-"), kept.size() / 2));
    uint64_t mark = llvm::xxh3_64bits(name) & 0xFFFF;
    text = llvm::formatv("{0}_{1}", kept, llvm::format_hex_no_prefix(mark, 4)).str();
  }
  return StringRef(text).ltrim("._-").str();
}

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

/// Where it is an initializer, its place has the name; numbers in formulas have none.
void ConstantOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  auto place = dyn_cast<NameLoc>(getLoc());
  if (place && getValue().getNumElements() > 1)
    setName(getOutput(), valueName(place.getName()));
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

void WeightOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getOutput(), valueName(getName()));
}

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
