#include "ir/decisions.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "ir/dialect.cpp.inc"
#include "ir/enums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/attributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/types.cpp.inc"

namespace smelt {

void SmeltDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/types.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/attributes.cpp.inc"
      >();
  registerOps();
}

LogicalResult SmeltDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  bool isGuards = attribute.getName() == kGuards, isRemarks = attribute.getName() == kRemarks;
  auto holdsOnly = [&](auto matches) {
    auto list = dyn_cast<ArrayAttr>(attribute.getValue());
    return list && llvm::all_of(list, matches);
  };
  if (isGuards && !holdsOnly([](Attribute entry) { return isa<GuardAttr>(entry); }))
    return op->emitOpError() << kGuards << " must be an array of #smelt.guard";
  if (isRemarks && !holdsOnly([](Attribute entry) { return isa<RemarkAttr>(entry); }))
    return op->emitOpError() << kRemarks << " must be an array of #smelt.remark";
  return success();
}

Attribute DimAttr::parse(AsmParser &parser, Type) {
  if (failed(parser.parseLess()))
    return {};
  FailureOr<Dim> dim = parseDim(parser);
  if (failed(dim) || failed(parser.parseGreater()))
    return {};
  return dim->getAttribute();
}

void DimAttr::print(AsmPrinter &printer) const { printer << '<' << Dim(*this) << '>'; }

Type TensorType::parse(AsmParser &parser) {
  SmallVector<DimAttr> dims;
  Type elementType;
  auto parseOne = [&]() -> ParseResult {
    FailureOr<Dim> dim = parseDim(parser);
    if (failed(dim))
      return failure();
    dims.push_back(dim->getAttribute());
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne) ||
      parser.parseComma() || parser.parseType(elementType) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(parser.getNameLoc()); }, parser.getContext(),
                    dims, elementType);
}

void TensorType::print(AsmPrinter &printer) const {
  printer << '<' << toString(getShape()) << ", " << getElementType() << '>';
}

LogicalResult TensorType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<DimAttr> dims, Type elementType) {
  if (!elementType.isIntOrFloat())
    return emitError() << "element type must be an integer or a float, got " << elementType;
  for (DimAttr dim : dims)
    if (auto value = Dim(dim).asConstant(); value && *value < 0)
      return emitError() << "dimension must not be negative, got " << *value;
  return success();
}

TensorType TensorType::get(ArrayRef<Dim> shape, Type elementType) {
  SmallVector<DimAttr> dims =
      llvm::map_to_vector(shape, [](Dim dim) { return dim.getAttribute(); });
  return get(elementType.getContext(), dims, elementType);
}

SmallVector<Dim> TensorType::getShape() const {
  return llvm::map_to_vector(getDims(), [](DimAttr dim) { return Dim(dim); });
}

Dim TensorType::getNumElements() const { return product(getShape(), getContext()); }

bool TensorType::isStatic() const {
  return llvm::all_of(getDims(), [](DimAttr dim) { return Dim(dim).asConstant().has_value(); });
}

SmallVector<int64_t> TensorType::getStaticShape() const {
  return llvm::map_to_vector(getDims(), [](DimAttr dim) { return *Dim(dim).asConstant(); });
}

std::string toString(ArrayRef<Dim> shape) {
  std::string text = "[";
  for (auto [index, dim] : llvm::enumerate(shape))
    text += (index ? ", " : "") + dim.toString();
  return text + "]";
}

FailureOr<SmallVector<Dim>> broadcastShapes(ArrayRef<Dim> lhs, ArrayRef<Dim> rhs) {
  ArrayRef<Dim> longer = lhs.size() >= rhs.size() ? lhs : rhs,
                shorter = lhs.size() >= rhs.size() ? rhs : lhs;
  SmallVector<Dim> result(longer);
  size_t offset = longer.size() - shorter.size();
  for (auto [index, dim] : llvm::enumerate(shorter)) {
    Dim &other = result[offset + index];
    if (other == dim || dim.isConstant(1))
      continue;
    if (other.isConstant(1) || (!other.asConstant() && dim.asConstant()))
      other = dim;
    else if (other.asConstant() && dim.asConstant())
      return failure();
  }
  return result;
}

Dim product(ArrayRef<Dim> sizes, MLIRContext *context) {
  Dim result = Dim::constant(context, 1);
  for (Dim size : sizes)
    result = result * size;
  return result;
}

RankedTensorType toBuiltin(TensorType type) {
  return RankedTensorType::get(type.getStaticShape(), type.getElementType());
}

TensorType fromBuiltin(ShapedType type) {
  SmallVector<Dim> shape;
  for (int64_t size : type.getShape())
    shape.push_back(Dim::constant(type.getContext(), size));
  return TensorType::get(shape, type.getElementType());
}

} // namespace smelt

#include "ir/interfaces.cpp.inc"
