#include "codegen/kernels/gemm/gemm_product.h"

#include "codegen/cuda_text.h"
#include "ir/view_index.h"

using namespace mlir;

namespace smelt::codegen {

GemmProduct::GemmProduct(FusionOp fusion, MatmulOp matmul)
    : fusion(fusion), matmul(matmul), lhs(tensorType(matmul.getLhs())),
      rhs(tensorType(matmul.getRhs())), output(tensorType(matmul.getOutput())) {
  MLIRContext *context = fusion.getContext();
  SmallVector<Dim> shape = output.getShape();
  depth = lhs.getDim(lhs.getRank() - 1);
  columns = shape.back();
  ArrayRef<Dim> outer(shape);
  outer = outer.drop_back();
  bool shared = llvm::all_of(ArrayRef(rhs.getShape()).drop_back(2),
                             [](Dim dim) { return dim.isConstant(1); });
  if (shared) {
    rowIndex = space.addFlat(context, "m", outer);
    rows = product(outer, context);
    batches = Dim::constant(context, 1);
  } else {
    rowIndex = space.addFlat(context, "batch", outer.drop_back());
    rowIndex.push_back(space.add("m", outer.back()));
    rows = outer.back();
    batches = product(outer.drop_back(), context);
  }
  k = space.add("k", depth);
  n = space.add("n", columns);
}

/// The leading part of an operand's position: of the axes before its matrix.
Index GemmProduct::batchOf(TensorType operand) const {
  return broadcastIndex(ArrayRef(rowIndex).drop_back(),
                        operand.withShape(ArrayRef(operand.getShape()).drop_back(2)));
}

/// Elements that one aligned load may take along `coordinate`.
int GemmProduct::loadWidth(Dim offset, Dim coordinate, Dim extent) const {
  if (coordinate.asConstant())
    return 1;
  int64_t widest = 16 / storageBytes(lhs.getElementType());
  for (int64_t width = widest; width > 1; width /= 2) {
    Lanes lanes;
    lanes.symbols.insert(*coordinate.asSymbol());
    lanes.width = width;
    if (laneStride(offset, lanes) == 1 && knownDivisor(offset, lanes) % width == 0 &&
        knownDivisor(extent, Lanes()) % width == 0)
      return width;
  }
  return 1;
}

/// `offset` moves by constant distances with `row` and with `column`; batches do not matter.
bool GemmProduct::isLinear(Dim offset, StringRef row, StringRef column) const {
  offset = space.collapse(offset);
  for (StringRef coordinate : {row, column}) {
    std::optional<Dim> factor = linearFactor(offset, coordinate);
    if (!factor || dependsOn(*factor, row) || dependsOn(*factor, column))
      return false;
  }
  auto parts = space.definitions([&](StringRef symbol) { return dependsOn(offset, symbol); });
  return llvm::none_of(parts, [&](const IterationSpace::Definition &part) {
    return dependsOn(part.value, row) || dependsOn(part.value, column);
  });
}

FailureOr<OperandAddress> GemmProduct::address(Value operand, Index index, StringRef outer) {
  FailureOr<InputElement> source = space.throughViews(operand, index);
  if (failed(source))
    return failure();
  auto [input, position] = *source;
  OperandAddress found;
  found.input = input.getArgNumber();
  found.offset = linearize(position, tensorType(input).getShape(), fusion.getContext());
  found.alongK = loadWidth(found.offset, k, depth);
  found.alongN = loadWidth(found.offset, n, columns);
  auto isContiguous = [&](StringRef coordinate) {
    std::optional<Dim> factor = linearFactor(space.collapse(found.offset), coordinate);
    return factor && factor->isConstant(1);
  };
  found.isContiguousAlongK = isContiguous("%k");
  found.isContiguousAlongN = isContiguous("%n");
  found.isLinear = isLinear(found.offset, "%k", outer);
  return found;
}

bool GemmProduct::storesMoments() const {
  return llvm::any_of(FusionOp(fusion).getYield()->getOperands(),
                      [](Value value) { return value.getDefiningOp<RowMomentsOp>() != nullptr; });
}

std::optional<MatrixLayout> GemmProduct::matrix(const OperandAddress &operand, StringRef row,
                                                Dim rows, StringRef column, Dim columns) const {
  int64_t unit = 16 / storageBytes(lhs.getElementType());
  MLIRContext *context = lhs.getContext();
  Dim offset = space.collapse(operand.offset);
  std::optional<Dim> alongRow = linearFactor(offset, column), distance = linearFactor(offset, row);
  if (!operand.isLinear || !batches.isConstant(1) || !alongRow || !alongRow->isConstant(1) ||
      !distance || distance->isConstant(0) || !distance->isKnownNonNegative())
    return std::nullopt;
  Dim first = offset - Dim::symbol(context, column) - Dim::symbol(context, row) * *distance;
  bool isKnown = true; // by sizes alone
  first.forEachSymbol([&](StringRef symbol) { isKnown &= !symbol.starts_with("%"); });
  if (!isKnown || knownDivisor(*distance, Lanes()) % unit != 0 ||
      knownDivisor(first, Lanes()) % unit != 0)
    return std::nullopt;
  return MatrixLayout{first, *distance, rows, columns};
}

std::optional<MatrixLayout> GemmProduct::leftMatrix(const OperandAddress &left) const {
  return matrix(left, "%m", rows, "%k", depth);
}

std::optional<MatrixLayout> GemmProduct::rightMatrix(const OperandAddress &right) const {
  return right.isTransposed() ? matrix(right, "%n", columns, "%k", depth)
                              : matrix(right, "%k", depth, "%n", columns);
}

FailureOr<OperandAddress> GemmProduct::left() {
  Index index(batchOf(lhs));
  index.append({rowIndex.back(), k});
  return address(matmul.getLhs(), index, "%m");
}

FailureOr<OperandAddress> GemmProduct::right() {
  Index index(batchOf(rhs));
  index.append({k, n});
  return address(matmul.getRhs(), index, "%n");
}

} // namespace smelt::codegen
