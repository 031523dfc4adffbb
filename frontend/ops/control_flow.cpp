// If and Loop. The IR has no branches and no loops: a branch is chosen while importing, or both are
// computed and one is selected; a loop is unrolled.
//
// A condition on open sizes whose branches give different shapes is taken to have one outcome, which the
// module then requires of its sizes.
//
// A condition or a number of iterations counts as known where it follows from constants: sizes,
// initializers, and inputs whose values the caller fixed. The values that a loop carries are folded
// after each iteration, so that conditions computed from them stay known.
#include "frontend/constant_value.h"
#include "frontend/fixed_inputs.h"
#include "frontend/fixing_flags.h"
#include "frontend/node_table.h"
#include "frontend/size_condition.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Each iteration is imported, and compiled, anew.
constexpr int64_t kMostIterations = 1024;

using GraphValues = SmallVector<GraphValue>;

LogicalResult outputAll(NodeReader &node, ArrayRef<GraphValue> values) {
  for (auto [index, value] : llvm::enumerate(values))
    if (failed(node.outputAny(value, index)))
      return failure();
  return success();
}

FailureOr<GraphValues> importBranch(NodeReader &node, StringRef name) {
  FailureOr<InnerGraph> branch = node.graph(name, 0, node.outputCount());
  if (failed(branch))
    return failure();
  return branch->import({});
}

LogicalResult outputBranch(NodeReader &node, bool outcome) {
  FailureOr<GraphValues> outputs = importBranch(node, outcome ? "then_branch" : "else_branch");
  return failed(outputs) ? failure() : outputAll(node, *outputs);
}

/// Whether a guard asks for it already.
bool isRequired(const ShapeFacts &facts, const std::optional<SizeRelation> &relation) {
  return relation && llvm::any_of(facts.guards(), [&](GuardAttr guard) {
           return Dim(guard.getLeft()) == relation->left &&
                  Dim(guard.getRight()) == relation->right &&
                  (guard.getRelation() == Relation::equal) == relation->isEquality;
         });
}

/// The branch of the outcome that the condition is taken to have.
LogicalResult importLikelyBranch(NodeReader &node, const SizeCondition &condition) {
  constexpr StringLiteral kWhy = "its branches give different shapes, and this is the one that was "
                                 "compiled; give other sizes by --shape when compiling";
  ShapeFacts &facts = node.build.getFacts();
  for (bool known : {true, false})
    if (isRequired(facts, known ? condition.whenTrue : condition.whenFalse))
      return outputBranch(node, known);
  bool outcome = condition.likely();
  const SizeRelation &wanted = condition.relation(outcome);
  Location location = node.build.getLocation();
  emitWarning(location) << node.opType() << ": is compiled for " << wanted.left.toString()
                        << (wanted.isEquality ? " = " : " <= ") << wanted.right.toString()
                        << ": its branches give different shapes; give other sizes by --shape";
  bool isPossible = wanted.isEquality
                        ? succeeded(facts.requireEqual(location, wanted.left, wanted.right, kWhy))
                        : succeeded(facts.requireAtMost(location, wanted.left, wanted.right, kWhy));
  return isPossible ? outputBranch(node, outcome) : failure();
}

/// One value of the two that branches give for an output.
Value selectOutput(NodeReader &node, size_t index, GraphValue then, GraphValue otherwise) {
  GraphBuilder &build = node.build;
  if (then.isTensor() && otherwise.isTensor() &&
      tensorType(then.tensor()) == tensorType(otherwise.tensor()))
    return build.create<SelectOp>(
        {build.reshape(node.input(0), {}), then.tensor(), otherwise.tensor()});
  auto describe = [](GraphValue value) {
    return value.isTensor() ? toString(tensorType(value.tensor()).getShape())
                            : value.kindName().str();
  };
  node.error() << "its condition " << node.describe(0)
               << " is not constant, and its branches give output " << index
               << " different shapes or types, which is not supported: " << describe(then)
               << " and " << describe(otherwise);
  return {};
}

/// Both branches, and for each output the one that the condition asks for.
LogicalResult importBothBranches(NodeReader &node) {
  FailureOr<GraphValues> then = importBranch(node, "then_branch"),
                         otherwise = failed(then) ? FailureOr<GraphValues>(failure())
                                                  : importBranch(node, "else_branch");
  if (failed(then) || failed(otherwise))
    return failure();
  for (size_t index = 0; index < then->size(); ++index)
    if (failed(node.output(selectOutput(node, index, (*then)[index], (*otherwise)[index]), index)))
      return failure();
  return success();
}

/// Of a condition that depends on data.
LogicalResult importByData(NodeReader &node) {
  ShapeFacts &facts = node.build.getFacts();
  Assumptions before = facts.neededAssumptions;
  HeldDiagnostics held(*node.build.getContext());
  LogicalResult both = importBothBranches(node);
  // A branch that may not be taken decides nothing about sizes; and what it lacks is the condition's value.
  bool assumes = facts.neededAssumptions.size() > before.size();
  facts.neededAssumptions = std::move(before);
  assumes ? held.stop() : held.release();
  if (succeeded(both))
    return success();
  Value condition = node.input(0);
  node.build.needValue(condition);
  return node.error() << "its condition " << node.describe(0)
                      << " is not constant; with its value, one branch would be enough"
                      << fixingFlags(condition);
}

LogicalResult importIf(NodeReader &node) {
  Value condition = node.input(0);
  if (!tensorType(condition).getNumElements().isConstant(1))
    return node.error() << "its condition must be one element, got " << node.describe(0);
  if (std::optional<bool> known = constantBool(condition))
    return outputBranch(node, *known);
  std::optional<SizeCondition> ofSizes = sizeCondition(condition);
  if (!ofSizes)
    return importByData(node);
  ShapeFacts &facts = node.build.getFacts();
  Location location = node.build.getLocation();
  if (facts.isAssumed(location))
    return importLikelyBranch(node, *ofSizes);
  if (succeeded(importBothBranches(node)))
    return success();
  facts.needAssumption(location);
  return failure();
}

/// A loop while it is unrolled.
class Loop {
public:
  Loop(NodeReader &node, const InnerGraph &body)
      : node(node), build(node.build), body(body), constants(node.build) {
    for (size_t index = kCarried; index < node.inputCount(); ++index)
      carried.push_back(node.value(index));
    scanned.resize(body.outputCount() - 1 - carried.size());
  }

  LogicalResult run() {
    if (failed(readTripCount()) || failed(readFirstCondition()))
      return failure();
    int64_t done = 0;
    while (continues && done < count) {
      if (done == kMostIterations)
        return node.error() << "runs more than " << kMostIterations
                            << " times, which is not supported: loops are unrolled";
      if (failed(iterate(done++)))
        return failure();
    }
    // Nothing else says what the parts of an output would have been.
    if (done == 0 && scanCount() > 0 && failed(iterate(0)))
      return failure();
    return finish(done == 0);
  }

private:
  enum Input : size_t { kTripCount, kCondition, kCarried };

  size_t scanCount() const { return scanned.size(); }

  LogicalResult readTripCount() {
    if (!node.input(kTripCount))
      return success();
    FailureOr<SmallVector<int64_t>> given =
        node.constants(kTripCount, "the number of iterations, by which the loop is unrolled");
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return node.error() << "its number of iterations must be one element, got "
                          << node.describe(kTripCount);
    count = given->front();
    return success();
  }

  LogicalResult readFirstCondition() {
    Value given = node.input(kCondition);
    return given ? readCondition(given, "whether it begins") : success();
  }

  LogicalResult readCondition(Value condition, const Twine &what) {
    std::optional<bool> known = constantBool(condition);
    if (known) {
      continues = *known;
      return success();
    }
    build.needValue(condition);
    return node.error() << what
                        << " depends on the data of an input, which is not supported: loops are "
                           "unrolled, and their conditions must be constant"
                        << fixingFlags(condition);
  }

  LogicalResult iterate(int64_t index) {
    Type i64 = IntegerType::get(build.getContext(), 64),
         i1 = IntegerType::get(build.getContext(), 1);
    GraphValues inputs{build.scalar(static_cast<double>(index), i64), build.scalar(1, i1)};
    llvm::append_range(inputs, carried);
    FailureOr<GraphValues> outputs = body.import(inputs);
    if (failed(outputs))
      return failure();
    for (size_t at = 0; at < outputs->size(); ++at)
      if ((at == 0 || at > carried.size()) && !(*outputs)[at].isTensor())
        return node.error() << "output " << at << " of its body is " << (*outputs)[at].kindName()
                            << ", but must be a tensor";
    if (index + 1 < count &&
        failed(readCondition(outputs->front().tensor(),
                             "whether iteration " + Twine(index + 1) + " follows")))
      return failure();
    for (size_t at = 0; at < carried.size(); ++at)
      next.push_back(fold((*outputs)[at + 1]));
    for (size_t at = 0; at < scanCount(); ++at)
      scanned[at].push_back((*outputs)[at + 1 + carried.size()].tensor());
    std::swap(carried, next);
    next.clear();
    constants.endIteration();
    return success();
  }

  GraphValue fold(GraphValue value) {
    return value.isTensor() ? GraphValue(constants.fold(value.tensor())) : value;
  }

  /// `isEmpty`: the one iteration was for the types alone.
  LogicalResult finish(bool isEmpty) {
    if (isEmpty)
      for (size_t index = 0; index < carried.size(); ++index)
        carried[index] = node.value(index + kCarried);
    for (size_t index = 0; index < scanCount(); ++index)
      if (failed(node.output(stack(scanned[index], isEmpty), carried.size() + index)))
        return failure();
    return outputAll(node, carried);
  }

  /// One after the other, along a new first axis.
  Value stack(ArrayRef<Value> parts, bool isEmpty) {
    SmallVector<Value> rows;
    for (Value part : parts) {
      SmallVector<Dim> shape = tensorType(part).getShape();
      shape.insert(shape.begin(), build.size(1));
      rows.push_back(build.reshape(part, shape));
    }
    return isEmpty ? build.slice(rows.front(), 0, build.size(0), build.size(0))
                   : build.concat(rows, 0);
  }

  NodeReader &node;
  GraphBuilder &build;
  const InnerGraph &body;
  CarriedConstants constants;
  GraphValues carried, next;
  SmallVector<SmallVector<Value>> scanned;
  int64_t count = std::numeric_limits<int64_t>::max();
  bool continues = true;
};

LogicalResult importLoop(NodeReader &node) {
  size_t fixed = std::min<size_t>(node.inputCount(), 2), carried = node.inputCount() - fixed;
  for (size_t index = 0; index < carried; ++index)
    if (!node.value(index + 2))
      return node.error() << "input " << index + 2 << " is missing";
  FailureOr<InnerGraph> body =
      node.graph("body", carried + 2, std::max(node.outputCount(), carried) + 1);
  if (failed(body))
    return failure();
  return Loop(node, *body).run();
}

} // namespace

ArrayRef<NodeRule> controlFlowRules() {
  static constexpr NodeRule kRules[] = {
      {"If", 1, 1, importIf},
      {"Loop", 1, 0, importLoop, "", Operands::any},
  };
  return kRules;
}

} // namespace smelt::frontend
