#include "passes/fuse/sibling_trees.h"

#include "ir/capabilities.h"
#include "passes/fuse/fusion_group.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// Trees of more ops would not be one kernel each.
constexpr size_t kMostSteps = 256;

/// `low` and `high` have the same shape but for their sizes along `axis`.
bool areAlike(TensorType low, TensorType high, unsigned axis) {
  if (low.getElementType() != high.getElementType() || low.getRank() != high.getRank())
    return false;
  return llvm::all_of(llvm::seq<unsigned>(low.getRank()), [&](unsigned other) {
    return other == axis || low.getDim(other) == high.getDim(other);
  });
}

/// The elements of both along `axis`.
TensorType joinTypes(TensorType low, TensorType high, unsigned axis) {
  SmallVector<Dim> shape = low.getShape();
  shape[axis] = shape[axis] + high.getDim(axis);
  return low.withShape(shape);
}

Dim startOf(SliceOp op, unsigned axis) { return Dim(cast<DimAttr>(op.getStarts()[axis])); }

/// `op` takes all that its input has along `axis`.
bool isWhole(SliceOp op, unsigned axis) {
  return startOf(op, axis).isConstant(0) &&
         tensorType(op.getInput()).getDim(axis) == tensorType(op.getOutput()).getDim(axis);
}

/// The elements of a tensor before and behind one step along `axis`.
Dim outside(TensorType type, unsigned axis) {
  return product(ArrayRef(type.getShape()).take_front(axis), type.getContext());
}
Dim inside(TensorType type, unsigned axis) {
  return product(ArrayRef(type.getShape()).drop_front(axis), type.getContext());
}

/// As many elements lie before both axes, and as many along them with all that is behind.
bool isSameRun(TensorType input, unsigned inputAxis, TensorType output, unsigned axis) {
  return outside(input, inputAxis) == outside(output, axis) &&
         inside(input, inputAxis) == inside(output, axis);
}

/// The axis along which the inputs adjoin where the results do along `axis`: what follows of one
/// index before it is one run of elements, in the inputs as in the results.
std::optional<unsigned> axisBefore(ReshapeOp low, ReshapeOp high, unsigned axis) {
  TensorType lowInput = tensorType(low.getInput()), highInput = tensorType(high.getInput());
  if (lowInput.getRank() != highInput.getRank())
    return std::nullopt;
  // From the last: axes of size 1 before it bound the same run.
  for (unsigned before = lowInput.getRank(); before-- > 0;)
    if (isSameRun(lowInput, before, tensorType(low.getOutput()), axis) &&
        isSameRun(highInput, before, tensorType(high.getOutput()), axis))
      return before;
  return std::nullopt;
}

} // namespace

std::optional<SiblingTrees> SiblingTrees::match(Value low, Value high) {
  for (unsigned axis = 0; axis < tensorType(low).getRank(); ++axis) {
    SiblingTrees trees;
    if (trees.matchValues(low, high, axis))
      return trees;
  }
  return std::nullopt;
}

TensorType SiblingTrees::Step::type() const {
  return joinTypes(tensorType(low->getResult(0)), tensorType(high->getResult(0)), axis);
}

TensorType SiblingTrees::type() const { return steps.back().type(); }

Value SiblingTrees::join(OpBuilder &builder) const {
  SmallVector<Value> results;
  for (const Step &step : steps)
    results.push_back(join(builder, step, results));
  return results.back();
}

Value SiblingTrees::join(OpBuilder &builder, const Step &step, ArrayRef<Value> results) {
  Operation *op = builder.clone(*step.low);
  for (auto [operand, source] : llvm::zip_equal(op->getOpOperands(), step.sources)) {
    const size_t *number = std::get_if<size_t>(&source);
    operand.set(number ? results[*number] : std::get<Value>(source));
  }
  op->getResult(0).setType(step.type());
  op->setLoc(builder.getFusedLoc({step.low->getLoc(), step.high->getLoc()}));
  SmallVector<Value> whole; // parts that are all of their tensor
  if (!isa<SliceOp>(op) || failed(builder.tryFold(op, whole)))
    return op->getResult(0);
  op->erase();
  return whole.front();
}

std::optional<SiblingTrees::Source> SiblingTrees::matchValues(Value low, Value high,
                                                              unsigned axis) {
  auto [known, isNew] = numbers.try_emplace({{low, high}, axis}, 0);
  if (!isNew) // matched already: trees that do not match at one place are given up
    return known->second;
  Operation *lowOp = low.getDefiningOp(), *highOp = high.getDefiningOp();
  if (numbers.size() > kMostSteps || !isFree(lowOp) || !isFree(highOp) ||
      lowOp->getName() != highOp->getName() || !areAlike(tensorType(low), tensorType(high), axis))
    return std::nullopt;
  Sources sources = matchOperands(lowOp, highOp, axis);
  if (!sources)
    return std::nullopt;
  members.insert(lowOp);
  members.insert(highOp);
  steps.push_back({lowOp, highOp, axis, std::move(*sources)});
  return numbers[{{low, high}, axis}] = steps.size() - 1;
}

SiblingTrees::Sources SiblingTrees::matchOperands(Operation *low, Operation *high, unsigned axis) {
  if (auto slice = dyn_cast<SliceOp>(low))
    return matchSlices(slice, cast<SliceOp>(high), axis);
  if (low->getAttrDictionary() != high->getAttrDictionary() ||
      low->getNumOperands() != high->getNumOperands())
    return std::nullopt;
  if (low->hasTrait<Elementwise>() || isa<ExpandOp>(low))
    return matchBroadcasts(low, high, axis);
  if (auto transpose = dyn_cast<TransposeOp>(low))
    return matchEach(low, high, transpose.getPermutation()[axis]);
  if (auto concat = dyn_cast<ConcatOp>(low);
      concat && concat.getAxis() != axis && !isConcatenationOfMany(concat))
    return matchEach(low, high, axis);
  if (auto reshape = dyn_cast<ReshapeOp>(low))
    if (std::optional<unsigned> before = axisBefore(reshape, cast<ReshapeOp>(high), axis))
      return matchEach(low, high, *before);
  return std::nullopt;
}

/// Operands that adjoin along `axis`.
SiblingTrees::Sources SiblingTrees::matchEach(Operation *low, Operation *high, unsigned axis) {
  SmallVector<Source> sources;
  for (auto [lowOperand, highOperand] : llvm::zip_equal(low->getOperands(), high->getOperands())) {
    std::optional<Source> source = matchValues(lowOperand, highOperand, axis);
    if (!source)
      return std::nullopt;
    sources.push_back(*source);
  }
  return sources;
}

/// Leaves, which are parts of one tensor, or the same part of siblings along other axes.
SiblingTrees::Sources SiblingTrees::matchSlices(SliceOp low, SliceOp high, unsigned axis) {
  if (low.getSteps() != high.getSteps() || low.getSteps()[axis] != 1)
    return std::nullopt;
  for (unsigned other = 0; other < low.getSteps().size(); ++other)
    if (other != axis && startOf(low, other) != startOf(high, other))
      return std::nullopt;
  if (low.getInput() != high.getInput())
    return isWhole(low, axis) && isWhole(high, axis) ? matchEach(low, high, axis) : std::nullopt;
  Dim end = startOf(low, axis) + tensorType(low.getOutput()).getDim(axis);
  if (startOf(high, axis) != end)
    return std::nullopt;
  return SmallVector<Source>{low.getInput()};
}

SiblingTrees::Sources SiblingTrees::matchBroadcasts(Operation *low, Operation *high,
                                                    unsigned axis) {
  SmallVector<Source> sources;
  for (auto [lowOperand, highOperand] :
       llvm::zip_equal(low->getOpOperands(), high->getOpOperands())) {
    std::optional<Source> source = matchBroadcast(lowOperand, highOperand, axis);
    if (!source)
      return std::nullopt;
    sources.push_back(*source);
  }
  return sources;
}

/// Operands of which each has its result's elements along `axis`, or that are one, repeated.
std::optional<SiblingTrees::Source> SiblingTrees::matchBroadcast(OpOperand &low, OpOperand &high,
                                                                 unsigned axis) {
  TensorType lowType = tensorType(low.get()), highType = tensorType(high.get());
  TensorType lowResult = tensorType(low.getOwner()->getResult(0)),
             highResult = tensorType(high.getOwner()->getResult(0));
  unsigned missing = lowResult.getRank() - lowType.getRank();
  if (low.get() == high.get() && (axis < missing || lowType.getDim(axis - missing).isConstant(1))) {
    repeatedInputs.insert(low.get());
    return low.get();
  }
  if (axis < missing || lowType.getRank() != highType.getRank() ||
      lowType.getDim(axis - missing) != lowResult.getDim(axis) ||
      highType.getDim(axis - missing) != highResult.getDim(axis))
    return std::nullopt;
  return matchValues(low.get(), high.get(), axis - missing);
}

} // namespace smelt::passes
