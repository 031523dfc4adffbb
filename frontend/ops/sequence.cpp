// Sequences and optionals. Both exist while importing only, as lists of values: what is built, taken
// apart and counted in them leaves no op behind. Positions must be known.
#include "frontend/fixing_flags.h"
#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

using Elements = std::vector<GraphValue>;

/// The elements of a sequence; a failure has been reported.
FailureOr<Elements> readSequence(NodeReader &node, size_t index) {
  GraphValue value = node.value(index);
  if (value.isSequence())
    return value.elements();
  return node.error() << "input " << index << " is "
                      << (value ? value.kindName() : StringRef("missing"))
                      << ", but must be a sequence";
}

FailureOr<Value> readTensor(NodeReader &node, size_t index) {
  GraphValue value = node.value(index);
  if (value.isTensor())
    return value.tensor();
  return node.error() << "input " << index << " is "
                      << (value ? value.kindName() : StringRef("missing"))
                      << ", but must be a tensor";
}

/// A position, counted from the end where negative, of at most `last`; `last` where it is omitted.
FailureOr<size_t> readPosition(NodeReader &node, size_t index, int64_t size, int64_t last) {
  if (!node.input(index))
    return static_cast<size_t>(last);
  FailureOr<SmallVector<int64_t>> given = node.constants(index, "a position in a sequence");
  if (failed(given))
    return failure();
  int64_t position = given->size() == 1 ? given->front() : size + 1;
  position += position < 0 ? size : 0;
  if (position < 0 || position > last)
    return node.error() << "its position " << node.describe(index) << " lies outside a sequence of "
                        << size;
  return static_cast<size_t>(position);
}

LogicalResult importSequenceConstruct(NodeReader &node) {
  Elements elements;
  for (size_t index = 0; index < node.inputCount(); ++index) {
    FailureOr<Value> element = readTensor(node, index);
    if (failed(element))
      return failure();
    elements.push_back(*element);
  }
  return node.outputAny(GraphValue::sequence(std::move(elements)));
}

LogicalResult importSequenceEmpty(NodeReader &node) {
  return node.outputAny(GraphValue::sequence({}));
}

LogicalResult importSequenceAt(NodeReader &node) {
  FailureOr<Elements> elements = readSequence(node, 0);
  if (failed(elements))
    return failure();
  int64_t size = static_cast<int64_t>(elements->size());
  FailureOr<size_t> position = readPosition(node, 1, size, size - 1);
  return failed(position) ? failure() : node.outputAny((*elements)[*position]);
}

LogicalResult importSequenceInsert(NodeReader &node) {
  FailureOr<Elements> elements = readSequence(node, 0);
  FailureOr<Value> element = failed(elements) ? FailureOr<Value>(failure()) : readTensor(node, 1);
  if (failed(element))
    return failure();
  int64_t size = static_cast<int64_t>(elements->size());
  FailureOr<size_t> position = readPosition(node, 2, size, size);
  if (failed(position))
    return failure();
  elements->insert(elements->begin() + static_cast<int64_t>(*position), *element);
  return node.outputAny(GraphValue::sequence(std::move(*elements)));
}

LogicalResult importSequenceErase(NodeReader &node) {
  FailureOr<Elements> elements = readSequence(node, 0);
  if (failed(elements))
    return failure();
  int64_t size = static_cast<int64_t>(elements->size());
  if (size == 0)
    return node.error() << "cannot erase from an empty sequence";
  FailureOr<size_t> position = readPosition(node, 1, size, size - 1);
  if (failed(position))
    return failure();
  elements->erase(elements->begin() + static_cast<int64_t>(*position));
  return node.outputAny(GraphValue::sequence(std::move(*elements)));
}

LogicalResult importSequenceLength(NodeReader &node) {
  FailureOr<Elements> elements = readSequence(node, 0);
  if (failed(elements))
    return failure();
  Type i64 = IntegerType::get(node.build.getContext(), 64);
  return node.output(node.build.scalar(static_cast<double>(elements->size()), i64));
}

/// One after the other along an axis, or along a new one.
LogicalResult importConcatFromSequence(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<Elements> elements = readSequence(node, 0);
  if (failed(elements))
    return failure();
  bool isNew = node.flag("new_axis");
  SmallVector<Value> parts;
  for (const GraphValue &element : *elements)
    if (element.isTensor())
      parts.push_back(element.tensor());
  if (parts.empty() || parts.size() != elements->size() || !node.hasAttribute("axis"))
    return node.error() << "needs an axis and a sequence of one tensor or more, got "
                        << parts.size();
  int64_t rank = tensorType(parts.front()).getRank() + isNew;
  FailureOr<int64_t> axis = node.normalAxis(node.integer("axis", 0), rank);
  if (failed(axis))
    return failure();
  for (Value &part : parts) {
    SmallVector<Dim> shape = tensorType(part).getShape();
    if (static_cast<int64_t>(shape.size()) + isNew != rank)
      return node.error() << "its tensors must have one rank";
    if (isNew)
      shape.insert(shape.begin() + *axis, build.size(1));
    part = build.reshape(part, shape);
  }
  return node.output(build.concat(parts, *axis));
}

/// How long the parts of an axis of `size` are: as the second input says, or 1 each.
FailureOr<SmallVector<int64_t>> readPartSizes(NodeReader &node, Dim size) {
  std::optional<int64_t> known = size.asConstant();
  constexpr int64_t kMostParts = 4096;
  if (!known)
    return node.error() << "an axis of " << size.toString()
                        << " is not supported: its size must be constant; " << node.describe(0)
                        << fixingFlags(node.build.getFunction(), size);
  FailureOr<SmallVector<int64_t>> given = SmallVector<int64_t>{1};
  if (node.input(1))
    given = node.constants(1, "the sizes of the parts");
  if (failed(given))
    return failure();
  bool isOneSize = !node.input(1) || tensorType(node.input(1)).getRank() == 0;
  if (isOneSize && given->size() == 1 && given->front() > 0) {
    int64_t each = given->front();
    if (*known / each > kMostParts)
      return node.error() << *known / each << " parts are not supported, at most " << kMostParts;
    given = SmallVector<int64_t>(*known / each, each);
    if (*known % each != 0)
      given->push_back(*known % each);
  }
  int64_t sum = 0;
  for (int64_t part : *given)
    if (part < 0 || part > *known - sum)
      return node.error() << "its parts do not fit an axis of " << *known;
    else
      sum += part;
  if (sum != *known)
    return node.error() << "its parts do not fit an axis of " << *known;
  return given;
}

LogicalResult importSplitToSequence(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<int64_t> axis =
      node.normalAxis(node.integer("axis", 0), tensorType(node.input(0)).getRank());
  if (failed(axis))
    return failure();
  FailureOr<SmallVector<int64_t>> sizes =
      readPartSizes(node, tensorType(node.input(0)).getDim(*axis));
  if (failed(sizes))
    return failure();
  bool drops = !node.input(1) && node.integer("keepdims", 1) == 0;
  Elements elements;
  int64_t start = 0;
  for (int64_t size : *sizes) {
    Value part = build.slice(node.input(0), *axis, build.size(start), build.size(size));
    SmallVector<Dim> shape = tensorType(node.input(0)).getShape();
    shape.erase(shape.begin() + *axis);
    part = drops ? build.reshape(part, shape) : part;
    if (!part)
      return failure();
    elements.push_back(part);
    start += size;
  }
  return node.outputAny(GraphValue::sequence(std::move(elements)));
}

/// The body for each element of the first sequence, and of the others beside it; tensors go along.
LogicalResult importSequenceMap(NodeReader &node) {
  FailureOr<Elements> first = readSequence(node, 0);
  if (failed(first))
    return failure();
  FailureOr<InnerGraph> body = node.graph("body", node.inputCount(), node.outputCount());
  if (failed(body))
    return failure();
  std::vector<Elements> results(body->outputCount());
  for (size_t index = 0; index < first->size(); ++index) {
    SmallVector<GraphValue> inputs;
    for (size_t input = 0; input < node.inputCount(); ++input) {
      GraphValue value = node.value(input);
      if (value.isSequence() && value.elements().size() != first->size())
        return node.error() << "its sequences must have one length";
      inputs.push_back(value.isSequence() ? value.elements()[index] : value);
    }
    FailureOr<SmallVector<GraphValue>> outputs = body->import(inputs);
    if (failed(outputs))
      return failure();
    for (auto [result, output] : llvm::zip_equal(results, *outputs))
      result.push_back(output);
  }
  for (auto [index, result] : llvm::enumerate(results))
    if (failed(node.outputAny(GraphValue::sequence(std::move(result)), index)))
      return failure();
  return success();
}

LogicalResult importOptional(NodeReader &node) {
  return node.outputAny(node.value(0) ? node.value(0) : GraphValue::emptyOptional());
}

LogicalResult importOptionalGetElement(NodeReader &node) {
  if (node.value(0).isEmptyOptional())
    return node.error() << "its optional is empty";
  return node.outputAny(node.value(0));
}

LogicalResult importOptionalHasElement(NodeReader &node) {
  bool has = node.value(0) && !node.value(0).isEmptyOptional();
  return node.output(node.build.scalar(has, IntegerType::get(node.build.getContext(), 1)));
}

} // namespace

ArrayRef<NodeRule> sequenceRules() {
  constexpr auto kAny = Operands::any;
  static constexpr NodeRule kRules[] = {
      {"ConcatFromSequence", 11, 1, importConcatFromSequence, "", kAny},
      {"Optional", 15, 0, importOptional, "", kAny},
      {"OptionalGetElement", 15, 1, importOptionalGetElement, "", kAny},
      {"OptionalHasElement", 15, 0, importOptionalHasElement, "", kAny},
      {"SequenceAt", 11, 2, importSequenceAt, "", kAny},
      {"SequenceConstruct", 11, kEveryInput, importSequenceConstruct, "", kAny},
      {"SequenceEmpty", 11, 0, importSequenceEmpty, "", kAny},
      {"SequenceErase", 11, 1, importSequenceErase, "", kAny},
      {"SequenceInsert", 11, 2, importSequenceInsert, "", kAny},
      {"SequenceLength", 11, 1, importSequenceLength, "", kAny},
      {"SequenceMap", 17, kEveryInput, importSequenceMap, "", kAny},
      {"SplitToSequence", 11, 1, importSplitToSequence},
  };
  return kRules;
}

} // namespace smelt::frontend
