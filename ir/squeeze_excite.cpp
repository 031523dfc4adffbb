#include "ir/squeeze_excite.h"

#include "ir/capabilities.h"

using namespace mlir;

namespace smelt {

namespace {

bool isFloat(TensorType type) {
  return isa<Float16Type, BFloat16Type, Float32Type>(type.getElementType());
}

/// One row an image: [b, 1, ..., n].
bool isRowOfImage(Value value, Dim images) {
  SmallVector<Dim> shape = tensorType(value).getShape();
  return shape.size() >= 2 && shape.front() == images && isFloat(tensorType(value)) &&
         llvm::all_of(ArrayRef(shape).drop_front().drop_back(),
                      [](Dim dim) { return dim.isConstant(1); });
}

/// What is there before any kernel runs, or an input that a fusion reads.
bool isGiven(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isLiteral(value) || isWeightExpression(value))
      return true;
    if (!op->hasTrait<View>())
      return false;
    value = op->getOperand(0);
  }
  return isa<FusionOp>(value.getParentBlock()->getParentOp());
}

/// What may lie between a row and the next product.
enum class Between { conversions, elementwise };

/// The only reader of `row`, if it computes another row of it alone.
Operation *nextOfRow(Value row, Dim images, Between between) {
  if (!row.hasOneUse())
    return nullptr;
  Operation *op = *row.user_begin();
  if (!isa<ReshapeOp, CastOp>(op) &&
      (between == Between::conversions || !op->hasTrait<Elementwise>()))
    return nullptr;
  bool isAlone = llvm::all_of(op->getOperands(),
                              [&](Value operand) { return operand == row || isGiven(operand); });
  return isAlone && isRowOfImage(op->getResult(0), images) &&
                 tensorType(op->getResult(0)).getNumElements() == tensorType(row).getNumElements()
             ? op
             : nullptr;
}

/// The end of the chain of such readers.
Value endOfRow(Value row, Dim images, Between between = Between::elementwise) {
  while (Operation *op = nextOfRow(row, images, between))
    row = op->getResult(0);
  return row;
}

/// The product of `row`, which has no other reader, and a matrix of weights in memory.
MatmulOp productOf(Value row) {
  if (!row.hasOneUse())
    return nullptr;
  auto matmul = dyn_cast<MatmulOp>(*row.user_begin());
  if (!matmul || matmul.getLhs() != row)
    return nullptr;
  TensorType weight = tensorType(matmul.getRhs());
  bool isMatrix = weight.getRank() == 2 && weight.getDim(0).asConstant() &&
                  weight.getDim(1).asConstant() && isFloat(weight);
  return isMatrix && isGiven(matmul.getRhs()) && !isLiteral(matmul.getRhs()) &&
                 isFloat(tensorType(matmul.getOutput()))
             ? matmul
             : nullptr;
}

/// A mean or sum of all pixels of images whose channels lie last.
bool isSqueeze(ReduceOp reduction) {
  TensorType type = tensorType(reduction.getInput());
  if (type.getRank() < 3 || !isFloat(type) ||
      (reduction.getKind() != ReductionKind::mean && reduction.getKind() != ReductionKind::sum) ||
      reduction.getAxes().size() != size_t(type.getRank() - 2))
    return false;
  std::optional<int64_t> channels = type.getDim(type.getRank() - 1).asConstant();
  return channels && *channels <= SqueezeExcite::kMostChannels &&
         llvm::all_of(reduction.getAxes(),
                      [&](int64_t axis) { return axis > 0 && axis < type.getRank() - 1; });
}

/// What scales `image` by `gate`, if nothing else reads the gate; else the gate.
Value scaledBy(Value gate, Value image) {
  auto mul = gate.hasOneUse() ? dyn_cast<MulOp>(*gate.user_begin()) : MulOp();
  if (!mul || tensorType(mul.getOutput()) != tensorType(image))
    return gate;
  return mul.getLhs() == image || mul.getRhs() == image ? mul.getOutput() : gate;
}

} // namespace

std::optional<SqueezeExcite> SqueezeExcite::match(ReduceOp reduction) {
  if (!isSqueeze(reduction))
    return std::nullopt;
  TensorType image = tensorType(reduction.getInput());
  Dim images = image.getDim(0), depth = image.getDim(image.getRank() - 1);
  // Parts of the mean are multiplied before anyone knows the whole.
  MatmulOp squeeze = productOf(endOfRow(reduction.getOutput(), images, Between::conversions));
  if (!squeeze || tensorType(squeeze.getRhs()).getDim(0) != depth ||
      !isRowOfImage(squeeze.getOutput(), images))
    return std::nullopt;
  MatmulOp excite = productOf(endOfRow(squeeze.getOutput(), images));
  if (!excite || tensorType(excite.getRhs()).getDim(1) != depth ||
      !isRowOfImage(excite.getOutput(), images))
    return std::nullopt;
  TensorType weight = tensorType(excite.getRhs());
  int64_t bytes =
      *weight.getNumElements().asConstant() * (weight.getElementType().getIntOrFloatBitWidth() / 8);
  if (bytes > kMostWeightBytes || *weight.getDim(0).asConstant() > kMostHidden ||
      tensorType(squeeze.getRhs()).getElementType() != weight.getElementType())
    return std::nullopt;
  Value gate = endOfRow(excite.getOutput(), images);
  return SqueezeExcite{reduction, squeeze, excite, gate, scaledBy(gate, reduction.getInput())};
}

SmallVector<Operation *> SqueezeExcite::ops() const {
  SmallVector<Operation *> chain{reduction};
  while (chain.back()->getResult(0) != result)
    chain.push_back(*chain.back()->user_begin());
  return chain;
}

int64_t SqueezeExcite::channels() const {
  return *tensorType(excite->getOperand(1)).getDim(1).asConstant();
}

int64_t SqueezeExcite::hiddenValues() const {
  return *tensorType(excite->getOperand(1)).getDim(0).asConstant();
}

} // namespace smelt
