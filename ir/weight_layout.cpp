#include "ir/weight_layout.h"

#include "ir/capabilities.h"
#include "ir/element_bytes.h"

using namespace mlir;

namespace smelt {

namespace {

/// Of the copies that fill shared memory.
constexpr int64_t kVectorBytes = 16;
/// The least that they copy without passing through registers.
constexpr int64_t kWordBytes = 4;
/// Of 16-bit weights that are turned round though they need not be.
constexpr int64_t kMostTurnedElements = int64_t{8} << 20;

/// Where element (%k, %n) of a matrix lies in the tensor that its views lead to, in elements.
Dim offsetOf(Value matrix) {
  MLIRContext *context = matrix.getContext();
  TensorType type = tensorType(matrix);
  Bounds bounds{{"%k", type.getDim(0)}, {"%n", type.getDim(1)}};
  Index index{Dim::symbol(context, "%k"), Dim::symbol(context, "%n")};
  for (Operation *op = matrix.getDefiningOp(); op && op->hasTrait<View>();
       op = matrix.getDefiningOp()) {
    index = operandIndex(op, index, bounds);
    matrix = op->getOperand(0);
  }
  return linearize(index, tensorType(matrix).getShape(), context);
}

/// Runs of `unit` neighbours along `inner`, of which there are `extent`, begin at multiples of
/// `unit` whatever `outer` is.
bool hasVectors(Dim offset, StringRef inner, int64_t extent, StringRef outer, int64_t unit) {
  std::optional<Dim> along = linearFactor(offset, inner), across = linearFactor(offset, outer);
  if (!along || !along->isConstant(1) || !across || extent % unit != 0)
    return false;
  MLIRContext *context = offset.getContext();
  Dim first = offset - Dim::symbol(context, inner) - Dim::symbol(context, outer) * *across;
  auto isMultiple = [&](Dim dim) {
    std::optional<int64_t> value = dim.asConstant();
    return value && *value % unit == 0;
  };
  return isMultiple(*across) && isMultiple(first);
}

} // namespace

/// Tiles take such weights in faster along K.
static bool isFasterTurned(TensorType weight, int64_t products, bool isRefit) {
  return !isRefit && weight.getElementType().getIntOrFloatBitWidth() == 16 &&
         *weight.getNumElements().asConstant() * products <= kMostTurnedElements;
}

WeightLayout gemmWeightLayout(ArrayRef<MatmulOp> products, bool isRefit) {
  Value weight = MatmulOp(products.front()).getRhs();
  TensorType type = tensorType(weight);
  if (products.size() == 2) {
    constexpr int64_t kHalves = kVectorBytes / 2; // of a vector: no others are turned round
    bool takesVectors = *type.getDim(0).asConstant() % kHalves == 0;
    return takesVectors && isFasterTurned(type, 2, isRefit) ? WeightLayout::interleavedKMajor
                                                            : WeightLayout::interleaved;
  }
  if (!isWeightExpression(weight) || isLiteral(weight) || type.getRank() != 2)
    return WeightLayout::asGiven;
  int64_t depth = *type.getDim(0).asConstant(), columns = *type.getDim(1).asConstant();
  int64_t unit = kVectorBytes * 8 / type.getElementType().getIntOrFloatBitWidth();
  Dim offset = offsetOf(weight);
  if (elementBytes(type.getElementType()) == 1) {
    std::optional<Dim> alongK = linearFactor(offset, "%k");
    bool isKMajor = columns == 1 || (alongK && alongK->isConstant(1));
    return isKMajor || depth % kWordBytes != 0 ? WeightLayout::asGiven : WeightLayout::kMajor;
  }
  if (columns == 1 || depth % unit != 0 || hasVectors(offset, "%k", depth, "%n", unit))
    return WeightLayout::asGiven;
  return isFasterTurned(type, 1, isRefit) || !hasVectors(offset, "%n", columns, "%k", unit)
             ? WeightLayout::kMajor
             : WeightLayout::asGiven;
}

} // namespace smelt
