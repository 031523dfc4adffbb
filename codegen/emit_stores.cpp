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
    Type element = type.getElementType();
    storeLanes({output, pointer + " + " + dims.print(offset), operand.text, element},
               computeType(element), operand.text, "store<W>");
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
  std::string value = isHalfWidth(element)
                          ? "rounded<" + storageType(element).str() + ">(" + operand.text + ")"
                          : operand.text;
  std::string address = outputName(output) + " + " + dims.print(offset);
  storeLanes({output, address, operand.text, element, /*isMoments=*/true}, "float", value,
             "storeMoments<W>");
}

void ExpressionEmitter::storeLanes(VectorStore vector, StringRef type, StringRef value,
                                   StringRef call) {
  vector.array = "r" + std::to_string(outputCounter++);
  vector.declaration = type.str() + " " + vector.array + "[W];\n";
  vector.assignment = vector.array + "[i] = " + value.str() + ";\n";
  chunk().loads.push_back(vector.declaration);
  chunk().lanes.push_back(vector.assignment);
  chunk().stores.push_back(call.str() + "(" + vector.address + ", " + vector.array + ");\n");
  chunk().vectors.push_back(std::move(vector));
}

} // namespace smelt::codegen
