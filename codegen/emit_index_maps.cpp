// Ops that choose where an element comes from, and positions that are values themselves:
// concatenations, gathers, sizes.
#include "codegen/emit_expression.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

/// "a && b"; either may be empty.
std::string conjunction(const std::string &a, const std::string &b) {
  return a.empty() || b.empty() ? a + b : a + " && " + b;
}

/// The value of an operand that is one literal integer.
std::optional<int64_t> literalInteger(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !elements.isSplat() || !elements.getElementType().isInteger())
    return std::nullopt;
  auto number = elements.getSplatValue<APInt>();
  return elements.getElementType().isUnsignedInteger() ? static_cast<int64_t>(number.getZExtValue())
                                                       : number.getSExtValue();
}

} // namespace

Operand ExpressionEmitter::dimValue(Dim dim, Type elementType) {
  Scope scope = scopeOf(dim);
  irregularAccesses += lanes.width > 1 && !laneStride(dim, lanes);
  std::string text = scope == Scope::lane ? dims.printAtLane(dim, lanes.symbols) : dims.print(dim);
  text = computeType(elementType).str() + "(" + text + ")";
  if (isHalfWidth(elementType))
    text = "rounded<" + storageType(elementType).str() + ">(" + text + ")";
  return {text, scope};
}

FailureOr<Operand> ExpressionEmitter::dimsValue(DimsOp op, ArrayRef<Dim> index) {
  Type element = elementOf(op.getOutput());
  auto value = [&](size_t i) { return dimValue(Dim(cast<DimAttr>(op.getDims()[i])), element); };
  std::optional<int64_t> position = index.empty() ? 0 : index[0].asConstant();
  if (position && *position >= 0 && *position < static_cast<int64_t>(op.getDims().size()))
    return value(*position);
  Dim place = space.collapse(index[0]);
  Scope scope = scopeOf(place);
  std::string where =
      scope == Scope::lane ? dims.printAtLane(place, lanes.symbols) : dims.print(place);
  std::string text = value(op.getDims().size() - 1).text;
  for (size_t i = op.getDims().size() - 1; i-- > 0;)
    text = where + " == " + std::to_string(i) + " ? " + value(i).text + " : " + text;
  return variable(computeType(element), text, scope, commentOf(op));
}

Operand ExpressionEmitter::comparePosition(Dim position, Dim bound) {
  position = space.collapse(position);
  std::optional<int64_t> stride = laneStride(position, lanes);
  bool sameForAllLanes =
      stride == 0 || (stride == 1 && knownDivisor(position, lanes) % lanes.width == 0 &&
                      knownDivisor(bound, lanes) % lanes.width == 0);
  irregularAccesses += !sameForAllLanes && lanes.width > 1;
  std::string text =
      sameForAllLanes ? dims.print(position) : dims.printAtLane(position, lanes.symbols);
  Scope scope = sameForAllLanes ? sharedScopeOf(position) : Scope::lane;
  return variable("bool", text + " < " + dims.print(bound), scope);
}

FailureOr<Operand> ExpressionEmitter::concat(ConcatOp op, ArrayRef<Dim> index) {
  int64_t axis = op.getAxis();
  Predicate outer = predicate;
  Dim start = Dim::constant(op.getContext(), 0);
  std::string text, behind; // behind: the position lies past the inputs before
  Type element = elementOf(op.getOutput());
  std::string zero = literal(Builder(op.getContext()).getZeroAttr(element), element);
  SmallVector<Operand> others; // than zeros
  Scope scope = Scope::uniform, ofConditions = outer.scope;
  for (auto [number, input] : llvm::enumerate(op.getInputs())) {
    Dim end = start + tensorType(input).getDim(axis);
    bool isLast = number + 1 == op.getInputs().size();
    Index inputIndex(index);
    inputIndex[axis] = index[axis] - start;
    Operand inside = isLast ? Operand{} : comparePosition(index[axis], end);
    ofConditions = std::max(ofConditions, inside.scope);
    predicate = {conjunction(outer.text, conjunction(behind, inside.text)), ofConditions};
    // In a name, or concatenations inside concatenations would spell out all conditions each time.
    if (!outer.text.empty())
      predicate.text = variable("bool", predicate.text, ofConditions).text;
    FailureOr<Operand> value = emit(input, inputIndex);
    predicate = outer;
    if (failed(value))
      return failure();
    if (value->text != zero)
      others.push_back(*value);
    scope = std::max({scope, value->scope, inside.scope});
    text += (isLast ? "" : inside.text + " ? ") + value->text + (isLast ? "" : " : ");
    behind = "!" + inside.text;
    start = end;
  }
  // Padding: a load that reads nothing elsewhere is zero there already.
  if (others.size() == 1 && others[0].isZeroElsewhere)
    return others[0];
  return variable(computeType(element), text, scope, commentOf(op));
}

FailureOr<Dim> ExpressionEmitter::gatheredPosition(Value indices, ArrayRef<Dim> index, Dim size) {
  std::optional<int64_t> constant = literalInteger(indices), extent = size.asConstant();
  if (constant && (*constant < 0 || (extent && *constant < *extent)))
    return *constant < 0 ? size + *constant : Dim::constant(size.getContext(), *constant);
  FailureOr<Operand> value = emit(indices, index);
  if (failed(value))
    return failure();
  std::string variableName = name("g");
  std::string text =
      "int " + variableName + " = clampIndex(" + value->text + ", " + dims.print(size) + ");\n";
  addStatement(value->scope, text);
  std::string symbol = "%" + variableName;
  bounds[symbol] = size;
  if (value->scope == Scope::lane)
    lanes.irregular.insert(symbol);
  else if (value->scope == Scope::chunk)
    loopSymbols.insert(symbol);
  return Dim::symbol(size.getContext(), symbol);
}

FailureOr<Operand> ExpressionEmitter::gather(GatherOp op, ArrayRef<Dim> index) {
  size_t axis = op.getAxis(), rank = tensorType(op.getIndices()).getRank();
  FailureOr<Dim> position = gatheredPosition(op.getIndices(), index.slice(axis, rank),
                                             tensorType(op.getData()).getDim(axis));
  if (failed(position))
    return failure();
  Index dataIndex(index.take_front(axis));
  dataIndex.push_back(*position);
  llvm::append_range(dataIndex, index.drop_front(axis + rank));
  return emit(op.getData(), dataIndex);
}

FailureOr<Operand> ExpressionEmitter::gatherElements(GatherElementsOp op, ArrayRef<Dim> index) {
  FailureOr<Dim> position =
      gatheredPosition(op.getIndices(), index, tensorType(op.getData()).getDim(op.getAxis()));
  if (failed(position))
    return failure();
  Index dataIndex(index);
  dataIndex[op.getAxis()] = *position;
  return emit(op.getData(), dataIndex);
}

FailureOr<Operand> ExpressionEmitter::gatherNd(GatherNdOp op, ArrayRef<Dim> index) {
  TensorType indices = tensorType(op.getIndices()), data = tensorType(op.getData());
  size_t batch = op.getBatchDims(), leading = indices.getRank() - 1;
  int64_t width = *indices.getDim(leading).asConstant();
  Index dataIndex(index.take_front(batch));
  for (int64_t i = 0; i < width; ++i) {
    Index at(index.take_front(leading));
    at.push_back(Dim::constant(op.getContext(), i));
    FailureOr<Dim> position = gatheredPosition(op.getIndices(), at, data.getDim(batch + i));
    if (failed(position))
      return failure();
    dataIndex.push_back(*position);
  }
  llvm::append_range(dataIndex, index.drop_front(leading));
  return emit(op.getData(), dataIndex);
}

} // namespace smelt::codegen
