#include "passes/fuse/halved_tree.h"

#include "ir/capabilities.h"
#include "passes/fuse/fusion_group.h"
#include "passes/view_shape.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// Rotary embeddings take a dozen.
constexpr size_t kMostOps = 24;

int64_t lastOf(Value value) {
  TensorType type = tensorType(value);
  std::optional<int64_t> size =
      type.getRank() == 0 ? std::nullopt : type.getDim(type.getRank() - 1).asConstant();
  return size.value_or(0);
}

/// `op` takes one half along the last axis, and all along the others.
bool takesHalf(SliceOp op) {
  TensorType input = tensorType(op.getInput()), output = tensorType(op.getOutput());
  int64_t half = lastOf(op.getOutput());
  for (auto [axis, start] : llvm::enumerate(op.getStarts().getAsRange<DimAttr>())) {
    std::optional<int64_t> first = Dim(start).asConstant();
    bool isLast = axis + 1 == input.getRank();
    if (op.getSteps()[axis] != 1 || !first ||
        (isLast ? *first != 0 && *first != half
                : *first != 0 || input.getDim(axis) != output.getDim(axis)))
      return false;
  }
  return half > 0 && 2 * half == lastOf(op.getInput());
}

/// `op` puts two halves side by side along the last axis.
bool joinsHalves(ConcatOp op) {
  return op.getInputs().size() == 2 && op.getAxis() + 1 == tensorType(op.getOutput()).getRank() &&
         op.getInputs()[0].getType() == op.getInputs()[1].getType();
}

/// Each row along the last axis of what `op` gives is computed of one row of its first operand, element by element.
bool keepsRows(Operation *op) {
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return transpose.getPermutation().back() + 1 ==
           static_cast<int64_t>(transpose.getPermutation().size());
  if (auto gather = dyn_cast<GatherOp>(op))
    return gather.getAxis() + 1 < tensorType(gather->getOperand(0)).getRank();
  bool isUnary = op->hasTrait<Elementwise>() && op->getNumOperands() == 1;
  return isUnary || (isa<ReshapeOp, SliceOp, ExpandOp>(op) && lastOf(op->getResult(0)) > 0 &&
                     lastOf(op->getOperand(0)) == lastOf(op->getResult(0)));
}

/// What a tree is made of.
bool isStep(Operation *op) {
  if (!isFree(op))
    return false;
  if (auto slice = dyn_cast<SliceOp>(op))
    return takesHalf(slice);
  if (auto concat = dyn_cast<ConcatOp>(op))
    return joinsHalves(concat);
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return lastOf(reshape.getInput()) > 1 &&
           lastOf(reshape.getInput()) == lastOf(reshape.getOutput()) &&
           differInUnitAxes(tensorType(reshape.getInput()).getShape(),
                            tensorType(reshape.getOutput()).getShape());
  return isa<MulOp, AddOp, SubOp, NegOp, CastOp>(op) || (isa<TransposeOp>(op) && keepsRows(op));
}

/// Both halves of `table` along the last axis are the same: angles are of pairs.
bool hasEqualHalves(Value table) {
  Operation *op = table.getDefiningOp();
  while (op && keepsRows(op))
    op = op->getOperand(0).getDefiningOp();
  auto concat = dyn_cast_if_present<ConcatOp>(op);
  return concat && joinsHalves(concat) && concat.getInputs()[0] == concat.getInputs()[1];
}

/// Of each axis of the result of `reshape`, which differs from its input in axes of size 1, what `axes` says of the input's.
template <class Axes> Axes axesWithoutUnits(const Axes &axes, Operation *reshape) {
  Axes result;
  size_t from = 0;
  auto isUnit = [](Value value, size_t axis) {
    return tensorType(value).getDim(axis).isConstant(1);
  };
  for (size_t axis = 0; axis < tensorType(reshape->getResult(0)).getRank(); ++axis) {
    while (from < axes.size() && isUnit(reshape->getOperand(0), from))
      ++from;
    result.push_back(isUnit(reshape->getResult(0), axis) ? std::nullopt : axes[from++]);
  }
  return result;
}

} // namespace

std::optional<HalvedTree> HalvedTree::grow(Value heads) {
  HalvedTree tree;
  tree.heads = heads;
  SmallVector<Value> pending{heads};
  while (!pending.empty()) {
    for (Operation *user : pending.pop_back_val().getUsers())
      if (isStep(user) && tree.members.insert(user))
        pending.push_back(user->getResult(0));
    if (tree.members.size() > kMostOps)
      return std::nullopt;
  }
  tree.dropViewsBehind();
  auto isReadOutside = [&](Value value) {
    return llvm::any_of(value.getUsers(),
                        [&](Operation *user) { return !tree.members.contains(user); });
  };
  for (Operation *op : tree.members) {
    if (!isReadOutside(op->getResult(0)))
      continue;
    if (tree.end)
      return std::nullopt;
    tree.end = op->getResult(0);
  }
  bool joins = llvm::any_of(tree.members, llvm::IsaPred<ConcatOp>);
  return joins && tree.end && lastOf(tree.end) == lastOf(heads) && !isReadOutside(heads)
             ? std::optional(tree)
             : std::nullopt;
}

/// They are their readers'. What is left is in the order of the block.
void HalvedTree::dropViewsBehind() {
  SmallVector<Operation *> ordered = members.takeVector();
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  members.insert(ordered.begin(), ordered.end());
  for (Operation *op : llvm::reverse(ordered))
    if (isa<TransposeOp, ReshapeOp>(op) &&
        llvm::none_of(op->getUsers(), [&](Operation *user) { return members.contains(user); }))
      members.remove(op);
}

SmallVector<Value> HalvedTree::tables() const {
  llvm::SetVector<Value> found;
  for (Operation *op : members)
    for (Value operand : op->getOperands())
      if (operand != heads && !members.contains(operand.getDefiningOp()))
        found.insert(operand);
  return found.takeVector();
}

std::optional<Halves> HalvedTree::build(OpBuilder &builder, Halves halves) {
  auto identity = llvm::seq<unsigned>(rank());
  nodes.clear();
  nodes[heads] = {halves, Axes(identity.begin(), identity.end())};
  for (Operation *op : members) {
    std::optional<Node> node = buildOne(builder, op);
    if (!node)
      return std::nullopt;
    nodes[op->getResult(0)] = std::move(*node);
  }
  Halves results = nodes[end].halves;
  return results.upper ? std::optional(results) : std::nullopt;
}

Value HalvedTree::asResult(OpBuilder &builder, Value turned) const {
  SmallVector<int64_t>
      order; // the heads' axes as the result has them, behind those that it dropped
  llvm::SmallDenseSet<unsigned> kept;
  for (std::optional<unsigned> axis : nodes.at(end).axes)
    if (axis)
      order.push_back(*axis), kept.insert(*axis);
  for (unsigned axis = rank(); axis-- > 0;)
    if (!kept.contains(axis))
      order.insert(order.begin(), axis);
  if (!llvm::is_sorted(order))
    turned = TransposeOp::create(builder, end.getLoc(), turned, order);
  return reshapeTo(builder, end.getLoc(), turned, tensorType(end).getShape());
}

std::optional<HalvedTree::Node> HalvedTree::buildOne(OpBuilder &builder, Operation *op) {
  if (op->hasTrait<Elementwise>())
    return buildElementwise(builder, op);
  SmallVector<Node> inputs;
  for (Value operand : op->getOperands()) {
    auto found = nodes.find(operand);
    if (found == nodes.end())
      return std::nullopt;
    inputs.push_back(found->second);
  }
  Node node = inputs.front();
  if (auto slice = dyn_cast<SliceOp>(op)) {
    if (!node.halves.upper)
      return std::nullopt;
    bool isLower = Dim(cast<DimAttr>(slice.getStarts().getValue().back())).isConstant(0);
    node.halves = {isLower ? node.halves.lower : node.halves.upper, {}};
  } else if (isa<ConcatOp>(op)) {
    if (inputs[0].halves.upper || inputs[1].halves.upper || inputs[0].axes != inputs[1].axes)
      return std::nullopt;
    node.halves = {inputs[0].halves.lower, inputs[1].halves.lower};
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [axis, from] : llvm::enumerate(transpose.getPermutation()))
      node.axes[axis] = inputs.front().axes[from];
  } else if (isa<ReshapeOp>(op)) {
    node.axes = axesWithoutUnits(inputs.front().axes, op);
  }
  return node;
}

/// In the axes of the heads: transpositions between become those of tables.
std::optional<HalvedTree::Node> HalvedTree::buildElementwise(OpBuilder &builder, Operation *op) {
  Node *first = nullptr;
  for (Value operand : op->getOperands())
    if (auto found = nodes.find(operand); found != nodes.end() && !first)
      first = &found->second;
  Node result = *first;
  bool isWhole(result.halves.upper);
  SmallVector<Value> lower, upper;
  for (Value operand : op->getOperands()) {
    auto found = nodes.find(operand);
    std::optional<Halves> halves;
    if (found == nodes.end())
      halves = halvesOfTable(builder, operand, result.axes, isWhole);
    else if (found->second.axes == result.axes && isWhole == bool(found->second.halves.upper) &&
             tensorType(operand).getShape() == tensorType(op->getResult(0)).getShape())
      halves = found->second.halves;
    if (!halves)
      return std::nullopt;
    lower.push_back(halves->lower);
    upper.push_back(halves->upper);
  }
  SmallVector<Dim> shape = tensorType(first->halves.lower).getShape();
  result.halves.lower = cloneElementwise(builder, op, lower, shape);
  result.halves.upper = isWhole ? cloneElementwise(builder, op, upper, shape) : Value();
  return result;
}

/// `axes`: those of the table's reader. With `isWhole` it has whole heads.
std::optional<Halves> HalvedTree::halvesOfTable(OpBuilder &builder, Value table, const Axes &axes,
                                                bool isWhole) const {
  SmallVector<Dim> padded =
                       padShape(tensorType(table).getShape(), axes.size(), builder.getContext()),
                   shape(rank(), Dim::constant(builder.getContext(), 1));
  SmallVector<std::pair<unsigned, int64_t>> order; // axes of the heads, and of the table
  SmallVector<int64_t> permutation;
  for (auto [axis, ofHeads] : llvm::enumerate(axes)) {
    if (ofHeads)
      order.push_back({*ofHeads, axis}), shape[*ofHeads] = padded[axis];
    else
      permutation.push_back(static_cast<int64_t>(axis));
  }
  if (!shape[rank() - 2].isConstant(1))
    return std::nullopt;
  llvm::sort(order);
  for (auto [ofHeads, axis] : order)
    permutation.push_back(axis);
  Location location = table.getLoc();
  Value own = reshapeTo(builder, location, table, padded);
  if (!llvm::is_sorted(permutation))
    own = TransposeOp::create(builder, location, own, permutation);
  own = reshapeTo(builder, location, own, shape);
  if (!isWhole || shape.back().isConstant(1))
    return Halves{own, isWhole ? own : Value()};
  Dim zero = Dim::constant(builder.getContext(), 0),
      half = Dim::constant(builder.getContext(), lastOf(heads) / 2);
  Value lower = partOf(builder, location, own, rank() - 1, zero, half);
  return Halves{lower, hasEqualHalves(table)
                           ? lower
                           : partOf(builder, location, own, rank() - 1, half, half)};
}

} // namespace smelt::passes
