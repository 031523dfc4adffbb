// Reductions, softmax, norms and running sums: axis checks and result shapes.
#include "ir/ops/common.h"

using namespace mlir;

namespace smelt {

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  TensorType input = tensorType(operands[0]);
  SmallVector<Dim> shape = input.getShape();
  for (int64_t axis : adaptor.getAxes()) {
    if (axis < 0 || axis >= input.getRank())
      return inferError(location, "axis ", axis, " is outside rank ", input.getRank());
    shape[axis] = Dim::constant(context, 1);
  }
  results.push_back(input.withShape(shape));
  return success();
}

static LogicalResult inferNorm(std::optional<Location> location, TensorType input, int64_t axis,
                               SmallVectorImpl<Type> &results) {
  if (axis < 0 || axis >= input.getRank())
    return inferError(location, "axis ", axis, " is outside rank ", input.getRank());
  results.push_back(input);
  return success();
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferNorm(location, tensorType(operands[0]), adaptor.getAxis(), results);
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          ValueRange operands, DictionaryAttr attributes,
                                          OpaqueProperties properties, RegionRange regions,
                                          SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferNorm(location, tensorType(operands[0]), adaptor.getAxis(), results);
}

LogicalResult RowMomentsOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                             ValueRange operands, DictionaryAttr, OpaqueProperties,
                                             RegionRange, SmallVectorImpl<Type> &results) {
  TensorType input = tensorType(operands[0]);
  Type element = input.getElementType();
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return inferError(location, "is not defined for element type ", element);
  std::optional<int64_t> columns;
  if (input.getRank() > 0)
    columns = input.getDim(input.getRank() - 1).asConstant();
  if (!columns || *columns == 0 || *columns % kGroup != 0)
    return inferError(location, "the last axis of ", input, " is no constant multiple of ", kGroup);
  SmallVector<Dim> shape = input.getShape();
  shape.back() = Dim::constant(context, *columns / kGroup);
  shape.push_back(Dim::constant(context, 2));
  results.push_back(TensorType::get(shape, Float32Type::get(context)));
  return success();
}

/// One number a row of groups of moments.
static LogicalResult inferMoments(MLIRContext *context, std::optional<Location> location,
                                  TensorType moments, SmallVectorImpl<Type> &results) {
  unsigned rank = moments.getRank();
  std::optional<int64_t> groups;
  if (rank >= 2 && moments.getDim(rank - 1).isConstant(2) && moments.getElementType().isF32())
    groups = moments.getDim(rank - 2).asConstant();
  if (!groups || *groups == 0)
    return inferError(location, moments, " does not hold moments, [..., groups, 2] in f32");
  SmallVector<Dim> shape = moments.getShape();
  shape.pop_back();
  shape.back() = Dim::constant(context, 1);
  results.push_back(moments.withShape(shape));
  return success();
}

#define SMELT_INFER_MOMENTS(Op)                                                                    \
  LogicalResult Op::inferReturnTypes(MLIRContext *context, std::optional<Location> location,       \
                                     ValueRange operands, DictionaryAttr, OpaqueProperties,        \
                                     RegionRange, SmallVectorImpl<Type> &results) {                \
    return inferMoments(context, location, tensorType(operands[0]), results);                      \
  }
SMELT_INFER_MOMENTS(MomentsMeanOp)
SMELT_INFER_MOMENTS(MomentsRstdOp)
SMELT_INFER_MOMENTS(MomentsRrmsOp)
#undef SMELT_INFER_MOMENTS

/// The first of `axes` where they are the trailing ones of `rank`.
static std::optional<int64_t> firstTrailing(ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> sorted(axes);
  llvm::sort(sorted);
  int64_t first = rank - static_cast<int64_t>(axes.size());
  for (auto [index, axis] : llvm::enumerate(sorted))
    if (axis != first + static_cast<int64_t>(index))
      return std::nullopt;
  return axes.empty() ? std::nullopt : std::optional(first);
}

static int64_t rankOf(Operation *op) { return tensorType(op->getOperand(0)).getRank(); }

std::optional<int64_t> ReduceOp::getFirstReducedAxis() {
  return firstTrailing(getAxes(), rankOf(*this));
}

std::optional<int64_t> SoftmaxOp::getFirstReducedAxis() {
  return firstTrailing(static_cast<int64_t>(getAxis()), rankOf(*this));
}

std::optional<int64_t> LayerNormOp::getFirstReducedAxis() { return getAxis(); }
std::optional<int64_t> RmsNormOp::getFirstReducedAxis() { return getAxis(); }

static LogicalResult verifyAxis(Operation *op, int64_t axis) {
  unsigned rank = tensorType(op->getOperand(0)).getRank();
  return axis >= 0 && axis < rank
             ? success()
             : op->emitOpError() << "axis " << axis << " is outside rank " << rank;
}

LogicalResult SoftmaxOp::verify() { return verifyAxis(*this, getAxis()); }
LogicalResult CumsumOp::verify() { return verifyAxis(*this, getAxis()); }
LogicalResult CumprodOp::verify() { return verifyAxis(*this, getAxis()); }

} // namespace smelt
