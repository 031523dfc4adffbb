// Gathers and scatters: result shapes.
#include "ir/ops/common.h"

using namespace mlir;

namespace smelt {

static LogicalResult checkIndices(std::optional<Location> location, TensorType data,
                                  TensorType indices, int64_t axis) {
  if (axis < 0 || axis >= data.getRank())
    return inferError(location, "axis ", axis, " is outside rank ", data.getRank());
  if (!indices.getElementType().isInteger())
    return inferError(location, "indices must be integers, got ", indices.getElementType());
  return success();
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  TensorType data = tensorType(operands[0]), indices = tensorType(operands[1]);
  int64_t axis = adaptor.getAxis();
  if (failed(checkIndices(location, data, indices, axis)))
    return failure();
  SmallVector<Dim> shape = data.getShape();
  shape.erase(shape.begin() + axis);
  SmallVector<Dim> inserted = indices.getShape();
  shape.insert(shape.begin() + axis, inserted.begin(), inserted.end());
  results.push_back(data.withShape(shape));
  return success();
}

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                 ValueRange operands, DictionaryAttr attributes,
                                                 OpaqueProperties properties, RegionRange regions,
                                                 SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  TensorType data = tensorType(operands[0]), indices = tensorType(operands[1]);
  if (failed(checkIndices(location, data, indices, adaptor.getAxis())))
    return failure();
  if (data.getRank() != indices.getRank())
    return inferError(location, "data has rank ", data.getRank(), ", indices ", indices.getRank());
  results.push_back(data.withShape(indices.getShape()));
  return success();
}

LogicalResult GatherNdOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                           ValueRange operands, DictionaryAttr attributes,
                                           OpaqueProperties properties, RegionRange regions,
                                           SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  TensorType data = tensorType(operands[0]), indices = tensorType(operands[1]);
  int64_t batch = adaptor.getBatchDims();
  auto width =
      indices.getRank() ? indices.getDim(indices.getRank() - 1).asConstant() : std::nullopt;
  if (!width || batch < 0 || batch >= indices.getRank() || batch + *width > data.getRank())
    return inferError(location, "indices ", indices, " with ", batch,
                      " batch dims do not fit data ", data);
  if (!indices.getElementType().isInteger())
    return inferError(location, "indices must be integers, got ", indices.getElementType());
  SmallVector<Dim> shape = indices.getShape();
  shape.pop_back();
  for (unsigned axis = batch + *width; axis < data.getRank(); ++axis)
    shape.push_back(data.getDim(axis));
  results.push_back(data.withShape(shape));
  return success();
}

/// Updates as the indices pick elements of the data, combined by what has an order-free meaning.
static LogicalResult checkScatter(std::optional<Location> location, ValueRange operands,
                                  std::optional<ReductionKind> reduction) {
  TensorType data = tensorType(operands[0]), updates = tensorType(operands[2]);
  if (data.getElementType() != updates.getElementType())
    return inferError(location, "data are ", data.getElementType(), ", updates ",
                      updates.getElementType());
  if (reduction == ReductionKind::mean)
    return inferError(location, "updates cannot be combined by their mean");
  return success();
}

LogicalResult ScatterElementsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                  ValueRange operands, DictionaryAttr attributes,
                                                  OpaqueProperties properties, RegionRange regions,
                                                  SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  TensorType data = tensorType(operands[0]), indices = tensorType(operands[1]),
             updates = tensorType(operands[2]);
  if (failed(checkIndices(location, data, indices, adaptor.getAxis())) ||
      failed(checkScatter(location, operands, adaptor.getReduction())))
    return failure();
  if (data.getRank() != indices.getRank() || indices.getShape() != updates.getShape())
    return inferError(location, "data ", data, ", indices ", indices, " and updates ", updates,
                      " do not fit each other");
  results.push_back(data);
  return success();
}

LogicalResult ScatterNdOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  TensorType data = tensorType(operands[0]), indices = tensorType(operands[1]),
             updates = tensorType(operands[2]);
  auto width =
      indices.getRank() ? indices.getDim(indices.getRank() - 1).asConstant() : std::nullopt;
  if (!width || *width > data.getRank() || !indices.getElementType().isInteger())
    return inferError(location, "indices ", indices, " do not fit data ", data);
  if (failed(checkScatter(location, operands, adaptor.getReduction())))
    return failure();
  SmallVector<Dim> shape = indices.getShape();
  shape.pop_back();
  llvm::append_range(shape, ArrayRef(data.getShape()).drop_front(*width));
  if (shape != updates.getShape())
    return inferError(location, "updates ", updates, " are not of shape ", toString(shape));
  results.push_back(data);
  return success();
}

} // namespace smelt
