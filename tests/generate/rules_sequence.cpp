// Sequences and optionals: lists of tensors that are built, changed and taken apart again. A rule draws all of it, since only
// tensors are offered to other nodes.
#include "tests/generate/bodies.h"
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <array>
#include <set>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

/// A list, and what it holds.
struct Sequence {
  Value list;
  std::vector<Value> elements;
};

/// Which op must occur; the others are drawn.
using Op = std::string_view;

Bounds boundsOf(const std::vector<Value> &elements) {
  Bounds bounds = elements.empty() ? Bounds{0, 0} : elements[0].bounds;
  for (const Value &element : elements)
    bounds = {std::min(bounds.low, element.bounds.low), std::max(bounds.high, element.bounds.high)};
  return bounds;
}

/// Adds a node whose result is a list of elements like `like`.
Value listNode(Drawing &draw, const std::string &op, const std::vector<Value> &inputs,
               const Attributes &attributes, const Value &like) {
  return draw.aside(op, inputs, attributes, like.type, like.shape, like.bounds);
}

/// A position in a list of `count`, from either end; the type of indices is one of two.
Value drawPosition(Drawing &draw, int64_t position, int64_t count) {
  int64_t spelled = draw.chance(0.3) && position < count ? position - count : position;
  return draw.scalar(draw.chance(0.5) ? Wire::INT64 : Wire::INT32, static_cast<double>(spelled));
}

/// `count` parts of the operand along an axis whose size is a number: equal ones, or of given sizes.
std::optional<Sequence> drawParts(Drawing &draw, const Value &operand) {
  if (operand.shape.empty())
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  int64_t extent = operand.shape[axis].isConstant() ? operand.shape[axis].values[0] : 0;
  if (extent < 1)
    return std::nullopt;
  Attributes attributes;
  attributes.add("axis", spelledAxis(draw, axis, operand.shape.size()));
  std::vector<int64_t> sizes;
  std::vector<Value> inputs{operand};
  bool drops = extent <= 6 && draw.chance(0.4);
  if (drops) { // parts of one element each, whose axis may go
    sizes.assign(static_cast<size_t>(extent), 1);
    attributes.add("keepdims", 0);
  } else if (draw.chance(0.5)) { // one size for all but the last
    int64_t size = draw.between((extent + 4) / 5, extent);
    for (int64_t start = 0; start < extent; start += size)
      sizes.push_back(std::min(size, extent - start));
    inputs.push_back(draw.integerScalar(size));
  } else {
    int64_t first = draw.between(1, extent);
    sizes = first < extent ? std::vector<int64_t>{first, extent - first} : std::vector{extent};
    inputs.push_back(draw.integers(sizes));
  }
  Sequence sequence{listNode(draw, "SplitToSequence", inputs, attributes, operand), {}};
  for (int64_t size : sizes) {
    Value part = operand;
    if (drops)
      part.shape.erase(part.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    else
      part.shape[axis] = Size::of(size);
    sequence.elements.push_back(part);
  }
  return sequence;
}

Sequence drawConstruct(Drawing &draw, const Value &operand) {
  std::vector<Value> elements{operand};
  for (int64_t i = draw.between(0, 2); i > 0; --i)
    elements.insert(elements.begin() + draw.between(0, 1),
                    hasDerived(operand.shape) ? operand : draw.leaf(operand.type, operand.shape));
  return {listNode(draw, "SequenceConstruct", elements, {}, operand), elements};
}

void insert(Drawing &draw, Sequence &sequence, const Value &element) {
  int64_t count = static_cast<int64_t>(sequence.elements.size()), at = draw.between(0, count);
  std::vector<Value> inputs{sequence.list, element};
  if (at < count || draw.chance(0.5))
    inputs.push_back(drawPosition(draw, at, count));
  sequence.list = listNode(draw, "SequenceInsert", inputs, {}, element);
  sequence.elements.insert(sequence.elements.begin() + at, element);
}

void erase(Drawing &draw, Sequence &sequence) {
  int64_t count = static_cast<int64_t>(sequence.elements.size()), at = draw.between(0, count - 1);
  std::vector<Value> inputs{sequence.list};
  if (at < count - 1 || draw.chance(0.5))
    inputs.push_back(drawPosition(draw, at, count));
  sequence.list = listNode(draw, "SequenceErase", inputs, {}, sequence.list);
  sequence.elements.erase(sequence.elements.begin() + at);
}

Sequence drawGrown(Drawing &draw, const Value &operand) {
  Sequence sequence{listNode(draw, "SequenceEmpty", {},
                             Attributes().add("dtype", static_cast<int64_t>(operand.type)),
                             operand),
                    {}};
  insert(draw, sequence, operand);
  return sequence;
}

/// A body for each element; now and then with another tensor, the same one for all.
void map(Drawing &draw, Sequence &sequence) {
  std::vector<Value> parameters{sequence.elements[0]}, inputs{sequence.list};
  parameters[0].bounds = boundsOf(sequence.elements);
  if (!hasDerived(parameters[0].shape) && draw.chance(0.3)) {
    inputs.push_back(draw.leaf(parameters[0].type, parameters[0].shape));
    parameters.push_back(inputs[1]);
  }
  Value changed;
  onnx_wire::Graph body = draw.body(parameters, {}, [&] {
    changed = drawChange(draw, parameters[0], Keeps::typeAndShape);
    changed = parameters.size() > 1 ? join(draw, changed, parameters[1]) : identity(draw, changed);
    return std::vector<Value>{changed};
  });
  sequence.list =
      listNode(draw, "SequenceMap", inputs, Attributes().add("body", std::move(body)), changed);
  for (Value &element : sequence.elements)
    element = changed;
}

bool areAlike(const std::vector<Value> &elements) {
  return std::all_of(elements.begin(), elements.end(),
                     [&](const Value &element) { return element.shape == elements[0].shape; });
}

std::optional<Sequence> drawList(Drawing &draw, const Value &operand, Op op) {
  static const std::set<Op> kOfWholes = {"SequenceConstruct", "SequenceEmpty", "SequenceErase",
                                         "SequenceInsert", "SequenceMap"};
  bool mustSplit = op == "SplitToSequence",
       splits = mustSplit || (!kOfWholes.contains(op) && draw.chance(0.4));
  std::optional<Sequence> parts = splits ? drawParts(draw, operand) : std::nullopt;
  if (parts || mustSplit)
    return parts;
  bool grows = op == "SequenceEmpty" || (op != "SequenceConstruct" && draw.chance(0.3));
  return grows ? drawGrown(draw, operand) : drawConstruct(draw, operand);
}

/// Inserts, erases and maps at random; what must occur does.
void change(Drawing &draw, Sequence &sequence, const Value &operand, Op op) {
  bool erases = op == "SequenceErase" || draw.chance(0.3),
       takesOperand = sequence.elements[0].shape.size() == operand.shape.size();
  if (op == "SequenceInsert" || op == "SequenceErase" || (takesOperand && draw.chance(0.3)))
    insert(draw, sequence, operand);
  if (erases && sequence.elements.size() > 1)
    erase(draw, sequence);
  if (op == "SequenceMap" ||
      (areAlike(sequence.elements) && draw.opset() >= 17 && draw.chance(0.2)))
    map(draw, sequence);
}

/// The list, as an optional that is looked into.
Value throughOptional(Drawing &draw, const Sequence &sequence) {
  Value held = listNode(draw, "Optional", {sequence.list}, {}, sequence.list);
  return listNode(draw, "OptionalGetElement", {held}, {}, sequence.list);
}

/// Axes along which the elements can be joined: all others have the same sizes.
std::vector<size_t> joiningAxes(const std::vector<Value> &elements) {
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < elements[0].shape.size(); ++axis) {
    auto fits = [&](const Value &element) {
      Shape shape = element.shape;
      shape[axis] = elements[0].shape[axis];
      return shape == elements[0].shape;
    };
    if (std::all_of(elements.begin(), elements.end(), fits))
      axes.push_back(axis);
  }
  return axes;
}

Size sumOf(Drawing &draw, const std::vector<Value> &elements, size_t axis) {
  std::array<int64_t, kAssignments> extents = {};
  bool isKnown = true;
  for (const Value &element : elements) {
    isKnown &= element.shape[axis].isConstant();
    for (size_t at = 0; at < kAssignments; ++at)
      extents[at] += element.shape[axis].values[at];
  }
  if (elements.size() == 1)
    return elements[0].shape[axis];
  return isKnown ? Size::of(extents[0]) : draw.derived(extents);
}

/// The elements one after the other, along a new axis or one of theirs.
Value drawJoined(Drawing &draw, const Sequence &sequence) {
  const std::vector<Value> &elements = sequence.elements;
  Shape shape = elements[0].shape;
  bool isNew = areAlike(elements) && (shape.empty() || draw.chance(0.5));
  size_t axis = isNew ? static_cast<size_t>(draw.between(0, static_cast<int64_t>(shape.size())))
                      : draw.pick(joiningAxes(elements));
  if (isNew)
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis),
                 Size::of(static_cast<int64_t>(elements.size())));
  else
    shape[axis] = sumOf(draw, elements, axis);
  Attributes attributes;
  attributes.add("axis", spelledAxis(draw, axis, shape.size())).add("new_axis", isNew ? 1 : 0);
  return draw.node("ConcatFromSequence", {sequence.list}, attributes, elements[0].type, shape,
                   boundsOf(elements));
}

Value drawAt(Drawing &draw, const Sequence &sequence) {
  int64_t count = static_cast<int64_t>(sequence.elements.size()), at = draw.between(0, count - 1);
  const Value &element = sequence.elements[static_cast<size_t>(at)];
  return draw.node("SequenceAt", {sequence.list, drawPosition(draw, at, count)}, {}, element.type,
                   element.shape, element.bounds);
}

Value drawEnd(Drawing &draw, const Sequence &sequence, Op op) {
  if (op == "OptionalHasElement")
    return draw.node(std::string(op),
                     {listNode(draw, "Optional", {sequence.list}, {}, sequence.list)}, {},
                     Wire::BOOL, {}, {0, 1});
  if (op == "SequenceLength")
    return draw.node(std::string(op), {sequence.list}, {}, Wire::INT64, {},
                     {1, static_cast<double>(sequence.elements.size())});
  bool joins = op == "ConcatFromSequence" || (op != "SequenceAt" && draw.chance(0.5));
  return joins ? drawJoined(draw, sequence) : drawAt(draw, sequence);
}

/// The operand as an optional; what an omitted one has is nothing.
Value drawOptional(Drawing &draw, const Value &operand, Op op) {
  if (op == "OptionalHasElement" && draw.opset() >= 18 && draw.chance(0.3))
    return draw.node(std::string(op), {}, {}, Wire::BOOL, {}, {0, 0});
  Value held = listNode(draw, "Optional", {operand}, {}, operand);
  if (op == "OptionalHasElement")
    return draw.node(std::string(op), {held}, {}, Wire::BOOL, {}, {0, 1});
  return draw.node("OptionalGetElement", {held}, {}, operand.type, operand.shape, operand.bounds);
}

Drawn drawSequence(Drawing &draw, const Value &operand, Op op) {
  if (largestCount(operand.shape) > 1 << 13)
    return std::nullopt;
  if (op.starts_with("Optional") && draw.chance(0.4))
    return drawOptional(draw, operand, op);
  std::optional<Sequence> sequence = drawList(draw, operand, op);
  if (!sequence)
    return std::nullopt;
  change(draw, *sequence, operand, op);
  bool isOptional = op == "Optional" || op == "OptionalGetElement";
  if (isOptional || (draw.opset() >= 15 && draw.chance(0.1)))
    sequence->list = throughOptional(draw, *sequence);
  return drawEnd(draw, *sequence, op);
}

Rule rule(Op op, int64_t since) {
  return {op, since,
          [op](Drawing &draw, const Value &operand) { return drawSequence(draw, operand, op); }};
}

} // namespace

std::vector<Rule> sequenceRules() {
  return {rule("ConcatFromSequence", 11), rule("Optional", 15),      rule("OptionalGetElement", 15),
          rule("OptionalHasElement", 15), rule("SequenceAt", 11),    rule("SequenceConstruct", 11),
          rule("SequenceEmpty", 11),      rule("SequenceErase", 11), rule("SequenceInsert", 11),
          rule("SequenceLength", 11),     rule("SequenceMap", 17),   rule("SplitToSequence", 11)};
}

} // namespace smelt::generate
