// What a fusion of each kind may hold, so that code generation needs no check of its own.
#include "ir/capabilities.h"
#include "ir/squeeze_excite.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace smelt {

namespace {

/// What the value at the end of the chain of views behind `value` is.
Value throughViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!op->hasTrait<View>())
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Main loops read tensors: an input, through views.
LogicalResult requireInput(Operation *op, Value operand) {
  if (isa<BlockArgument>(throughViews(operand)))
    return success();
  return op->emitOpError("must read an input of its fusion through views, got ") << operand;
}

/// The same through zeros around a tensor too: the left operand of a product.
LogicalResult requirePaddedInput(Operation *op, Value operand) {
  Value value = throughViews(operand);
  for (auto concat = value.getDefiningOp<ConcatOp>(); concat;
       concat = value.getDefiningOp<ConcatOp>()) {
    std::optional<unsigned> padded = operandPaddedByZeros(concat);
    if (!padded)
      break;
    value = throughViews(concat.getInputs()[*padded]);
  }
  return requireInput(op, value);
}

/// All ops but those that `isAnchor` names are computed at one position, from literals and inputs.
LogicalResult requirePointwise(FusionOp fusion, llvm::function_ref<bool(Operation *)> isAnchor) {
  for (Operation &op : fusion.getBlock().without_terminator()) {
    if (isAnchor(&op) || isPointwise(&op))
      continue;
    if (!isa<ConstantOp>(op))
      return op.emitOpError("is not part of a fusion ") << stringifyFusionKind(fusion.getKind());
    if (!isLiteral(op.getResult(0)))
      return op.emitOpError("has many elements: a kernel reads such a constant from memory");
  }
  return success();
}

/// What a kernel computes of a result: of a buffer that grows in place, the rows that are appended.
Value computedPart(Value result) {
  auto append = result.getDefiningOp<AppendOp>();
  return append ? append.getRows() : result;
}

LogicalResult verifyPointwise(FusionOp fusion) {
  auto shapeOf = [](Value result) { return tensorType(computedPart(result)).getShape(); };
  ValueRange results = fusion.getYield()->getOperands();
  SmallVector<Dim> shape = shapeOf(results.front());
  for (Value result : results)
    if (shapeOf(result) != shape)
      return fusion.emitOpError("pointwise results must have one shape, got ")
             << toString(shape) << " and " << toString(shapeOf(result));
  return requirePointwise(
      fusion, [](Operation *op) { return isa<AppendOp>(op) || isConcatenationOfMany(op); });
}

LogicalResult verifyRowwise(FusionOp fusion) {
  auto reductions = llvm::to_vector(fusion.getBlock().getOps<RowReduction>());
  if (reductions.empty())
    return fusion.emitOpError("rowwise must hold a reduction");
  RowReduction first = reductions.front();
  TensorType rows = tensorType(first.getReduced());
  std::optional<int64_t> axis = first.getFirstReducedAxis();
  for (RowReduction reduction : reductions)
    if (!axis || reduction.getFirstReducedAxis() != axis ||
        tensorType(reduction.getReduced()).getNumElements() != rows.getNumElements())
      return reduction.emitOpError("must reduce the trailing axes that all reductions of its "
                                   "fusion reduce");
  Dim count = product(ArrayRef(rows.getShape()).take_front(*axis), fusion.getContext());
  for (Value output : fusion.getOutputs()) {
    Dim elements = tensorType(output).getNumElements();
    if (elements != rows.getNumElements() && elements != count)
      return fusion.emitOpError("a rowwise result must have the elements of ")
             << toString(rows.getShape()) << " or one a row, got "
             << toString(tensorType(output).getShape());
  }
  return requirePointwise(fusion, [](Operation *op) { return isa<RowReduction>(op); });
}

/// The values that are computed from the products on the accumulators, each element from those at
/// one position.
llvm::DenseSet<Value> followingProducts(FusionOp fusion) {
  llvm::DenseSet<Value> values;
  auto follows = [&](Value value) { return values.contains(value); };
  for (Operation &op : fusion.getBlock().without_terminator())
    if (isa<MatmulOp>(op) || ((op.hasTrait<Elementwise>() || isa<ReshapeOp, TransposeOp>(op)) &&
                              llvm::any_of(op.getOperands(), follows)))
      values.insert(op.getResult(0));
  return values;
}

/// A result of the products' kernel beside those that lie element by element.
LogicalResult verifyGemmResult(FusionOp fusion, Value result,
                               const llvm::DenseSet<Value> &following) {
  SmallVector<Value> stored{result};
  if (auto moments = result.getDefiningOp<RowMomentsOp>())
    stored = {moments.getInput()};
  else if (auto total = result.getDefiningOp<ReduceOp>())
    stored = {countedResult(total)};
  else if (auto joined = result.getDefiningOp<ConcatOp>())
    stored.assign(joined.getInputs().begin(), joined.getInputs().end());
  if (!llvm::all_of(stored, [&](Value value) { return following.contains(value); }))
    return fusion.emitOpError("a gemm result must follow from the product");
  return success();
}

LogicalResult verifyPair(FusionOp fusion, MatmulOp first, MatmulOp second) {
  if (!canShareRows(first, second))
    return fusion.emitOpError("two products must have one left operand, and right ones of one "
                              "type, a matrix of a multiple of ")
           << kInterleavedColumns << " columns";
  if (throughViews(first.getRhs()) != throughViews(second.getRhs()))
    return fusion.emitOpError("the columns of two products must take turns in one input");
  return success();
}

/// Nothing in the kernel knows a total: its threads add to it.
LogicalResult verifyTotal(ReduceOp op) {
  if (countedTest(op) && llvm::all_of(op->getUsers(), llvm::IsaPred<YieldOp>))
    return success();
  return op.emitOpError("in a gemm must count elements of a whole tensor, and be a result");
}

LogicalResult verifyGemm(FusionOp fusion) {
  auto matmuls = llvm::to_vector(fusion.getBlock().getOps<MatmulOp>());
  if (matmuls.empty() || matmuls.size() > 2)
    return fusion.emitOpError("gemm must hold one product or two");
  for (MatmulOp matmul : matmuls) {
    if (!hasGemmTemplate(matmul))
      return matmul.emitOpError("has an element type that no GEMM template takes");
    if (failed(requirePaddedInput(matmul, matmul.getLhs())) ||
        failed(requireInput(matmul, matmul.getRhs())))
      return failure();
  }
  if (matmuls.size() == 2 && failed(verifyPair(fusion, matmuls[0], matmuls[1])))
    return failure();
  for (Operation &op : fusion.getBlock())
    if (isRowStatistic(&op) && failed(requireInput(&op, op.getOperand(0))))
      return failure();
  for (auto total : fusion.getBlock().getOps<ReduceOp>())
    if (failed(verifyTotal(total)))
      return failure();
  llvm::DenseSet<Value> following = followingProducts(fusion);
  for (Value result : fusion.getYield()->getOperands())
    if (failed(verifyGemmResult(fusion, result, following)))
      return failure();
  return requirePointwise(fusion, [](Operation *op) {
    return isa<MatmulOp, RowMomentsOp, ReduceOp>(op) || isRowStatistic(op);
  });
}

/// One position of a tensor of `shape` as coordinates: "%0", "%1", ...; 0 along axes of size 1.
Index coordinatesOf(ArrayRef<Dim> shape, Bounds &bounds, MLIRContext *context) {
  Index index;
  for (auto [axis, size] : llvm::enumerate(shape)) {
    std::string name = "%" + std::to_string(axis);
    bounds[name] = size;
    index.push_back(size.isConstant(1) ? Dim::constant(context, 0) : Dim::symbol(context, name));
  }
  return index;
}

LogicalResult verifyAttentionOperand(AttentionOp attention, Value operand) {
  if (failed(requireInput(attention, operand)))
    return failure();
  Bounds bounds;
  Index own = coordinatesOf(tensorType(operand).getShape(), bounds, operand.getContext()), at = own;
  Value value = operand;
  for (; Operation *op = value.getDefiningOp(); value = op->getOperand(0))
    at = operandIndex(op, at, bounds);
  Dim offset = linearize(at, tensorType(value).getShape(), value.getContext());
  if (!hasRegularRows(offset, own[2], own[3], RowDistance::constant))
    return attention.emitOpError("must find the elements of a row side by side, and rows a "
                                 "constant distance apart, in ")
           << value.getType();
  return success();
}

/// Only views follow an attention, which leave the elements of a row neighbours.
LogicalResult verifyAttentionResult(FusionOp fusion, AttentionOp attention) {
  Value value = attention.getOutput();
  Bounds bounds;
  Index own = coordinatesOf(tensorType(value).getShape(), bounds, value.getContext()), at = own;
  while (value.hasOneUse() && !isa<YieldOp>(*value.user_begin())) {
    Operation *op = *value.user_begin();
    std::optional<Index> next = op->hasTrait<View>() ? resultIndex(op, at, bounds) : std::nullopt;
    if (!next)
      return op->emitOpError("cannot follow an attention in its fusion");
    at = *next;
    value = op->getResult(0);
  }
  Dim offset = linearize(at, tensorType(value).getShape(), value.getContext());
  if (!value.hasOneUse() || fusion.getNumResults() != 1 ||
      !hasRegularRows(offset, own[2], own[3], RowDistance::any))
    return fusion.emitOpError("attention must have one result, whose rows are whole");
  return success();
}

LogicalResult verifyAttention(FusionOp fusion) {
  auto attentions = llvm::to_vector(fusion.getBlock().getOps<AttentionOp>());
  if (attentions.size() != 1)
    return fusion.emitOpError("attention must hold one attention");
  AttentionOp attention = attentions.front();
  if (!hasAttentionTemplate(attention.getQuery(), attention.getValue()))
    return attention.emitOpError("has heads that no template takes");
  for (Value operand : {attention.getQuery(), attention.getKey(), attention.getValue()})
    if (failed(verifyAttentionOperand(attention, operand)))
      return failure();
  if (failed(verifyAttentionResult(fusion, attention)))
    return failure();
  return requirePointwise(fusion, [](Operation *op) { return isa<AttentionOp>(op); });
}

LogicalResult verifySelection(FusionOp fusion) {
  auto selections = llvm::to_vector(fusion.getBlock().getOps<TopKOp>());
  if (selections.size() != 1)
    return fusion.emitOpError("selection must hold one top_k");
  TopKOp selection = selections.front();
  if (selection.getAxis() + 1 != tensorType(selection.getInput()).getRank())
    return selection.emitOpError("must select along the last axis");
  for (Value result : fusion.getYield()->getOperands())
    if (result.getDefiningOp() != selection)
      return fusion.emitOpError("a selection's results must be those of its top_k");
  return requirePointwise(fusion, [](Operation *op) { return isa<TopKOp>(op); });
}

/// Moments are those of rows whose columns neighbouring threads hold.
LogicalResult verifyColumnwiseResult(FusionOp fusion, Value result, Value reduced) {
  auto moments = result.getDefiningOp<RowMomentsOp>();
  Value rows = moments ? Value(moments.getInput()) : result;
  StringRef what = "a columnwise result must have the elements of ";
  if (moments && !haveSameColumns(rows, reduced))
    what = "moments must be those of the rows of ";
  else if (tensorType(rows).getNumElements() == tensorType(reduced).getNumElements())
    return success();
  return fusion.emitOpError(what) << toString(tensorType(reduced).getShape()) << ", got "
                                  << toString(tensorType(rows).getShape());
}

LogicalResult verifyColumnwise(FusionOp fusion) {
  auto reductions = llvm::to_vector(fusion.getBlock().getOps<ReduceOp>());
  if (reductions.size() != 1)
    return fusion.emitOpError("columnwise must hold one reduction");
  for (Value result : fusion.getYield()->getOperands())
    if (failed(verifyColumnwiseResult(fusion, result, reductions.front().getOutput())))
      return failure();
  return requirePointwise(fusion, [](Operation *op) { return isa<ReduceOp, RowMomentsOp>(op); });
}

LogicalResult verifySqueezeExcite(FusionOp fusion) {
  auto reductions = llvm::to_vector(fusion.getBlock().getOps<ReduceOp>());
  if (reductions.size() != 1)
    return fusion.emitOpError("squeeze_excite must hold one reduction");
  std::optional<SqueezeExcite> parts = SqueezeExcite::match(reductions.front());
  if (!parts || fusion.getNumResults() != 1 || fusion.getYield()->getOperand(0) != parts->result)
    return fusion.emitOpError(
        "squeeze_excite must hold the mean of an image's pixels, two products "
        "with matrices, and end at the gates or the scaled image");
  for (MatmulOp matmul : {parts->squeeze, parts->excite})
    if (failed(requireInput(matmul, matmul.getRhs())))
      return failure();
  return requirePointwise(fusion, [](Operation *op) { return isa<ReduceOp, MatmulOp>(op); });
}

LogicalResult verifyGeneric(FusionOp fusion) {
  size_t count = 0;
  for (Operation &op : fusion.getBlock().without_terminator())
    count += !isa<ConstantOp>(op);
  if (count != 1)
    return fusion.emitOpError("generic must hold one op");
  return requirePointwise(fusion, [](Operation *op) { return !isa<ConstantOp>(op); });
}

} // namespace

LogicalResult verifyFusedForm(FusionOp fusion) {
  if (fusion.getNumResults() == 0)
    return fusion.emitOpError("must have a result");
  switch (fusion.getKind()) {
  case FusionKind::pointwise:
    return verifyPointwise(fusion);
  case FusionKind::rowwise:
    return verifyRowwise(fusion);
  case FusionKind::gemm:
    return verifyGemm(fusion);
  case FusionKind::attention:
    return verifyAttention(fusion);
  case FusionKind::generic:
    return verifyGeneric(fusion);
  case FusionKind::selection:
    return verifySelection(fusion);
  case FusionKind::columnwise:
    return verifyColumnwise(fusion);
  case FusionKind::squeeze_excite:
    return verifySqueezeExcite(fusion);
  }
  llvm_unreachable("every kind has a case");
}

} // namespace smelt
