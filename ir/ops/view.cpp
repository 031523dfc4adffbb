// Views: the shapes that they may have, and their folds (identity views and chains of one kind).
#include "ir/ops/common.h"

using namespace mlir;

namespace smelt {

LogicalResult ReshapeOp::verify() {
  TensorType input = tensorType(getInput()), output = tensorType(getOutput());
  if (input.getElementType() != output.getElementType())
    return emitOpError("must keep the element type");
  auto before = input.getNumElements().asConstant(), after = output.getNumElements().asConstant();
  if (before && after && *before != *after)
    return emitOpError() << "cannot turn " << *before << " elements of "
                         << toString(input.getShape()) << " into " << *after << " of "
                         << toString(output.getShape());
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getOutput().getType())
    return getInput();
  if (auto producer = getInput().getDefiningOp<ReshapeOp>()) {
    getInputMutable().assign(producer.getInput());
    return getOutput();
  }
  return {};
}

LogicalResult ExpandOp::verify() {
  TensorType input = tensorType(getInput()), output = tensorType(getOutput());
  if (input.getElementType() != output.getElementType() || input.getRank() > output.getRank())
    return emitOpError("must keep the element type and not lose dimensions");
  size_t offset = output.getRank() - input.getRank();
  for (unsigned axis = 0; axis < input.getRank(); ++axis) {
    Dim from = input.getDim(axis), to = output.getDim(offset + axis);
    if (from.asConstant() && to.asConstant() && !from.isConstant(1) && from != to)
      return emitOpError() << "cannot expand " << toString(input.getShape()) << " to "
                           << toString(output.getShape());
  }
  return success();
}

OpFoldResult ExpandOp::fold(FoldAdaptor) {
  if (getInput().getType() == getOutput().getType())
    return getInput();
  if (auto producer = getInput().getDefiningOp<ExpandOp>()) {
    getInputMutable().assign(producer.getInput());
    return getOutput();
  }
  return {};
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  TensorType input = tensorType(operands[0]);
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  SmallVector<bool> seen(input.getRank());
  SmallVector<Dim> shape;
  for (int64_t axis : permutation) {
    if (axis < 0 || axis >= input.getRank() || seen[axis])
      return inferError(location, "permutation does not name every axis of ",
                        toString(input.getShape()), " once");
    seen[axis] = true;
    shape.push_back(input.getDim(axis));
  }
  if (shape.size() != input.getRank())
    return inferError(location, "permutation has ", shape.size(), " axes, the input ",
                      input.getRank());
  results.push_back(input.withShape(shape));
  return success();
}

LogicalResult TransposeOp::verify() { return success(); }

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::is_sorted(getPermutation()))
    return getInput();
  auto producer = getInput().getDefiningOp<TransposeOp>();
  if (!producer)
    return {};
  SmallVector<int64_t> composed = llvm::map_to_vector(
      getPermutation(), [&](int64_t axis) { return producer.getPermutation()[axis]; });
  setPermutation(composed);
  getInputMutable().assign(producer.getInput());
  return getOutput();
}

LogicalResult SliceOp::verify() {
  TensorType input = tensorType(getInput()), output = tensorType(getOutput());
  if (input.getElementType() != output.getElementType() || input.getRank() != output.getRank() ||
      getStarts().size() != input.getRank() || getSteps().size() != input.getRank())
    return emitOpError("must keep rank and element type and give a start and a step for each axis");
  for (unsigned axis = 0; axis < input.getRank(); ++axis) {
    auto size = input.getDim(axis).asConstant(), length = output.getDim(axis).asConstant();
    auto start = Dim(cast<DimAttr>(getStarts()[axis])).asConstant();
    int64_t last;
    if (!size || !length || !start || *length == 0)
      continue;
    if (__builtin_mul_overflow(*length - 1, getSteps()[axis], &last) ||
        __builtin_add_overflow(last, *start, &last) || *start < 0 || *start >= *size || last < 0 ||
        last >= *size)
      return emitOpError() << "leaves axis " << axis << " of " << toString(input.getShape());
  }
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool whole = getInput().getType() == getOutput().getType() &&
               llvm::all_of(getSteps(), [](int64_t s) { return s == 1; }) &&
               llvm::all_of(getStarts(), [](Attribute start) {
                 return Dim(cast<DimAttr>(start)).isConstant(0);
               });
  return whole ? getInput() : OpFoldResult();
}

LogicalResult WindowsOp::verify() {
  TensorType input = tensorType(getInput()), output = tensorType(getOutput());
  int64_t axis = getAxis(), stride = getStride(), dilation = getDilation();
  if (axis < 0 || axis >= input.getRank() || output.getRank() != input.getRank() + 1 ||
      input.getElementType() != output.getElementType())
    return emitOpError("must keep the element type and add an axis behind one of the input's");
  if (stride < 1 || dilation < 1)
    return emitOpError("needs a stride and a dilation of at least 1");
  SmallVector<Dim> kept = output.getShape();
  kept.erase(kept.begin() + axis, kept.begin() + axis + 2);
  SmallVector<Dim> others = input.getShape();
  others.erase(others.begin() + axis);
  if (kept != others)
    return emitOpError() << "changes other axes than " << axis << " of "
                         << toString(input.getShape());
  auto size = input.getDim(axis).asConstant(), count = output.getDim(axis).asConstant(),
       length = output.getDim(axis + 1).asConstant();
  if (!size || !count || !length || *count == 0 || *length == 0)
    return success();
  int64_t last, lastInWindow;
  if (__builtin_mul_overflow(*count - 1, stride, &last) ||
      __builtin_mul_overflow(*length - 1, dilation, &lastInWindow) ||
      __builtin_add_overflow(last, lastInWindow, &last) || last >= *size)
    return emitOpError() << "leaves axis " << axis << " of " << toString(input.getShape());
  return success();
}

OpFoldResult WindowsOp::fold(FoldAdaptor) { return {}; }

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  if (operands.empty())
    return inferError(location, "needs an input");
  TensorType first = tensorType(operands[0]);
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= first.getRank())
    return inferError(location, "axis ", axis, " is outside rank ", first.getRank());
  SmallVector<Dim> shape = first.getShape();
  for (Value operand : operands.drop_front()) {
    TensorType type = tensorType(operand);
    if (type.getRank() != first.getRank() || type.getElementType() != first.getElementType())
      return inferError(location, "inputs differ in rank or element type: ", first, " and ", type);
    for (unsigned other = 0; other < first.getRank(); ++other) {
      if (other == axis)
        continue;
      if (shape[other].asConstant() && type.getDim(other).asConstant() &&
          shape[other] != type.getDim(other))
        return inferError(location, "inputs differ outside the axis: ", first, " and ", type);
      if (type.getDim(other).asConstant())
        shape[other] = type.getDim(other);
    }
    shape[axis] = shape[axis] + type.getDim(axis);
    if (std::optional<int64_t> size = shape[axis].asConstant(); size && *size < 0)
      return inferError(location, "the sizes along the axis overflow");
  }
  results.push_back(first.withShape(shape));
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? getInputs()[0] : OpFoldResult();
}

} // namespace smelt
