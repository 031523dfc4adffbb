#include "codegen/kernels/gemm/gemm_product.h"

#include "codegen/cuda_text.h"
#include "ir/capabilities.h"
#include "ir/view_index.h"

using namespace mlir;

namespace smelt::codegen {

GemmProduct::GemmProduct(FusionOp fusion, ArrayRef<MatmulOp> matmuls)
    : fusion(fusion), matmuls(matmuls), lhs(tensorType(MatmulOp(matmuls.front()).getLhs())),
      rhs(tensorType(MatmulOp(matmuls.front()).getRhs())),
      output(tensorType(MatmulOp(matmuls.front()).getOutput())) {
  MLIRContext *context = fusion.getContext();
  depth = lhs.getDim(lhs.getRank() - 1);
  Dim width = output.getDim(output.getRank() - 1);
  int64_t count = matmuls.size();
  columns = width * count;
  addRows();
  k = space.add("k", depth);
  n = results.add("n", width);
  auto size = [&](int64_t value) { return Dim::constant(context, value); };
  if (count == 1)
    columnIndex = {space.add("n", columns)};
  else
    columnIndex = space.addFlat(
        context, "n",
        {width.floorDiv(size(kInterleavedColumns)), size(count), size(kInterleavedColumns)});
}

void GemmProduct::addRows() {
  MLIRContext *context = fusion.getContext();
  SmallVector<Dim> shape = output.getShape();
  ArrayRef<Dim> outer = ArrayRef(shape).drop_back();
  bool shared = llvm::all_of(ArrayRef(rhs.getShape()).drop_back(2),
                             [](Dim dim) { return dim.isConstant(1); });
  for (IterationSpace *one : {&space, &results}) {
    if (shared) {
      rowIndex = one->addFlat(context, "m", outer);
      continue;
    }
    rowIndex = one->addFlat(context, "batch", outer.drop_back());
    rowIndex.push_back(one->add("m", outer.back()));
  }
  rows = shared ? product(outer, context) : outer.back();
  batches = shared ? Dim::constant(context, 1) : product(outer.drop_back(), context);
}

/// The leading part of an operand's position: of the axes before its matrix.
Index GemmProduct::batchOf(TensorType operand) const {
  return broadcastIndex(ArrayRef(rowIndex).drop_back(),
                        operand.withShape(ArrayRef(operand.getShape()).drop_back(2)));
}

/// Elements that one aligned load may take along `coordinate`.
int GemmProduct::loadWidth(const OperandAddress &address, StringRef coordinate, Dim extent) const {
  Dim offset = address.offset;
  if (extent.isConstant(1))
    return 1;
  int64_t widest = 16 / elementBytes(lhs.getElementType());
  for (int64_t width = widest; width > 1; width /= 2) {
    Lanes lanes;
    lanes.symbols.insert(coordinate);
    lanes.width = width;
    bool existsAsOne = llvm::all_of(address.guards, [&](const InputElement::Guard &guard) {
      return laneStride(guard.position, lanes) == 0;
    });
    if (existsAsOne && laneStride(offset, lanes) == 1 && knownDivisor(offset, lanes) % width == 0 &&
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

/// What the kernel asks about the address of an element at (`outer`, %k).
FailureOr<OperandAddress> GemmProduct::describe(const InputElement &element, StringRef outer) {
  OperandAddress found;
  found.input = element.input.getArgNumber();
  found.offset = space.collapse(
      linearize(element.index, tensorType(element.input).getShape(), fusion.getContext()));
  for (const InputElement::Guard &guard : element.guards)
    found.guards.push_back({space.collapse(guard.position), guard.size});
  found.alongK = loadWidth(found, "%k", depth);
  found.alongN = loadWidth(found, "%n", columns);
  // What is loaded as vectors may lie in pieces (the patches of an image): each is asked for.
  auto isContiguous = [&](StringRef coordinate, int width) {
    std::optional<Dim> factor = linearFactor(found.offset, coordinate);
    return width > 1 || (factor && factor->isConstant(1));
  };
  found.isContiguousAlongK = isContiguous("%k", found.alongK);
  found.isContiguousAlongN = isContiguous("%n", found.alongN);
  found.isLinear = found.guards.empty() && isLinear(found.offset, "%k", outer);
  return found;
}

bool GemmProduct::storesMoments() const {
  return llvm::any_of(FusionOp(fusion).getYield()->getOperands(),
                      [](Value value) { return value.getDefiningOp<RowMomentsOp>() != nullptr; });
}

SmallVector<unsigned> GemmProduct::totals() const {
  SmallVector<unsigned> found;
  for (auto [number, value] : llvm::enumerate(FusionOp(fusion).getYield()->getOperands()))
    if (value.getDefiningOp<ReduceOp>())
      found.push_back(number);
  return found;
}

std::optional<MatrixLayout> GemmProduct::matrix(const OperandAddress &operand, StringRef row,
                                                Dim rows, StringRef column, Dim columns) const {
  int64_t unit = 16 / elementBytes(lhs.getElementType());
  MLIRContext *context = lhs.getContext();
  Dim offset = space.collapse(operand.offset);
  std::optional<Dim> alongRow = linearFactor(offset, column), distance = linearFactor(offset, row);
  // Half a panel of that template's columns is less than a group of moments.
  bool storesPair = products() > 1 && storesMoments();
  if (storesPair || !operand.isLinear || !batches.isConstant(1) || !alongRow ||
      !alongRow->isConstant(1) || !distance)
    return std::nullopt;
  Dim first = offset - Dim::symbol(context, column) - Dim::symbol(context, row) * *distance;
  if (rows.isConstant(1))
    distance = columns; // to no other row: any will do
  if (distance->isConstant(0) || !distance->isKnownNonNegative())
    return std::nullopt;
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
  FailureOr<InputElement> element = space.throughPaddedViews(matmuls.front().getLhs(), index);
  if (failed(element))
    return failure();
  return describe(*element, "%m");
}

FailureOr<OperandAddress> GemmProduct::right() {
  Index index(batchOf(rhs));
  bool isPair = matmuls.size() > 1;
  index.append(
      {k, isPair ? columnIndex[0] * kInterleavedColumns + columnIndex[2] : columnIndex[0]});
  FailureOr<InputElement> element = space.throughViews(matmuls.front().getRhs(), index);
  if (failed(element))
    return failure();
  if (isPair) { // the other's element lies a constant distance away
    FailureOr<InputElement> other = space.throughViews(matmuls.back().getRhs(), index);
    if (failed(other))
      return failure();
    for (auto [position, second] : llvm::zip(element->index, other->index))
      position = position + columnIndex[1] * (second - position);
  }
  return describe(*element, "%n");
}

} // namespace smelt::codegen
