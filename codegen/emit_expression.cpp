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

/// `text` as it may stand in a line comment: no line break, no trailing backslash.
std::string commentText(StringRef text) {
  std::string result = text.str();
  for (char &c : result)
    if (!llvm::isPrint(c) || c == '\\')
      c = '_';
  return result;
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

} // namespace

Type elementOf(Value value) { return tensorType(value).getElementType(); }

std::string commentOf(Operation *op) {
  return commentText(llvm::join(nodeNames(op->getLoc()), ", "));
}

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
  known[key(value, index)] = {operand, chunks.size() - 1, elementOf(value), ""};
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
  return packsKept && isHalfWidth(value.element) ? keepPacked(value) : keep(value);
}

Operand ExpressionEmitter::keep(Known &value) {
  if (!StringRef(value.operand.text).starts_with("kept")) {
    std::string array = name("kept");
    kept.push_back(computeType(value.element).str() + " " + array + "[kChunks][W];\n");
    std::string element = array + "[chunk][i]";
    chunks[value.chunk].lanes.push_back(element + " = " + value.operand.text + ";\n");
    value.operand.text = element;
  }
  return value.operand;
}

Operand ExpressionEmitter::keepPacked(Known &value) {
  std::string type = computeType(value.element).str(), storage = storageType(value.element).str();
  if (value.packed.empty()) {
    std::string array = name("kept"), rounded = name("rounded");
    kept.push_back("Vector<" + storage + ", W> " + array + "[kChunks];\n");
    Chunk &writer = chunks[value.chunk];
    writer.loads.push_back(type + " " + rounded + "[W];\n");
    writer.lanes.push_back(rounded + "[i] = " + value.operand.text + ";\n");
    writer.stores.push_back(array + "[chunk] = pack<" + storage + ", W>(" + rounded + ");\n");
    value.packed = array + "[chunk]";
  }
  std::string unpacked = name("v");
  chunk().loads.push_back(type + " " + unpacked + "[W];\nunpack<W>(" + value.packed + ", " +
                          unpacked + ");\n");
  value.operand.text = unpacked + "[i]";
  value.chunk = chunks.size() - 1;
  return value.operand;
}

FailureOr<Operand> ExpressionEmitter::emit(Value value, ArrayRef<Dim> index) {
  Key valueKey = key(value, index);
  if (std::optional<Operand> operand = lookup(valueKey))
    return *operand;
  FailureOr<Operand> operand = emitNew(value, index);
  if (succeeded(operand))
    known[valueKey] = {*operand, chunks.size() - 1, elementOf(value), ""};
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

FailureOr<Operand> ExpressionEmitter::elementwise(Operation *op, ArrayRef<Dim> index) {
  if (std::optional<ByteRounding> rounding = byteRounding(op)) {
    FailureOr<Operand> input = emit(rounding->input, index);
    if (failed(input))
      return failure();
    return variable(computeType(elementOf(op->getResult(0))),
                    roundingExpression(op, *rounding, input->text), input->scope, commentOf(op));
  }
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
