// simplify-affine: what integer and bool tensors hold at each coordinate, used.
//
// Exporters build positions and masks in the graph: BERT gathers the padding mask with an index
// tensor b*seq + s, tests `iota >= 0`, and reads token types from a table of zeros; GPT-2 compares
// positions with their neighbours to find packed sequences. None of it depends on data. Method:
// coordinates.h gives each such element as an expression over sizes and coordinates. Where that is
// a constant, the tensor is; where it is one coordinate, the tensor is an iota; where an index is
// affine, its gather is a view of the data (read_as_view.h). Sizes that a view needs and that
// cannot be proven become guards: ONNX calls an index outside the data an error.
#include "ir/location.h"
#include "passes/constants.h"
#include "passes/dead_ops.h"
#include "passes/guard.h"
#include "passes/passes.h"
#include "passes/simplify/causal_table.h"
#include "passes/simplify/read_as_view.h"
#include "passes/view_shape.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_SIMPLIFYAFFINE
#include "passes/passes.h.inc"

namespace {

/// The value is already what `materialize` would build.
bool isMaterial(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && (isa<ReshapeOp, ExpandOp>(op) ||
                (isa<AddOp>(op) && op->getOperand(1).getDefiningOp<DimsOp>()) ||
                (isa<AddOp>(op) && splatInteger(op->getOperand(1)))))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<ConstantOp, DimsOp, IotaOp>(op);
}

/// A tensor of `type` that holds `expression`: a constant, a size, or one coordinate plus a size;
/// null for others.
Value materialize(OpBuilder &builder, Location location, Dim expression, TensorType type) {
  MLIRContext *context = builder.getContext();
  Type elementType = type.getElementType();
  auto sizeScalar = [&](Dim size) -> Value {
    if (std::optional<int64_t> constant = size.asConstant())
      return makeScalarInteger(builder, location, *constant, elementType);
    return DimsOp::create(builder, location, TensorType::get({}, elementType),
                          builder.getArrayAttr({size.getAttribute()}));
  };
  if (elementType.isInteger(1) && !expression.asConstant())
    return {};
  if (!usesCoordinates(expression))
    return broadcastTo(builder, location, sizeScalar(expression), type);
  std::optional<unsigned> axis;
  expression.forEachSymbol([&](StringRef name) {
    if (!axis)
      axis = coordinateAxis(name);
  });
  Dim offset = expression - coordinate(context, *axis);
  if (usesCoordinates(offset))
    return {};
  Dim size = type.getDim(*axis);
  Value value = IotaOp::create(builder, location, TensorType::get({size}, elementType));
  if (!offset.isConstant(0))
    value = AddOp::create(builder, location, value, sizeScalar(offset));
  SmallVector<Dim> shape(type.getRank(), Dim::constant(context, 1));
  shape[*axis] = size;
  return broadcastTo(builder, location, reshapeTo(builder, location, value, shape), type);
}

struct SimplifyAffine : impl::SimplifyAffineBase<SimplifyAffine> {
  SimplifyAffine() = default;
  explicit SimplifyAffine(WeightStore *weights) : weights(weights) {}

  void runOnOperation() override {
    CoordinateAnalysis analysis(weights);
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (op->getNumResults() == 1 && isa<TensorType>(op->getResult(0).getType()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      OpBuilder builder(op);
      Value replacement = asExpression(op, builder, analysis);
      if (!replacement && isMaskTable(op))
        replacement = rebuildCausalTable(builder, op, weights);
      if (!replacement)
        replacement = asView(op, builder, analysis);
      if (replacement)
        op->getResult(0).replaceAllUsesWith(replacement);
    }
    eraseDeadOps(getOperation());
  }

private:
  static Value asExpression(Operation *op, OpBuilder &builder, CoordinateAnalysis &analysis) {
    std::optional<Dim> expression = analysis.element(op->getResult(0));
    if (!expression || isMaterial(op->getResult(0)))
      return {};
    return materialize(builder, op->getLoc(), *expression, tensorType(op->getResult(0)));
  }

  /// A stored mask, by what reads it: weights of products and norms need not be looked at.
  static bool isMaskTable(Operation *op) {
    auto readsMask = [](Operation *user) {
      return user->hasTrait<View>() || user->hasTrait<Elementwise>();
    };
    return isa<ConstantOp, WeightOp>(op) && llvm::all_of(op->getUsers(), readsMask);
  }

  Value asView(Operation *op, OpBuilder &builder, CoordinateAnalysis &analysis) {
    std::optional<SmallVector<Dim>> index = indexOf(op, analysis);
    if (!index)
      return {};
    SmallVector<SizeRequirement> requirements;
    Value view = readAsView(builder, op->getLoc(), op->getOperand(0), *index,
                            shapeOf(op->getResult(0)), requirements);
    if (!view)
      return {};
    for (const SizeRequirement &requirement : requirements)
      requireLessEqual(getOperation(), requirement.needed, requirement.available,
                       nodeName(op->getLoc()) + " reads " + requirement.needed.toString() +
                           " elements of an axis that has " + requirement.available.toString());
    return view;
  }

  /// For a gather: where the element at each coordinate of the result lies in the data.
  static std::optional<SmallVector<Dim>> indexOf(Operation *op, CoordinateAnalysis &analysis) {
    return llvm::TypeSwitch<Operation *, std::optional<SmallVector<Dim>>>(op)
        .Case<GatherOp>([&](auto gather) { return indexOfGather(gather, analysis); })
        .Case<GatherElementsOp>(
            [&](auto gather) { return indexOfGatherElements(gather, analysis); })
        .Case<GatherNdOp>([&](auto gather) { return indexOfGatherNd(gather, analysis); })
        .Default(std::nullopt);
  }

  /// An index that is negative everywhere counts from the end of the axis.
  static Dim fromStart(Dim index, Dim size, const Bounds &bounds) {
    return (index * -1 - 1).isKnownNonNegative(bounds) ? index + size : index;
  }

  static std::optional<SmallVector<Dim>> indexOfGather(GatherOp op, CoordinateAnalysis &analysis) {
    std::optional<Dim> index = analysis.element(op.getIndices());
    if (!index)
      return std::nullopt;
    MLIRContext *context = op.getContext();
    Bounds bounds = coordinateBounds(shapeOf(op.getOutput()));
    unsigned axis = op.getAxis(), inserted = tensorType(op.getIndices()).getRank();
    SmallVector<Dim> at, result;
    for (unsigned i = 0; i < inserted; ++i)
      at.push_back(coordinate(context, axis + i));
    for (auto [i, size] : llvm::enumerate(shapeOf(op.getData())))
      result.push_back(i == axis ? fromStart(atCoordinates(*index, at, bounds), size, bounds)
                                 : coordinate(context, i < axis ? i : i - 1 + inserted));
    return result;
  }

  static std::optional<SmallVector<Dim>> indexOfGatherElements(GatherElementsOp op,
                                                               CoordinateAnalysis &analysis) {
    std::optional<Dim> index = analysis.element(op.getIndices());
    if (!index)
      return std::nullopt;
    Bounds bounds = coordinateBounds(shapeOf(op.getOutput()));
    SmallVector<Dim> result;
    for (auto [i, size] : llvm::enumerate(shapeOf(op.getData())))
      result.push_back(i == static_cast<size_t>(op.getAxis()) ? fromStart(*index, size, bounds)
                                                              : coordinate(op.getContext(), i));
    return result;
  }

  static std::optional<SmallVector<Dim>> indexOfGatherNd(GatherNdOp op,
                                                         CoordinateAnalysis &analysis) {
    MLIRContext *context = op.getContext();
    SmallVector<Dim> data = shapeOf(op.getData()), result;
    Bounds bounds = coordinateBounds(shapeOf(op.getOutput()));
    unsigned batch = op.getBatchDims(), last = tensorType(op.getIndices()).getRank() - 1;
    unsigned width = *tensorType(op.getIndices()).getDim(last).asConstant();
    for (unsigned i = 0; i < batch; ++i)
      result.push_back(coordinate(context, i));
    for (unsigned i = 0; i < width; ++i) {
      std::optional<Dim> index = analysis.elementAt(op.getIndices(), last, i);
      if (!index)
        return std::nullopt;
      result.push_back(fromStart(*index, data[batch + i], bounds));
    }
    for (unsigned i = batch + width; i < data.size(); ++i)
      result.push_back(coordinate(context, last + i - batch - width));
    return result;
  }

  WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass> createSimplifyAffine(WeightStore *weights) {
  return std::make_unique<SimplifyAffine>(weights);
}

} // namespace smelt::passes
