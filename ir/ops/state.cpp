// State: buffers with room behind an input's elements, and what is appended to them.
#include "ir/ops/common.h"

using namespace mlir;

namespace smelt {

namespace {

/// The axis along which `larger` differs from `smaller`: the only one, for types of one rank and
/// element type; none else.
std::optional<unsigned> grownAxis(TensorType smaller, TensorType larger) {
  if (smaller.getRank() != larger.getRank() || smaller.getElementType() != larger.getElementType())
    return std::nullopt;
  std::optional<unsigned> grown;
  for (unsigned axis = 0; axis < smaller.getRank(); ++axis) {
    if (smaller.getDim(axis) == larger.getDim(axis))
      continue;
    if (grown)
      return std::nullopt;
    grown = axis;
  }
  return grown;
}

} // namespace

unsigned BufferOp::getAxis() { return *grownAxis(tensorType(getInput()), tensorType(getOutput())); }

LogicalResult BufferOp::verify() {
  if (!isa<BlockArgument>(getInput()) ||
      !grownAxis(tensorType(getInput()), tensorType(getOutput())))
    return emitOpError("must give an input of the model room along one axis, got ")
           << getInput().getType() << " in " << getOutput().getType();
  return success();
}

LogicalResult AppendOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  TensorType buffer = tensorType(operands[0]), rows = tensorType(operands[1]);
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= buffer.getRank() || buffer.getRank() != rows.getRank() ||
      buffer.getElementType() != rows.getElementType())
    return inferError(location, "cannot append ", rows, " to ", buffer, " along axis ", axis);
  for (unsigned other = 0; other < buffer.getRank(); ++other)
    if (other != axis && buffer.getDim(other) != rows.getDim(other))
      return inferError(location, "rows ", rows, " differ from the buffer ", buffer, " in axis ",
                        other);
  results.push_back(buffer);
  return success();
}

LogicalResult ContentsOp::verify() {
  if (!grownAxis(tensorType(getOutput()), tensorType(getBuffer())))
    return emitOpError("must be a buffer without its room along one axis, got ")
           << getOutput().getType() << " in " << getBuffer().getType();
  return success();
}

} // namespace smelt
