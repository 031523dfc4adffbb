// Views to one order: slice, splitting reshape, transpose, merging reshape, expand.
//
// Exporters write K^T as reshape [b, h, s, d] -> [b*h, s, d], transpose, reshape back. With
// transposes moved above merging reshapes, the two reshapes meet and cancel, and one transpose of
// four axes is left.
#include "passes/constants.h"
#include "passes/simplify/canonical.h"
#include "passes/view_shape.h"

using namespace mlir;

namespace smelt::passes {

namespace {

Value transposeBy(OpBuilder &builder, Location location, Value value,
                  ArrayRef<int64_t> permutation) {
  return llvm::is_sorted(permutation)
             ? value
             : TransposeOp::create(builder, location, value, permutation).getOutput();
}

bool isSplit(const AxisGroup &group) { return group.output.size() > group.input.size(); }
bool isMerge(const AxisGroup &group) { return group.input.size() > 1; }

/// transpose(reshape(x)) => reshape(transpose(x)) where whole groups of axes move and the reshape
/// merges some.
struct TransposeOfReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto reshape = op.getInput().getDefiningOp<ReshapeOp>();
    if (!reshape)
      return failure();
    SmallVector<Dim> source = withoutUnitAxes(shapeOf(reshape.getInput())),
                     middle = shapeOf(op.getInput());
    auto groups = groupAxes(source, middle);
    if (!groups || llvm::none_of(*groups, isMerge))
      return failure();
    std::optional<SmallVector<int64_t>> permutation =
        permuteGroups(*groups, middle, op.getPermutation());
    if (!permutation)
      return failure();
    Value input = reshapeTo(rewriter, reshape.getLoc(), reshape.getInput(), source);
    Value moved = transposeBy(rewriter, op.getLoc(), input, *permutation);
    rewriter.replaceOp(op, reshapeTo(rewriter, reshape.getLoc(), moved, shapeOf(op.getOutput())));
    return success();
  }

private:
  /// The permutation of the source's axes that moves each group as a block; none where the blocks
  /// are torn apart.
  static std::optional<SmallVector<int64_t>>
  permuteGroups(ArrayRef<AxisGroup> groups, ArrayRef<Dim> middle, ArrayRef<int64_t> permutation) {
    SmallVector<int64_t> order, result;
    for (int64_t axis : permutation)
      if (!middle[axis].isConstant(1))
        order.push_back(axis);
    for (size_t position = 0; position < order.size();) {
      const AxisGroup *group = llvm::find_if(groups, [&](auto &candidate) {
        return static_cast<int64_t>(candidate.output.front()) == order[position];
      });
      if (group == groups.end())
        return std::nullopt;
      for (unsigned axis : group->output) {
        if (position == order.size() || order[position] != static_cast<int64_t>(axis))
          return std::nullopt;
        ++position;
      }
      result.append(group->input.begin(), group->input.end());
    }
    return result;
  }
};

/// reshape(transpose(x)) => transpose(reshape(x)) where the reshape only splits axes.
struct ReshapeOfTranspose : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().getDefiningOp<TransposeOp>();
    if (!transpose)
      return failure();
    SmallVector<Dim> middle = shapeOf(op.getInput()), target = shapeOf(op.getOutput());
    auto groups = groupAxes(middle, target);
    if (!groups || llvm::none_of(*groups, isSplit) ||
        llvm::any_of(*groups, [](auto &group) { return group.input.size() != 1; }))
      return failure();
    // Split the source's axes in their own order, then bring the pieces into the order of the
    // groups.
    SmallVector<const AxisGroup *> inSourceOrder;
    for (int64_t axis : invertPermutation(transpose.getPermutation()))
      for (const AxisGroup &group : *groups)
        if (group.input.front() == axis)
          inSourceOrder.push_back(&group);
    SmallVector<Dim> split;
    llvm::DenseMap<unsigned, int64_t> position;
    for (const AxisGroup *group : inSourceOrder) {
      for (unsigned axis : group->output) {
        position[axis] = split.size();
        split.push_back(target[axis]);
      }
    }
    SmallVector<int64_t> permutation;
    for (const AxisGroup &group : *groups)
      for (unsigned axis : group.output)
        permutation.push_back(position[axis]);
    Value pieces = reshapeTo(rewriter, op.getLoc(), transpose.getInput(), split);
    Value ordered = transposeBy(rewriter, transpose.getLoc(), pieces, permutation);
    rewriter.replaceOp(op, reshapeTo(rewriter, op.getLoc(), ordered, target));
    return success();
  }
};

/// A transpose that moves only axes of size 1 is a reshape; of more axes than tokens have, only
/// those above 1 are transposed.
struct TransposeOfUnitAxes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    SmallVector<Dim> source = shapeOf(op.getInput()), kept = withoutUnitAxes(source);
    if (kept.size() == source.size())
      return failure();
    SmallVector<int64_t> position(source.size()), permutation;
    for (int64_t axis = 0, count = 0; axis < static_cast<int64_t>(source.size()); ++axis)
      position[axis] = source[axis].isConstant(1) ? count : count++;
    for (int64_t axis : op.getPermutation())
      if (!source[axis].isConstant(1))
        permutation.push_back(position[axis]);
    if (source.size() <= kMostTokenAxes && !llvm::is_sorted(permutation))
      return failure();
    Value input = reshapeTo(rewriter, op.getLoc(), op.getInput(), kept);
    Value moved = transposeBy(rewriter, op.getLoc(), input, permutation);
    rewriter.replaceOp(op, reshapeTo(rewriter, op.getLoc(), moved, shapeOf(op.getOutput())));
    return success();
  }
};

/// The input's shape of an expand with leading ones up to the result's rank.
SmallVector<Dim> paddedInput(ExpandOp op) {
  return padShape(shapeOf(op.getInput()), tensorType(op.getOutput()).getRank(), op.getContext());
}

/// transpose(expand(x)) => expand(transpose(x))
struct TransposeOfExpand : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto expand = op.getInput().getDefiningOp<ExpandOp>();
    if (!expand)
      return failure();
    Value padded = reshapeTo(rewriter, expand.getLoc(), expand.getInput(), paddedInput(expand));
    Value moved = transposeBy(rewriter, op.getLoc(), padded, op.getPermutation());
    rewriter.replaceOpWithNewOp<ExpandOp>(op, op.getType(), moved);
    return success();
  }
};

/// reshape(expand(x)) => expand(reshape(x)) where the reshape merges no repeated axis with one that
/// is not.
struct ReshapeOfExpand : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto expand = op.getInput().getDefiningOp<ExpandOp>();
    if (!expand)
      return failure();
    SmallVector<Dim> before = paddedInput(expand), middle = shapeOf(op.getInput()),
                     target = shapeOf(op.getOutput());
    auto groups = groupAxes(middle, target);
    if (!groups)
      return failure();
    SmallVector<Dim> reshaped(target);
    for (const AxisGroup &group : *groups) {
      unsigned kept =
          llvm::count_if(group.input, [&](unsigned axis) { return before[axis] == middle[axis]; });
      unsigned repeated = llvm::count_if(group.input, [&](unsigned axis) {
        return before[axis] != middle[axis] && before[axis].isConstant(1);
      });
      if (kept == group.input.size())
        continue;
      if (repeated != group.input.size())
        return failure();
      for (unsigned axis : group.output)
        reshaped[axis] = Dim::constant(op.getContext(), 1);
    }
    Value inner = reshapeTo(rewriter, op.getLoc(), expand.getInput(), reshaped);
    rewriter.replaceOp(op,
                       broadcastTo(rewriter, expand.getLoc(), inner, tensorType(op.getOutput())));
    return success();
  }
};

/// A slice as one record an axis.
struct SliceAxes {
  SmallVector<Dim> starts, sizes;
  SmallVector<int64_t> steps;

  explicit SliceAxes(SliceOp op) : sizes(shapeOf(op.getOutput())), steps(op.getSteps()) {
    for (Attribute start : op.getStarts())
      starts.push_back(Dim(cast<DimAttr>(start)));
  }
  /// The whole of `shape`.
  explicit SliceAxes(ArrayRef<Dim> shape) : sizes(shape), steps(shape.size(), 1) {
    for (Dim size : shape)
      starts.push_back(Dim::constant(size.getContext(), 0));
  }
  void copyAxis(unsigned axis, const SliceAxes &from, unsigned fromAxis) {
    starts[axis] = from.starts[fromAxis];
    sizes[axis] = from.sizes[fromAxis];
    steps[axis] = from.steps[fromAxis];
  }
  bool isWhole(unsigned axis, Dim size) const {
    return sizes[axis] == size && steps[axis] == 1 && starts[axis].isConstant(0);
  }
  bool isWholeOf(ArrayRef<Dim> shape) const {
    return llvm::all_of(llvm::seq<unsigned>(shape.size()),
                        [&](unsigned axis) { return isWhole(axis, shape[axis]); });
  }
  Value apply(OpBuilder &builder, Location location, Value input) const {
    SmallVector<Attribute> startAttributes =
        llvm::map_to_vector(starts, [](Dim start) -> Attribute { return start.getAttribute(); });
    return SliceOp::create(builder, location, tensorType(input).withShape(sizes), input,
                           builder.getArrayAttr(startAttributes),
                           builder.getDenseI64ArrayAttr(steps));
  }
};

/// slice(slice(x)) => slice(x)
struct SliceOfSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<SliceOp>();
    if (!inner)
      return failure();
    SliceAxes first(inner), second(op);
    for (unsigned axis = 0; axis < first.steps.size(); ++axis) {
      second.starts[axis] = first.starts[axis] + second.starts[axis] * first.steps[axis];
      if (__builtin_mul_overflow(second.steps[axis], first.steps[axis], &second.steps[axis]))
        return failure();
    }
    rewriter.replaceOp(op, second.apply(rewriter, op.getLoc(), inner.getInput()));
    return success();
  }
};

/// slice(transpose(x)) => transpose(slice(x))
struct SliceOfTranspose : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().getDefiningOp<TransposeOp>();
    if (!transpose)
      return failure();
    SliceAxes outer(op), inner(shapeOf(transpose.getInput()));
    for (auto [axis, source] : llvm::enumerate(transpose.getPermutation()))
      inner.copyAxis(source, outer, axis);
    Value sliced = inner.apply(rewriter, op.getLoc(), transpose.getInput());
    rewriter.replaceOpWithNewOp<TransposeOp>(op, sliced, transpose.getPermutation());
    return success();
  }
};

/// slice(reshape(x)) => reshape(slice(x)) where each sliced axis is an axis of x, or the outermost
/// part of one: of three stacked projections [.., 3*h*d] -> [.., 3, h, d], slicing one out of the 3
/// is a slice of x.
struct SliceOfReshape : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto reshape = op.getInput().getDefiningOp<ReshapeOp>();
    if (!reshape)
      return failure();
    SmallVector<Dim> source = shapeOf(reshape.getInput()), middle = shapeOf(op.getInput());
    auto groups = groupAxes(source, middle);
    if (!groups)
      return failure();
    SliceAxes outer(op), inner(source);
    for (unsigned axis = 0; axis < middle.size(); ++axis) {
      if (outer.isWhole(axis, middle[axis]))
        continue;
      const AxisGroup *group = llvm::find_if(*groups, [&](const AxisGroup &candidate) {
        return candidate.input.size() == 1 && candidate.output.front() == axis;
      });
      if (group == groups->end() || (group->output.size() > 1 && outer.steps[axis] != 1))
        return failure();
      Dim part = Dim::constant(op.getContext(), 1);
      for (unsigned rest : ArrayRef<unsigned>(group->output).drop_front())
        part = part * middle[rest];
      unsigned from = group->input.front();
      inner.copyAxis(from, outer, axis);
      inner.starts[from] = inner.starts[from] * part;
      inner.sizes[from] = inner.sizes[from] * part;
    }
    Value sliced = inner.apply(rewriter, op.getLoc(), reshape.getInput());
    rewriter.replaceOp(op, reshapeTo(rewriter, reshape.getLoc(), sliced, shapeOf(op.getOutput())));
    return success();
  }
};

/// expand(reshape(x)) => expand(x) where the reshape only adds leading ones.
struct ExpandOfPadded : OpRewritePattern<ExpandOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ExpandOp op, PatternRewriter &rewriter) const override {
    auto reshape = op.getInput().getDefiningOp<ReshapeOp>();
    if (!reshape || padShape(shapeOf(reshape.getInput()), tensorType(reshape.getOutput()).getRank(),
                             op.getContext()) != shapeOf(reshape.getOutput()))
      return failure();
    rewriter.replaceOpWithNewOp<ExpandOp>(op, op.getType(), reshape.getInput());
    return success();
  }
};

/// An expand that only adds leading axes of size 1 is a reshape.
struct ExpandOfUnitAxes : OpRewritePattern<ExpandOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ExpandOp op, PatternRewriter &rewriter) const override {
    if (paddedInput(op) != shapeOf(op.getOutput()))
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInput());
    return success();
  }
};

/// slice(f(x, y)) => f(slice(x), slice(y)) where only the slice reads f: less is computed.
struct SliceOfElementwise : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    Operation *producer = op.getInput().getDefiningOp();
    if (!producer || !producer->hasTrait<Elementwise>() || !producer->hasOneUse())
      return failure();
    SliceAxes outer(op);
    SmallVector<SliceAxes> slices;
    SmallVector<Dim> result;
    for (Value operand : producer->getOperands()) {
      SmallVector<Dim> shape = shapeOf(operand);
      slices.emplace_back(shape);
      size_t offset = outer.steps.size() - shape.size();
      for (auto [axis, size] : llvm::enumerate(shape)) {
        bool repeated = size.isConstant(1) && !shapeOf(op.getInput())[offset + axis].isConstant(1);
        if (!repeated && size != shapeOf(op.getInput())[offset + axis])
          return failure();
        if (!repeated)
          slices.back().copyAxis(axis, outer, offset + axis);
      }
      FailureOr<SmallVector<Dim>> next = broadcastShapes(result, slices.back().sizes);
      if (failed(next))
        return failure();
      result = *next;
    }
    // A repeated axis that all operands repeat would come out as one.
    if (result != shapeOf(op.getOutput()))
      return failure();
    SmallVector<Value> operands;
    for (auto [operand, slice] : llvm::zip(producer->getOperands(), slices))
      operands.push_back(slice.isWholeOf(shapeOf(operand))
                             ? operand
                             : slice.apply(rewriter, op.getLoc(), operand));
    rewriter.replaceOp(op, cloneElementwise(rewriter, producer, operands, result));
    return success();
  }
};

/// slice(expand(x)) => expand(slice(x))
struct SliceOfExpand : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto expand = op.getInput().getDefiningOp<ExpandOp>();
    if (!expand)
      return failure();
    SmallVector<Dim> before = paddedInput(expand), middle = shapeOf(op.getInput());
    SliceAxes outer(op), inner(before);
    bool whole = true;
    for (unsigned axis = 0; axis < before.size(); ++axis) {
      if (before[axis] != middle[axis] && !before[axis].isConstant(1))
        return failure();
      if (before[axis] != middle[axis])
        continue;
      inner.copyAxis(axis, outer, axis);
      whole &= outer.isWhole(axis, middle[axis]);
    }
    Value padded = reshapeTo(rewriter, expand.getLoc(), expand.getInput(), before);
    Value sliced = whole ? padded : inner.apply(rewriter, op.getLoc(), padded);
    rewriter.replaceOp(op,
                       broadcastTo(rewriter, expand.getLoc(), sliced, tensorType(op.getOutput())));
    return success();
  }
};

/// reduce(transpose(x)) => reshape(reduce(transpose'(x))) where x has the reduced axes last: they stay
/// there, and rows are read as they lie.
struct ReduceOfTranspose : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().getDefiningOp<TransposeOp>();
    if (!transpose || op.getAxes().empty() || op.getFirstReducedAxis())
      return failure();
    SmallVector<int64_t> order, reduced;
    for (auto [axis, source] : llvm::enumerate(transpose.getPermutation())) {
      bool isReduced = llvm::is_contained(op.getAxes(), static_cast<int64_t>(axis));
      (isReduced ? reduced : order).push_back(source);
    }
    auto rank = static_cast<int64_t>(transpose.getPermutation().size());
    if (llvm::any_of(reduced, [&](int64_t source) {
          return source < rank - static_cast<int64_t>(reduced.size());
        }))
      return failure();
    llvm::sort(reduced);
    order.append(reduced);
    Value rows = TransposeOp::create(rewriter, op.getLoc(), transpose.getInput(), order);
    auto trailing =
        llvm::to_vector(llvm::seq<int64_t>(rank - static_cast<int64_t>(reduced.size()), rank));
    Value inner = ReduceOp::create(rewriter, op.getLoc(), rows, op.getKind(), trailing);
    rewriter.replaceOp(op, reshapeTo(rewriter, op.getLoc(), inner, shapeOf(op.getOutput())));
    return success();
  }
};

/// reduce(transpose(x)) => transpose(reduce(x)) where rows would be read across x, whose last axis is kept, and
/// nothing else reads the transposed: neighbouring results then come of neighbouring numbers. ConvNeXt and Swin take
/// the mean of all pixels so, behind a permutation that brings channels first.
struct ReduceAcrossTranspose : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().getDefiningOp<TransposeOp>();
    if (!transpose || !transpose->hasOneUse() || !op.getFirstReducedAxis())
      return failure();
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    if (llvm::any_of(op.getAxes(), [&](int64_t axis) {
          return permutation[axis] == static_cast<int64_t>(permutation.size()) - 1;
        }))
      return failure();
    rewriter.replaceOp(op, reduceBeforeTranspose(rewriter, op, transpose));
    return success();
  }
};

/// A reshape of a constant is a constant.
struct ReshapeOfConstant : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto constant = op.getInput().getDefiningOp<ConstantOp>();
    auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
    TensorType type = tensorType(op.getOutput());
    if (!dense || !type.isStatic() || toBuiltin(type).getNumElements() != dense.getNumElements())
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(op, dense.reshape(toBuiltin(type)));
    return success();
  }
};

/// Any view of a splat is an expand of a rank-0 constant.
struct ViewOfSplat : RewritePattern {
  explicit ViewOfSplat(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<View>())
      return failure();
    auto source = op->getOperand(0).getDefiningOp<ConstantOp>();
    if (!source || (isa<ExpandOp>(op) && tensorType(source.getOutput()).getRank() == 0))
      return failure();
    DenseElementsAttr dense = literalSplat(source);
    if (!dense)
      return failure();
    TensorType type = tensorType(op->getResult(0));
    DenseElementsAttr scalar = dense.resizeSplat(RankedTensorType::get({}, dense.getElementType()));
    Value constant = ConstantOp::create(rewriter, source.getLoc(), scalar);
    rewriter.replaceOp(op, broadcastTo(rewriter, op->getLoc(), constant, type));
    return success();
  }
};

} // namespace

void populateViewPatterns(RewritePatternSet &patterns) {
  patterns.add<TransposeOfReshape, ReshapeOfTranspose, TransposeOfUnitAxes, TransposeOfExpand,
               ReshapeOfExpand, SliceOfSlice, SliceOfTranspose, SliceOfReshape, SliceOfElementwise,
               ExpandOfPadded, ExpandOfUnitAxes, SliceOfExpand, ReduceOfTranspose,
               ReduceAcrossTranspose, ReshapeOfConstant, ViewOfSplat>(patterns.getContext());
}

} // namespace smelt::passes
