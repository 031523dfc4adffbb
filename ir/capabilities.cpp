#include "ir/capabilities.h"

#include "ir/element_bytes.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace smelt {

namespace {

/// A bound on the walk behind each op: weights are cast, scaled, transposed and joined, in far
/// fewer ops; what is computed from constants at greater length is computed by kernels.
constexpr size_t kMostWeightOps = 128;

/// A kernel that joins more tensors spends its time on comparing positions.
constexpr size_t kMostJoined = 16;

} // namespace

bool isLiteral(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return dense && (dense.isSplat() || dense.getNumElements() == 1);
}

/// The op's attributes name a size: it is evaluated for each shape.
static bool dependsOnSizes(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  return isa<DimsOp, IotaOp>(op) ||
         (slice && llvm::any_of(slice.getStarts().getAsRange<DimAttr>(),
                                [](DimAttr start) { return !Dim(start).asConstant(); }));
}

bool isWeightExpression(Value value) {
  SmallVector<Value> pending{value};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || op->getNumResults() != 1 || isa<FusionOp>(op) || dependsOnSizes(op) ||
        !tensorType(op->getResult(0)).isStatic() || seen.size() > kMostWeightOps)
      return false;
    if (seen.insert(op).second)
      pending.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

bool isConcatenationOfMany(Operation *op) {
  auto concat = dyn_cast<ConcatOp>(op);
  return concat && concat.getInputs().size() > kMostJoined;
}

/// A 0 everywhere, of floats the positive one.
static bool isZero(Value value) {
  while (auto expand = value.getDefiningOp<ExpandOp>())
    value = expand.getInput();
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!dense || !dense.isSplat())
    return false;
  return isa<FloatType>(dense.getElementType()) ? dense.getSplatValue<APFloat>().isPosZero()
                                                : dense.getSplatValue<APInt>().isZero();
}

std::optional<unsigned> operandPaddedByZeros(ConcatOp concat) {
  std::optional<unsigned> padded;
  for (auto [number, input] : llvm::enumerate(concat.getInputs())) {
    if (isZero(input))
      continue;
    if (padded)
      return std::nullopt;
    padded = number;
  }
  return padded;
}

bool isPointwise(Operation *op) {
  if (isConcatenationOfMany(op))
    return false;
  return op->hasTrait<Elementwise>() || op->hasTrait<View>() ||
         isa<ConcatOp, GatherOp, GatherElementsOp, GatherNdOp, IotaOp, DimsOp>(op);
}

std::optional<unsigned> innermostAxis(TensorType type) {
  for (unsigned axis = type.getRank(); axis-- > 0;)
    if (!type.getDim(axis).isConstant(1))
      return axis;
  return std::nullopt;
}

bool haveSameColumns(Value value, Value other) {
  TensorType first = tensorType(value), second = tensorType(other);
  std::optional<unsigned> axis = innermostAxis(first), otherAxis = innermostAxis(second);
  return axis && otherAxis && first.getDim(*axis) == second.getDim(*otherAxis);
}

bool isRowStatistic(Operation *op) {
  return isa_and_nonnull<MomentsMeanOp, MomentsRstdOp, MomentsRrmsOp>(op);
}

Value countedTest(ReduceOp op) {
  Type element = elementType(op.getOutput());
  auto cast = op.getInput().getDefiningOp<CastOp>();
  bool isCount = op.getKind() == ReductionKind::sum &&
                 (element.isSignlessInteger(32) || element.isSignlessInteger(64)) &&
                 tensorType(op.getOutput()).getNumElements().isConstant(1) && cast &&
                 elementType(cast.getInput()).isInteger(1);
  return isCount ? cast.getInput() : Value();
}

Value countedResult(ReduceOp total) {
  Value value = total.getInput();
  auto isStored = [](Operation *user) { return isa<YieldOp>(user); };
  while (!llvm::any_of(value.getUsers(), isStored)) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumOperands() != 1 || !(op->hasTrait<Elementwise>() || isa<ReshapeOp>(op)))
      return {};
    value = op->getOperand(0);
  }
  return value;
}

bool hasGemmTemplate(MatmulOp matmul) {
  Type element = tensorType(matmul.getLhs()).getElementType();
  return element.isF16() || element.isBF16() || element.isF32() || element.isInteger(8) ||
         isFloat8Operand(element);
}

bool canShareRows(MatmulOp first, MatmulOp second) {
  TensorType weight = tensorType(first.getRhs());
  std::optional<int64_t> columns;
  if (weight.getRank() == 2)
    columns = weight.getDim(1).asConstant();
  return columns && *columns > 0 && *columns % kInterleavedColumns == 0 && first != second &&
         isa<FloatType>(weight.getElementType()) && elementBytes(weight.getElementType()) > 1 &&
         first.getLhs() == second.getLhs() &&
         first.getRhs().getType() == second.getRhs().getType() &&
         first.getOutput().getType() == second.getOutput().getType();
}

bool hasAttentionTemplate(Value query, Value value) {
  Type element = tensorType(query).getElementType();
  auto fits = [](Value operand) {
    auto size = tensorType(operand).getDim(tensorType(operand).getRank() - 1).asConstant();
    return size && *size > 0 && *size <= kMostHeadSize;
  };
  return (element.isF16() || element.isBF16() || element.isF32()) && fits(query) && fits(value);
}

bool hasRegularRows(Dim offset, Dim row, Dim element, RowDistance distance) {
  auto step = [&](Dim coordinate) { return linearFactor(offset, *coordinate.asSymbol()); };
  bool areNeighbours =
      element.asConstant() || step(element) == Dim::constant(offset.getContext(), 1);
  return areNeighbours && (distance == RowDistance::any || row.asConstant() || step(row));
}

} // namespace smelt
