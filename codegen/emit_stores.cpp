// Stores of the fusion's results, and of the moments of their rows.
#include "codegen/emit_expression.h"
#include "codegen/scalar_ops.h"

using namespace mlir;

namespace smelt::codegen {

std::string VectorStore::packed() const {
  std::string function = isRounded ? "packRounded" : element.isInteger(8) ? "packBytes" : "pack";
  return function + "<" + storageType(element).str() + ", W>(" + array + ")";
}

/// Of an element of the result `output` in memory.
Dim ExpressionEmitter::offsetOf(unsigned output, ArrayRef<Dim> index) {
  SmallVector<Dim> shape =
      place ? place->shape : tensorType(fusion.getOutputs()[output]).getShape();
  return space.collapse(linearize(index, shape, fusion.getContext()));
}

/// Whether the lanes' elements from `offset` on are stored as one vector.
bool ExpressionEmitter::isVector(Dim offset) const {
  return laneStride(offset, lanes) == 1 && knownDivisor(offset, lanes) % lanes.width == 0 &&
         (!place || knownDivisor(place->first, Lanes()) % lanes.width == 0);
}

void ExpressionEmitter::storeVector(unsigned output, Dim offset, const Operand &operand,
                                    bool isRounded) {
  Type element = elementOf(fusion.getOutputs()[output]);
  std::string array = "r" + std::to_string(outputCounter++),
              type = isRounded ? "float" : computeType(element).str(),
              address = outputName(output) + " + " + dims.print(offset);
  chunk().loads.push_back(type + " " + array + "[W];\n");
  chunk().lanes.push_back(array + "[i] = " + operand.text + ";\n");
  chunk().stores.push_back((isRounded ? "storeRounded<W>(" : "store<W>(") + address + ", " + array +
                           ");\n");
  chunk().vectors.push_back({address, array, element, isRounded});
}

void ExpressionEmitter::store(unsigned output, ArrayRef<Dim> index, const Operand &operand) {
  Type element = elementOf(fusion.getOutputs()[output]);
  Dim offset = offsetOf(output, index);
  if (isVector(offset))
    return storeVector(output, offset, operand, /*isRounded=*/false);
  std::string pointer = outputName(output);
  irregularAccesses += lanes.width > 1;
  std::string value = "convert<" + storageType(element).str() + ">(" + operand.text + ")";
  if (lanes.symbols.empty() && operand.scope != Scope::lane)
    chunk().stores.push_back(pointer + "[" + dims.print(offset) + "] = " + value + ";\n");
  else
    chunk().lanes.push_back(pointer + "[" + dims.printAtLane(offset, lanes.symbols) +
                            "] = " + value + ";\n");
}

LogicalResult ExpressionEmitter::emitAndStore(unsigned output, Value value, ArrayRef<Dim> index,
                                              ArrayRef<Dim> at) {
  Dim offset = offsetOf(output, at);
  Operation *op = value.getDefiningOp();
  std::optional<Value> rounded;
  if (op && lanes.width % 2 == 0 && isVector(offset))
    rounded = saturatedInput(op);
  FailureOr<Operand> operand = emit(rounded.value_or(value), index);
  if (failed(operand))
    return failure();
  if (rounded)
    storeVector(output, offset, *operand, /*isRounded=*/true);
  else
    store(output, at, *operand);
  return success();
}

void ExpressionEmitter::storeMoments(unsigned output, ArrayRef<Dim> index, const Operand &operand,
                                     Type element) {
  TensorType type = tensorType(fusion.getOutputs()[output]);
  Dim groups = type.getDim(type.getRank() - 2), perGroup = type.getDim(type.getRank() - 1);
  SmallVector<Dim> shape = type.getShape();
  Dim row = linearize(index.drop_back(), ArrayRef(shape).drop_back(2), fusion.getContext());
  Dim group =
      index.back().floorDiv(Dim::constant(fusion.getContext(), RowMomentsOp::kGroup), bounds);
  Dim offset = space.collapse(row) * groups * perGroup + group * perGroup;
  std::string array = "r" + std::to_string(outputCounter++);
  std::string value = isHalfWidth(element)
                          ? "rounded<" + storageType(element).str() + ">(" + operand.text + ")"
                          : operand.text;
  chunk().loads.push_back("float " + array + "[W];\n");
  chunk().lanes.push_back(array + "[i] = " + value + ";\n");
  chunk().stores.push_back("storeMoments<W, WholeWarps>(" + outputName(output) + " + " +
                           dims.print(offset) + ", " + array + ");\n");
}

} // namespace smelt::codegen
