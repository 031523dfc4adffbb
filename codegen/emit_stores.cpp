// Stores of the fusion's results, and of the moments of their rows.
#include "codegen/emit_expression.h"

using namespace mlir;

namespace smelt::codegen {

void ExpressionEmitter::store(unsigned output, ArrayRef<Dim> index, const Operand &operand) {
  TensorType type = tensorType(fusion.getOutputs()[output]);
  SmallVector<Dim> shape = place ? place->shape : type.getShape();
  Dim offset = space.collapse(linearize(index, shape, fusion.getContext()));
  std::string pointer = outputName(output);
  bool isVector = laneStride(offset, lanes) == 1 &&
                  knownDivisor(offset, lanes) % lanes.width == 0 &&
                  (!place || knownDivisor(place->first, Lanes()) % lanes.width == 0);
  if (isVector) {
    std::string array = "r" + std::to_string(outputCounter++);
    chunk().loads.push_back(computeType(type.getElementType()).str() + " " + array + "[W];\n");
    chunk().lanes.push_back(array + "[i] = " + operand.text + ";\n");
    std::string address = pointer + " + " + dims.print(offset);
    chunk().stores.push_back("store<W>(" + address + ", " + array + ");\n");
    chunk().vectors.push_back({address, array, type.getElementType()});
    return;
  }
  irregularAccesses += lanes.width > 1;
  std::string value =
      "convert<" + storageType(type.getElementType()).str() + ">(" + operand.text + ")";
  if (lanes.symbols.empty() && operand.scope != Scope::lane)
    chunk().stores.push_back(pointer + "[" + dims.print(offset) + "] = " + value + ";\n");
  else
    chunk().lanes.push_back(pointer + "[" + dims.printAtLane(offset, lanes.symbols) +
                            "] = " + value + ";\n");
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
