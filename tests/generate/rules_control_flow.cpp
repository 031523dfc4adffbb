// Nodes that hold graphs: branches, loops and scans.
#include "tests/generate/bodies.h"
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

constexpr int64_t kMostSteps = 4; // each is compiled anew
constexpr int64_t kMostElements = 1 << 13;

/// A branch that has one result.
onnx_wire::Graph drawBranch(Drawing &draw, const Value &operand, Keeps keeps, Value &result) {
  std::vector<Value> none;
  return draw.body(none, visibleWith(draw, operand), [&] {
    result = drawChange(draw, operand, keeps);
    return std::vector<Value>{result};
  });
}

/// Whether an axis is shorter than some number; none where no size is a symbol.
Drawn drawSizeCondition(Drawing &draw, const Value &operand) {
  std::vector<int64_t> open;
  for (size_t axis = 0; axis < operand.shape.size(); ++axis)
    if (!operand.shape[axis].isConstant())
      open.push_back(static_cast<int64_t>(axis));
  if (open.empty())
    return std::nullopt;
  Size rank = Size::of(static_cast<int64_t>(operand.shape.size()));
  Value sizes = draw.aside("Shape", {operand}, {}, Wire::INT64, {rank}, {0, 1e4}),
        size = draw.aside("Gather", {sizes, draw.integerScalar(draw.pick(open))},
                          Attributes().add("axis", 0), Wire::INT64, {}, {0, 1e4});
  return draw.aside("Less", {size, draw.integerScalar(draw.between(1, 128))}, {}, Wire::BOOL, {},
                    {0, 1});
}

/// Either branch may be taken: both give the operand's type and shape.
Drawn drawOpenIf(Drawing &draw, const Value &operand) {
  Shape one = draw.chance(0.5) ? Shape() : Shape{Size::of(1)};
  Drawn condition = draw.chance(0.5) ? drawSizeCondition(draw, operand) : std::nullopt;
  if (!condition)
    condition = draw.input(Wire::BOOL, one, {0, 1});
  Value then, otherwise;
  Attributes attributes;
  attributes.add("then_branch", drawBranch(draw, operand, Keeps::typeAndShape, then));
  attributes.add("else_branch", drawBranch(draw, operand, Keeps::typeAndShape, otherwise));
  return draw.node("If", {*condition}, attributes, operand.type, operand.shape,
                   {std::min(then.bounds.low, otherwise.bounds.low),
                    std::max(then.bounds.high, otherwise.bounds.high)});
}

/// By a bool that is not known, or a constant, which chooses a branch while importing: then the other may have another shape.
Drawn drawIf(Drawing &draw, const Value &operand) {
  if (largestCount(operand.shape) > kMostElements)
    return std::nullopt;
  if (draw.chance(0.5))
    return drawOpenIf(draw, operand);
  bool outcome = draw.chance(0.5);
  Value condition = draw.tensor(Wire::BOOL, draw.chance(0.5) ? Shape() : Shape{Size::of(1)},
                                {outcome ? 1.0 : 0.0});
  Value then, otherwise;
  Attributes attributes;
  attributes.add("then_branch", drawBranch(draw, operand, Keeps::type, then));
  attributes.add("else_branch", drawBranch(draw, operand, Keeps::type, otherwise));
  const Value &taken = outcome ? then : otherwise;
  return draw.node("If", {condition}, attributes, taken.type, taken.shape, taken.bounds);
}

/// What a body carries on: bounds that hold after every step.
Value carriedFrom(const Value &operand) {
  double most = std::max(operand.bounds.magnitude(), operand.type == Wire::BOOL ? 1.0 : 2.0);
  Value state = operand;
  state.bounds = {isSigned(operand.type) ? -most : 0, most};
  return state;
}

/// The next state: of the type, shape and bounds of this one.
Value drawNextState(Drawing &draw, const Value &state, const Value &start) {
  Value next = drawChange(draw, start, Keeps::typeAndShape);
  return identity(draw, draw.tamed(next, state.bounds.magnitude()));
}

/// How often a loop runs: at most as its first input says, as long as its condition holds.
struct Trips {
  int64_t count;
  std::optional<int64_t> limit; ///< of the condition: iteration number `limit` is the last
  Value most, first;            ///< the first two inputs
};

Trips drawTrips(Drawing &draw) {
  Trips trips{draw.between(0, kMostSteps), std::nullopt, {}, {}};
  if (draw.chance(0.4))
    trips.limit = draw.between(0, kMostSteps - 1);
  bool isCounted = !trips.limit || draw.chance(0.6);
  trips.most = isCounted ? draw.integerScalar(trips.count) : Drawing::omitted();
  if (trips.limit)
    trips.count = isCounted ? std::min(trips.count, *trips.limit + 1) : *trips.limit + 1;
  bool begins = draw.chance(0.9);
  if (!begins)
    trips.count = 0;
  trips.first =
      !begins || draw.chance(0.6) ? draw.scalar(Wire::BOOL, begins ? 1 : 0) : Drawing::omitted();
  return trips;
}

Value drawContinuation(Drawing &draw, const Trips &trips, const Value &number,
                       const Value &condition) {
  return trips.limit ? draw.node("Less", {number, draw.integerScalar(*trips.limit)}, {}, Wire::BOOL,
                                 {}, {0, 1})
                     : identity(draw, condition);
}

/// A state, and now and then what each iteration leaves beside it, one after the other.
Drawn drawLoop(Drawing &draw, const Value &operand) {
  if (largestCount(operand.shape) > kMostElements)
    return std::nullopt;
  Trips trips = drawTrips(draw);
  bool scans = draw.chance(0.5) && trips.count > 0,
       usesNumber = draw.chance(0.5) && hasSums(operand.type);
  Value state = carriedFrom(operand), part;
  std::vector<Value> parameters{{"", Wire::INT64, {}, {0, static_cast<double>(kMostSteps)}, false},
                                {"", Wire::BOOL, {}, {0, 1}, false},
                                state};
  onnx_wire::Graph body = draw.body(parameters, visibleWith(draw, operand), [&] {
    std::vector<Value> results{drawContinuation(draw, trips, parameters[0], parameters[1])};
    Value start = parameters[2];
    if (usesNumber)
      start = addNumber(draw, start, parameters[0]);
    results.push_back(drawNextState(draw, state, start));
    if (scans)
      results.push_back(part = identity(draw, drawChange(draw, parameters[2], Keeps::nothing)));
    return results;
  });
  std::vector<Value> results{state};
  if (scans) {
    part.shape.insert(part.shape.begin(), Size::of(trips.count));
    results.push_back(part);
  }
  std::vector<Value> drawn = draw.nodes("Loop", {trips.most, trips.first, operand},
                                        Attributes().add("body", std::move(body)), results);
  return drawn[scans && draw.chance(0.5) ? 1 : 0];
}

/// How a scan takes a tensor apart, or puts one together.
struct Taken {
  size_t axis;
  bool isReversed;
};

Taken drawTaken(Drawing &draw, size_t axes) {
  return {static_cast<size_t>(draw.between(0, static_cast<int64_t>(axes) - 1)), draw.chance(0.3)};
}

void describe(Attributes &attributes, const std::string &kind, const Taken &taken, int64_t axis) {
  attributes.add("scan_" + kind + "_axes", std::vector<int64_t>{axis});
  attributes.add("scan_" + kind + "_directions", std::vector<int64_t>{taken.isReversed ? 1 : 0});
}

/// The operand is scanned; a state of the shape of its parts goes along.
Drawn drawScan(Drawing &draw, const Value &operand) {
  if (operand.shape.empty() || hasDerived(operand.shape) ||
      largestCount(operand.shape) > kMostElements)
    return std::nullopt;
  Taken from = drawTaken(draw, operand.shape.size());
  Size steps = operand.shape[from.axis];
  if (!steps.isConstant() || steps.values[0] < 1 || steps.values[0] > 8)
    return std::nullopt;
  Value row = operand;
  row.shape.erase(row.shape.begin() + static_cast<std::ptrdiff_t>(from.axis));
  Value start = draw.leaf(row.type, row.shape), state = carriedFrom(start), part;
  std::vector<Value> parameters{state, row};
  onnx_wire::Graph body = draw.body(parameters, {}, [&] {
    Value joined = join(draw, parameters[0], parameters[1]);
    std::vector<Value> results{drawNextState(draw, state, joined)};
    results.push_back(part = identity(draw, drawChange(draw, joined, Keeps::typeAndShape)));
    return results;
  });
  Taken into = drawTaken(draw, part.shape.size() + 1);
  Attributes attributes;
  attributes.add("num_scan_inputs", 1).add("body", std::move(body));
  describe(attributes, "input", from, spelledAxis(draw, from.axis, operand.shape.size()));
  describe(attributes, "output", into, spelledAxis(draw, into.axis, part.shape.size() + 1));
  part.shape.insert(part.shape.begin() + static_cast<std::ptrdiff_t>(into.axis), steps);
  return draw.nodes("Scan", {start, operand}, attributes, {state, part})[draw.chance(0.3) ? 0 : 1];
}

/// Attention whose scores pass through a graph of the node.
Drawn drawFlexAttention(Drawing &draw, const Value &operand) {
  const Shape &shape = operand.shape;
  bool isTaken = (operand.type == Wire::FLOAT || operand.type == Wire::FLOAT16) &&
                 shape.size() == 4 && isStatic(shape) && largestCount(shape) > 0 &&
                 largestCount(shape) <= kMostElements && shape[3].largest() <= 64;
  if (!isTaken)
    return std::nullopt;
  Shape keys = shape;
  keys[2] = draw.drawConstant(33);
  Value key = generate::operand(draw, operand.type, keys, {-1, 1}),
        value = generate::operand(draw, operand.type, keys, {-1, 1});
  Attributes attributes;
  attributes.add("scale", 0.25f);
  Value scores{"", Wire::FLOAT, {shape[0], shape[1], shape[2], keys[2]}, {-64, 64}, false};
  for (const char *name : {"score_mod", "prob_mod"})
    if (draw.chance(name[0] == 's' ? 0.7 : 0.2)) {
      std::vector<Value> parameters{scores};
      attributes.add(name, draw.body(parameters, {}, [&] {
        Value changed = drawChange(draw, parameters[0], Keeps::typeAndShape);
        return std::vector<Value>{identity(draw, draw.tamed(changed, 64))};
      }));
    }
  double most = 64 * static_cast<double>(keys[2].largest());
  return draw.node("ai.onnx.preview.FlexAttention", {draw.tamed(operand, 4), key, value},
                   attributes, operand.type, shape, {-most, most});
}

} // namespace

std::vector<Rule> controlFlowRules() {
  return {{"If", 11, drawIf},
          {"Loop", 11, drawLoop},
          {"Scan", 11, drawScan},
          {"ai.onnx.preview.FlexAttention", 24, drawFlexAttention}};
}

} // namespace smelt::generate
