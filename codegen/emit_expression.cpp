#include "codegen/emit_expression.h"

#include "codegen/printer.h"
#include "codegen/scalar_ops.h"
#include "ir/capabilities.h"
#include "ir/location.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

Type elementOf(Value value) { return tensorType(value).getElementType(); }

/// `text` as it may stand in a line comment: no line break, no trailing backslash.
std::string commentText(StringRef text) {
  std::string result = text.str();
  for (char &c : result)
    if (!llvm::isPrint(c) || c == '\\')
      c = '_';
  return result;
}

std::string commentOf(Operation *op) {
  return commentText(llvm::join(nodeNames(op->getLoc()), ", "));
}

/// `name` occurs in `text` as a whole identifier.
bool containsIdentifier(StringRef text, StringRef name) {
  auto continues = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = text.find(name); at != StringRef::npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at == 0 || !continues(text[at - 1])) && (end == text.size() || !continues(text[end])))
      return true;
  }
  return false;
}

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
  return elements.getSplatValue<APInt>().getSExtValue();
}

} // namespace

std::string inputName(unsigned index) { return "in" + std::to_string(index); }
std::string outputName(unsigned index) { return "out" + std::to_string(index); }

std::string Chunk::text() const {
  std::string text;
  for (const std::string &line : loads)
    text += line;
  if (!lanes.empty()) {
    text += "#pragma unroll\nfor (int i = 0; i < W; ++i) {\n";
    for (const std::string &line : lanes)
      text += "  " + line;
    text += "}\n";
  }
  for (const std::string &line : stores)
    text += line;
  return text;
}

ExpressionEmitter::ExpressionEmitter(FusionOp fusion, const IterationSpace &space, Lanes lanes)
    : fusion(fusion), space(space), lanes(std::move(lanes)), bounds(space.getBounds()),
      dims(bounds), chunks(1) {}

ExpressionEmitter::Key ExpressionEmitter::key(Value value, ArrayRef<Dim> index) const {
  std::vector<const void *> positions;
  for (Dim dim : index)
    positions.push_back(dim.getAttribute().getAsOpaquePointer());
  return {value.getAsOpaquePointer(), std::move(positions), predicate.text};
}

void ExpressionEmitter::define(Value value, ArrayRef<Dim> index, Operand operand) {
  known[key(value, index)] = {operand, chunks.size() - 1, computeType(elementOf(value)).str()};
}

void ExpressionEmitter::anchor(Value value, ArrayRef<Dim> index) {
  anchors.try_emplace(value, Index(index));
}

void ExpressionEmitter::loopOver(StringRef name) {
  for (const std::string &symbol : space.symbolsOf(name))
    loopSymbols.insert(symbol);
}

Scope ExpressionEmitter::scopeOf(Dim dim) const {
  return laneStride(dim, lanes) == 0 ? sharedScopeOf(dim) : Scope::lane;
}

Scope ExpressionEmitter::sharedScopeOf(Dim dim) const {
  bool changes = false;
  dim.forEachSymbol([&](StringRef symbol) { changes |= loopSymbols.contains(symbol); });
  // A single lane is the chunk; its values are kept for later passes.
  Scope ofChunk = lanes.width > 1 ? Scope::chunk : Scope::lane;
  return changes ? ofChunk : Scope::uniform;
}

void ExpressionEmitter::addStatement(Scope scope, std::string statement) {
  std::vector<std::string> &place = scope == Scope::lane    ? chunk().lanes
                                    : scope == Scope::chunk ? chunk().loads
                                                            : uniform;
  place.push_back(std::move(statement));
}

void ExpressionEmitter::beginChunk(bool keep) {
  chunks.emplace_back();
  keepValues = keep;
}

std::optional<Operand> ExpressionEmitter::lookup(const Key &key) {
  auto found = known.find(key);
  if (found == known.end())
    return std::nullopt;
  Known &value = found->second;
  bool isCurrent = value.operand.scope == Scope::uniform || value.chunk + 1 == chunks.size();
  if (isCurrent)
    return value.operand;
  if (!keepValues || value.operand.scope == Scope::chunk)
    return std::nullopt;
  if (!StringRef(value.operand.text).starts_with("kept")) {
    std::string array = name("kept");
    kept.push_back(value.type + " " + array + "[kChunks][W];\n");
    std::string element = array + "[chunk][i]";
    chunks[value.chunk].lanes.push_back(element + " = " + value.operand.text + ";\n");
    value.operand.text = element;
  }
  return value.operand;
}

FailureOr<Operand> ExpressionEmitter::emit(Value value, ArrayRef<Dim> index) {
  Key valueKey = key(value, index);
  if (std::optional<Operand> operand = lookup(valueKey))
    return *operand;
  FailureOr<Operand> operand = emitNew(value, index);
  if (succeeded(operand))
    known[valueKey] = {*operand, chunks.size() - 1, computeType(elementOf(value)).str()};
  return operand;
}

FailureOr<Operand> ExpressionEmitter::emitNew(Value value, ArrayRef<Dim> index) {
  if (auto input = dyn_cast<BlockArgument>(value))
    return load(input, index);
  Operation *op = value.getDefiningOp();
  if (op->hasTrait<Elementwise>())
    return elementwise(op, index);
  if (op->hasTrait<View>()) {
    Value source = op->getOperand(0);
    auto own = anchors.find(value), sources = anchors.find(source);
    bool isAtAnchor =
        own != anchors.end() && sources != anchors.end() && ArrayRef(own->second) == index;
    return emit(source, isAtAnchor ? Index(sources->second) : operandIndex(op, index, bounds));
  }
  return llvm::TypeSwitch<Operation *, FailureOr<Operand>>(op)
      .Case([&](ConstantOp constantOp) { return constant(constantOp, index); })
      .Case([&](DimsOp dimsOp) { return dimsValue(dimsOp, index); })
      .Case([&](IotaOp) { return dimValue(space.collapse(index[0]), elementOf(value)); })
      .Case([&](ConcatOp concatOp) { return concat(concatOp, index); })
      .Case([&](GatherOp gatherOp) { return gather(gatherOp, index); })
      .Case([&](GatherElementsOp gatherOp) { return gatherElements(gatherOp, index); })
      .Case([&](GatherNdOp gatherOp) { return gatherNd(gatherOp, index); })
      .Default([&](Operation *other) -> FailureOr<Operand> {
        if (resolver)
          return resolver(other, index);
        return other->emitError("cannot be computed inside this kernel"), failure();
      });
}

Operand ExpressionEmitter::variable(StringRef type, StringRef expression, Scope scope,
                                    StringRef comment) {
  std::string variableName = name("v");
  std::string statement = (type + " " + variableName + " = " + expression + ";").str();
  if (!comment.empty())
    statement += " // " + comment.str();
  addStatement(scope, statement + "\n");
  return {variableName, scope};
}

Operand ExpressionEmitter::load(BlockArgument input, ArrayRef<Dim> index) {
  Dim offset = space.collapse(linearize(index, tensorType(input).getShape(), input.getContext()));
  std::optional<int64_t> stride = laneStride(offset, lanes);
  bool sharePredicate = predicate.scope != Scope::lane;
  if (stride == 0 && sharePredicate)
    return loadScalar(input, offset, std::max(scopeOf(offset), predicate.scope));
  if (stride == 1 && sharePredicate && knownDivisor(offset, lanes) % lanes.width == 0)
    return loadVector(input, offset);
  irregularAccesses += lanes.width > 1;
  return loadScalar(input, offset, Scope::lane);
}

bool ExpressionEmitter::mayFetchAhead(BlockArgument input, Dim offset) {
  bool dependsOnData = false;
  offset.forEachSymbol([&](StringRef symbol) {
    dependsOnData |= symbol.starts_with("%") && !space.getBounds().contains(symbol);
  });
  bool isWanted = fetching == FetchAhead::inputs ||
                  (fetching == FetchAhead::constants &&
                   isWeightExpression(fusion.getInputs()[input.getArgNumber()]));
  int64_t bytes = storageBytes(elementOf(input)) * lanes.width;
  if (!isWanted || dependsOnData || !predicate.text.empty() || bytes > fetchBytesLeft)
    return false;
  fetchBytesLeft -= bytes;
  return true;
}

Operand ExpressionEmitter::loadVector(BlockArgument input, Dim offset) {
  Type element = elementOf(input);
  std::string array = name("v");
  bool isConstant = isWeightExpression(fusion.getInputs()[input.getArgNumber()]);
  std::string policy = isConstant ? "W, Cache::kConstant" : "W";
  std::string address = inputName(input.getArgNumber()) + " + " + dims.print(offset);
  std::string declaration = computeType(element).str() + " " + array + "[W]";
  if (mayFetchAhead(input, offset)) {
    bool isMember = fetching == FetchAhead::inputs;
    std::string vector = isMember ? "inputs." + array : array + "Ahead[chunk]";
    fetchedVectors.declarations.push_back("Vector<" + storageType(element).str() + ", W> " +
                                          (isMember ? array : array + "Ahead[kChunks]") + ";\n");
    fetchedVectors.statements.push_back(vector + " = loadVector<" + policy + ">(" + address +
                                        ");\n");
    chunk().loads.push_back(declaration + ";\nunpack<W>(" + vector + ", " + array + ");\n");
    return {array + "[i]", Scope::lane};
  }
  std::string call = "load<" + policy + ">(" + address + ", " + array + ");\n";
  if (predicate.text.empty())
    chunk().loads.push_back(declaration + ";\n" + call);
  else
    chunk().loads.push_back(declaration + " = {};\nif (" + predicate.text + ")\n  " + call);
  return {array + "[i]", Scope::lane};
}

Operand ExpressionEmitter::loadScalar(BlockArgument input, Dim offset, Scope scope) {
  Type element = elementOf(input);
  StringRef compute = computeType(element);
  std::string position =
      scope == Scope::lane ? dims.printAtLane(offset, lanes.symbols) : dims.print(offset);
  std::string value = inputName(input.getArgNumber()) + "[" + position + "]";
  if (storageType(element) != compute)
    value = "convert<" + compute.str() + ">(" + value + ")";
  if (!predicate.text.empty())
    value = predicate.text + " ? " + value + " : " + compute.str() + "(0)";
  return variable(compute, value, scope);
}

FailureOr<Operand> ExpressionEmitter::elementwise(Operation *op, ArrayRef<Dim> index) {
  SmallVector<std::string> operands;
  Scope scope = Scope::uniform;
  for (Value operand : op->getOperands()) {
    FailureOr<Operand> emitted = emit(operand, broadcastIndex(index, tensorType(operand)));
    if (failed(emitted))
      return failure();
    operands.push_back(emitted->text);
    scope = std::max(scope, emitted->scope);
  }
  FailureOr<std::string> expression = scalarExpression(op, operands);
  if (failed(expression))
    return failure();
  return variable(computeType(elementOf(op->getResult(0))), *expression, scope, commentOf(op));
}

FailureOr<Operand> ExpressionEmitter::constant(ConstantOp op, ArrayRef<Dim> index) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (elements && elements.isSplat())
    return Operand{literal(elements.getSplatValue<Attribute>(), elementOf(op.getOutput()))};
  Dim offset = linearize(index, tensorType(op.getOutput()).getShape(), op.getContext());
  std::optional<int64_t> position = offset.asConstant();
  if (!elements || !position || *position < 0 || *position >= elements.getNumElements())
    return op.emitError("is no scalar: a kernel reads such a constant from memory; this is a bug "
                        "in Smelt"),
           failure();
  return Operand{
      literal(*(elements.value_begin<Attribute>() + *position), elementOf(op.getOutput()))};
}

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
  Scope scope = Scope::uniform, ofConditions = outer.scope;
  for (auto [number, input] : llvm::enumerate(op.getInputs())) {
    Dim end = start + tensorType(input).getDim(axis);
    bool isLast = number + 1 == op.getInputs().size();
    Index inputIndex(index);
    inputIndex[axis] = index[axis] - start;
    Operand inside = isLast ? Operand{} : comparePosition(index[axis], end);
    ofConditions = std::max(ofConditions, inside.scope);
    predicate = {conjunction(outer.text, conjunction(behind, inside.text)), ofConditions};
    FailureOr<Operand> value = emit(input, inputIndex);
    predicate = outer;
    if (failed(value))
      return failure();
    scope = std::max({scope, value->scope, inside.scope});
    text += (isLast ? "" : inside.text + " ? ") + value->text + (isLast ? "" : " : ");
    behind = "!" + inside.text;
    start = end;
  }
  return variable(computeType(elementOf(op.getOutput())), text, scope, commentOf(op));
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

void ExpressionEmitter::store(unsigned output, ArrayRef<Dim> index, const Operand &operand) {
  TensorType type = tensorType(fusion.getOutputs()[output]);
  SmallVector<Dim> shape = place ? place->shape : type.getShape();
  Dim offset = space.collapse(linearize(index, shape, fusion.getContext()));
  std::string pointer = outputName(output);
  bool isVector = laneStride(offset, lanes) == 1 &&
                  knownDivisor(offset, lanes) % lanes.width == 0 &&
                  (!place || knownDivisor(place->first, Lanes()) % lanes.width == 0);
  if (isVector) {
    std::string array = "r" + std::to_string(outputCounter++);
    chunk().loads.push_back(computeType(type.getElementType()).str() + " " + array + "[W];\n");
    chunk().lanes.push_back(array + "[i] = " + operand.text + ";\n");
    chunk().stores.push_back("store<W>(" + pointer + " + " + dims.print(offset) + ", " + array +
                             ");\n");
    return;
  }
  irregularAccesses += lanes.width > 1;
  std::string value =
      "convert<" + storageType(type.getElementType()).str() + ">(" + operand.text + ")";
  if (lanes.symbols.empty() && operand.scope != Scope::lane)
    chunk().stores.push_back(pointer + "[" + dims.print(offset) + "] = " + value + ";\n");
  else
    chunk().lanes.push_back(pointer + "[" + dims.printAtLane(offset, lanes.symbols) +
                            "] = " + value + ";\n");
}

void ExpressionEmitter::storeMoments(unsigned output, ArrayRef<Dim> index, const Operand &operand,
                                     Type element) {
  TensorType type = tensorType(fusion.getOutputs()[output]);
  Dim groups = type.getDim(type.getRank() - 2), perGroup = type.getDim(type.getRank() - 1);
  SmallVector<Dim> shape = type.getShape();
  Dim row = linearize(index.drop_back(), ArrayRef(shape).drop_back(2), fusion.getContext());
  Dim group =
      index.back().floorDiv(Dim::constant(fusion.getContext(), RowMomentsOp::kGroup), bounds);
  Dim offset = space.collapse(row) * groups * perGroup + group * perGroup;
  std::string array = "r" + std::to_string(outputCounter++);
  std::string value = isHalfWidth(element)
                          ? "rounded<" + storageType(element).str() + ">(" + operand.text + ")"
                          : operand.text;
  chunk().loads.push_back("float " + array + "[W];\n");
  chunk().lanes.push_back(array + "[i] = " + value + ";\n");
  chunk().stores.push_back("storeMoments<W>(" + outputName(output) + " + " + dims.print(offset) +
                           ", " + array + ");\n");
}

std::string ExpressionEmitter::takeUniform() {
  std::string text = llvm::join(uniform, "");
  uniform.clear();
  return text;
}

std::string ExpressionEmitter::keptDeclarations() const { return llvm::join(kept, ""); }

std::string ExpressionEmitter::coordinateDefinitions(StringRef text, StringRef flat) {
  std::string definitions;
  auto isUsed = [&](StringRef symbol) {
    return dims.uses(symbol) && containsIdentifier(text, symbol.drop_front());
  };
  for (const auto &definition : space.definitions(isUsed, flat))
    definitions +=
        "const int " + definition.symbol.substr(1) + " = " + dims.print(definition.value) + ";\n";
  return definitions;
}

} // namespace smelt::codegen
