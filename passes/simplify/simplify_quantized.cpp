// simplify-quantized: products of dequantised bytes become products of the bytes.
//
// Quantised models say what they mean in floats: DequantizeLinear before each product, QuantizeLinear
// behind it. As written that is a product of floats; what they mean is one of bytes, on tensor cores
// twice as fast as 16 bits, with a quarter of the traffic:
//
//   (sa (a - za)) (sb (b - zb))  =>  sa sb (a b - za colsum(b) - zb rowsum(a) + K za zb)
//
// The sums are exact, in int32; scales, biases and the next rounding follow in the product's epilogue.
// Colsums of weights are weights. The bytes are found through views (transposes, windows of an image
// and the zeros around it, which are zero points of the bytes).
//
// Pools of the largest do not convert bytes at all.
//
// A zero point costs sums, and padding that is not 0. Where it is the lowest byte, as behind a relu, or
// the middle of bytes without a sign, it is 0 in bytes of the other sign: they are stored so.
//
// What is quantised behind it is divided by a scale: of a sum of products the factors are divided
// instead, when compiling.
//
// Floats of 8 bits are bytes without a zero point, of products with weights: those of two activations are
// attention's, which has no template for them.
//
// Assumes scales and zero points that do not vary along K, and sums within 32 bits. Others stay floats.
#include "ir/capabilities.h"
#include "ir/element_bytes.h"
#include "ir/number_range.h"
#include "passes/constants.h"
#include "passes/dead_ops.h"
#include "passes/passes.h"
#include "passes/simplify/dequantized.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_SIMPLIFYQUANTIZED
#include "passes/passes.h.inc"

namespace {

/// Between a byte with a sign and the one without that has the same bits but for the first.
constexpr int64_t kSignShift = 128;
/// So many products of two centred bytes fit into 31 bits.
constexpr int64_t kMaxDepth = (int64_t{1} << 31) / (int64_t{255} * 255);

//===----------------------------------------------------------------------===//
// Bytes of the other sign
//===----------------------------------------------------------------------===//

/// What is added to bytes of `type` as they change the sign.
int64_t shiftOf(Type type) { return type.isUnsignedInteger() ? -kSignShift : kSignShift; }

Type otherSign(Type type) {
  return IntegerType::get(type.getContext(), 8,
                          type.isUnsignedInteger() ? IntegerType::Signless : IntegerType::Unsigned);
}

/// Bytes that a QuantizeLinear rounds: a number is clipped and rounded, and the zero point added.
struct RoundedBytes {
  CastOp cast;
  Value rounded;
  SmallVector<SubOp> readers; ///< subtract the zero point
};

/// The bytes, where every reader subtracts the zero point that changing their sign makes 0.
std::optional<RoundedBytes> findShiftable(CastOp cast) {
  Type type = elementType(cast.getOutput());
  auto zero = static_cast<double>(-shiftOf(type));
  auto add = cast.getInput().getDefiningOp<AddOp>();
  if (!type.isInteger(8) || !add || !add.getLhs().getDefiningOp<RoundOp>() ||
      !isSplat(add.getRhs(), zero) || add.getLhs().getType() != add.getOutput().getType())
    return std::nullopt;
  RoundedBytes found{cast, add.getLhs(), {}};
  for (Operation *reader : cast->getUsers()) {
    auto widened = dyn_cast<CastOp>(reader);
    if (!widened || !elementType(widened.getOutput()).isF32())
      return std::nullopt;
    for (Operation *user : widened->getUsers()) {
      auto sub = dyn_cast<SubOp>(user);
      if (!sub || sub.getLhs() != widened.getOutput() || !isSplat(sub.getRhs(), zero) ||
          sub.getOutput().getType() != widened.getOutput().getType())
        return std::nullopt;
      found.readers.push_back(sub);
    }
  }
  return found.readers.empty() ? std::nullopt : std::optional(found);
}

/// Without the zero point the numbers are bytes of the other sign.
void shift(RoundedBytes bytes) {
  OpBuilder builder(bytes.cast);
  Type type = otherSign(elementType(bytes.cast.getOutput()));
  Value shifted = CastOp::create(builder, bytes.cast.getLoc(), bytes.rounded, type);
  for (SubOp reader : bytes.readers) {
    builder.setInsertionPoint(reader);
    Value widened = CastOp::create(builder, reader.getLoc(), shifted, builder.getF32Type());
    reader.getOutput().replaceAllUsesWith(widened);
  }
}

/// The same for weights, which are shifted when compiling.
void shiftWeight(OpBuilder &builder, Dequantized &factor) {
  Type type = elementType(factor.bytes);
  if (!factor.zero || !isWeightExpression(factor.bytes) ||
      !isSplat(factor.zero, static_cast<double>(-shiftOf(type))))
    return;
  Location location = factor.bytes.getLoc();
  Value wide = CastOp::create(builder, location, factor.bytes, builder.getI32Type());
  wide = AddOp::create(builder, location, wide,
                       makeScalarInteger(builder, location, shiftOf(type), builder.getI32Type()));
  factor.bytes = CastOp::create(builder, location, wide, otherSign(type));
  factor.zero = {};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

class ByteProduct {
public:
  ByteProduct(MatmulOp matmul, OpBuilder &builder)
      : matmul(matmul), builder(builder), location(matmul.getLoc()), wide(builder.getI32Type()) {}

  /// The product of floats, computed from one of bytes; null where an operand has none.
  Value run() {
    Value output = matmul.getOutput();
    if (elementType(output).isF64() || !findOperands() || !areMultiplied())
      return {};
    Value product = MatmulOp::create(builder, location, lhs->bytes, rhs->bytes);
    if (!elementType(product).isF32())
      product = CastOp::create(builder, location, centre(product), builder.getF32Type());
    product = scale(product);
    return elementType(output).isF32()
               ? product
               : CastOp::create(builder, location, product, elementType(output));
  }

private:
  static constexpr unsigned kAlongRows = 0, kAlongColumns = 1; // axes from the last

  bool findOperands() {
    auto varies = [](const Dequantized &operand, unsigned axis) {
      return !isConstantAlong(operand.scale, axis) ||
             (operand.zero && !isConstantAlong(operand.zero, axis));
    };
    lhs = findDequantized(builder, matmul.getLhs());
    if (!lhs || varies(*lhs, kAlongRows))
      return false;
    rhs = findDequantized(builder, matmul.getRhs());
    if (!rhs || varies(*rhs, kAlongColumns))
      return false;
    shiftWeight(builder, *lhs);
    shiftWeight(builder, *rhs);
    return true;
  }

  /// Bytes of these two types, so many of them, by a template.
  bool areMultiplied() const {
    Type left = elementType(lhs->bytes), right = elementType(rhs->bytes);
    std::optional<int64_t> depth = shapeOf(lhs->bytes).back().asConstant();
    if (left.isInteger(8) && right.isInteger(8))
      return !depth || *depth <= kMaxDepth;
    return isFloat8Operand(left) && isFloat8Operand(right) &&
           (isWeightExpression(lhs->bytes) || isWeightExpression(rhs->bytes));
  }

  Value scale(Value product) {
    if (tensorType(lhs->scale).getNumElements().isConstant(1))
      return multiply(product, multiply(lhs->scale, rhs->scale));
    return multiply(multiply(product, lhs->scale), rhs->scale);
  }

  Value multiply(Value left, Value right) {
    std::optional<double> first = literalNumber(left), second = literalNumber(right);
    if (first && second && elementType(left).isF32())
      return makeScalar(builder, location, float(*first) * float(*second), elementType(left));
    return MulOp::create(builder, location, left, right);
  }

  Value inIntegers(Value zero) { return CastOp::create(builder, location, zero, wide); }

  /// `sums` less what the zero point of one operand makes of the sums of the other's bytes. One zero
  /// point is multiplied before they are summed up, by the kernel that reads them.
  Value correct(Value sums, const Dequantized &centred, const Dequantized &summed, int64_t axis) {
    if (!centred.zero)
      return sums;
    bool isOne = tensorType(centred.zero).getNumElements().isConstant(1);
    Value zero = inIntegers(centred.zero);
    Value total = CastOp::create(builder, location, summed.bytes, wide);
    if (isOne)
      total = multiply(total, zero);
    total = ReduceOp::create(builder, location, total, ReductionKind::sum, ArrayRef<int64_t>{axis});
    return SubOp::create(builder, location, sums, isOne ? total : multiply(zero, total));
  }

  Value centre(Value sums) {
    int64_t left = tensorType(lhs->bytes).getRank(), right = tensorType(rhs->bytes).getRank();
    sums = correct(sums, *lhs, *rhs, right - 2);
    sums = correct(sums, *rhs, *lhs, left - 1);
    if (!lhs->zero || !rhs->zero)
      return sums;
    Value both = multiply(inIntegers(lhs->zero), inIntegers(rhs->zero));
    return AddOp::create(builder, location, sums, multiply(both, depth()));
  }

  Value depth() {
    Dim size = shapeOf(lhs->bytes).back();
    if (std::optional<int64_t> known = size.asConstant())
      return makeScalarInteger(builder, location, *known, wide);
    return DimsOp::create(builder, location, TensorType::get({}, wide),
                          builder.getArrayAttr({size.getAttribute()}));
  }

  MatmulOp matmul;
  OpBuilder &builder;
  Location location;
  Type wide;
  std::optional<Dequantized> lhs, rhs;
};

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

/// How much of an axis of what a reduction reads it sees at once: of all of it, or of windows.
struct SeenAxis {
  bool isWhole;
  int64_t window;
};

/// What is seen of the operand of `view`, of whose result `axes` are.
void enterView(SmallVector<SeenAxis> &axes, Operation *view) {
  auto windows = dyn_cast<WindowsOp>(view);
  if (!windows) { // not followed
    axes.assign(tensorType(view->getOperand(0)).getRank(), {false, 0});
    return;
  }
  int64_t axis = windows.getAxis();
  std::optional<int64_t> taps = shapeOf(windows.getOutput())[axis + 1].asConstant();
  bool isSeen = axes[axis + 1].isWhole && windows.getDilation() == 1;
  axes[axis] = {false, isSeen ? taps.value_or(0) : 0};
  axes.erase(axes.begin() + axis + 1);
}

/// Nowhere does a reduction that sees so much of an axis see only what `concat` adds along it.
bool reachesInside(ConcatOp concat, SeenAxis seen) {
  return seen.isWhole || llvm::all_of(concat.getInputs(), [&](Value input) {
           std::optional<int64_t> length = shapeOf(input)[concat.getAxis()].asConstant();
           return !isSplat(input, -std::numeric_limits<double>::infinity()) ||
                  (length && *length < seen.window);
         });
}

/// No element of the result is the largest of nothing, nor of what surrounds a tensor alone: that is
/// -infinity, which is no byte.
bool alwaysSeesBytes(ReduceOp op) {
  SmallVector<Dim> shape = shapeOf(op.getInput());
  SmallVector<SeenAxis> axes(shape.size(), {false, 0});
  for (int64_t axis : op.getAxes()) {
    if (shape[axis].asConstant().value_or(0) == 0)
      return false;
    axes[axis].isWhole = true;
  }
  for (Value value = op.getInput(); Operation *view = value.getDefiningOp();) {
    auto concat = dyn_cast<ConcatOp>(view);
    std::optional<unsigned> inside =
        concat ? surroundedOperand(concat, Surrounding::lowest) : std::nullopt;
    if (!inside && !view->hasTrait<View>())
      break;
    if (concat && !reachesInside(concat, axes[concat.getAxis()]))
      return false;
    if (!concat)
      enterView(axes, view);
    value = view->getOperand(inside.value_or(0));
  }
  return true;
}

/// The largest of dequantised bytes is that of the bytes, dequantised: none of them is converted.
void reduceBytes(ReduceOp op) {
  OpBuilder builder(op);
  Location location = op.getLoc();
  if (op.getKind() != ReductionKind::max || !elementType(op.getOutput()).isF32() ||
      !alwaysSeesBytes(op))
    return;
  std::optional<Dequantized> input = findDequantized(builder, op.getInput(), Surrounding::lowest);
  std::optional<double> scale = input ? splatNumber(input->scale) : std::nullopt;
  if (!scale || !elementType(input->bytes).isInteger(8) || !(*scale > 0) ||
      (input->zero && !splatNumber(input->zero)))
    return;
  Value largest =
      ReduceOp::create(builder, location, input->bytes, ReductionKind::max, op.getAxes());
  largest = CastOp::create(builder, location, largest, builder.getF32Type());
  if (input->zero)
    largest = SubOp::create(builder, location, largest, input->zero);
  op.getOutput().replaceAllUsesWith(MulOp::create(builder, location, largest, input->scale));
}

//===----------------------------------------------------------------------===//
// Divisions by scales
//===----------------------------------------------------------------------===//

constexpr int kMostTerms = 8;

/// `value` is a sum of products with weights that nobody else reads.
bool isDivisible(Value value, int depth = 0) {
  if (isWeightExpression(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !op->hasOneUse() || depth == kMostTerms)
    return false;
  if (isa<MulOp>(op))
    return isWeightExpression(op->getOperand(0)) || isWeightExpression(op->getOperand(1));
  return isa<AddOp, SubOp, ReluOp>(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           return isDivisible(operand, depth + 1);
         });
}

/// The same with its factors divided by a positive number.
Value divide(OpBuilder &builder, Value value, Value divisor) {
  Operation *op = value.getDefiningOp();
  std::optional<double> known = literalNumber(value), by = literalNumber(divisor);
  if (known && by && elementType(value).isF32()) // or a factor 1 becomes the division that it was
    return makeScalar(builder, divisor.getLoc(), float(*known) / float(*by), elementType(value));
  if (isWeightExpression(value))
    return DivOp::create(builder, divisor.getLoc(), value, divisor);
  SmallVector<Value> operands(op->getOperands());
  if (isa<MulOp>(op)) {
    Value &factor = operands[isWeightExpression(operands[0]) ? 0 : 1];
    factor = divide(builder, factor, divisor);
  } else {
    for (Value &operand : operands)
      operand = divide(builder, operand, divisor);
  }
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  return clone->getResult(0);
}

void divideFactors(DivOp division) {
  std::optional<double> divisor = literalNumber(division.getRhs());
  if (!divisor || !(*divisor > 0) || !isOnlyRounded(division.getOutput()) ||
      isWeightExpression(division.getLhs()) || !isDivisible(division.getLhs()) ||
      division.getLhs().getType() != division.getOutput().getType())
    return;
  OpBuilder builder(division);
  division.getOutput().replaceAllUsesWith(divide(builder, division.getLhs(), division.getRhs()));
}

struct SimplifyQuantized : impl::SimplifyQuantizedBase<SimplifyQuantized> {
  void runOnOperation() override {
    SmallVector<CastOp> casts;
    getOperation().walk([&](CastOp op) { casts.push_back(op); });
    for (CastOp cast : casts)
      if (std::optional<RoundedBytes> bytes = findShiftable(cast))
        shift(*bytes);
    SmallVector<MatmulOp> matmuls;
    getOperation().walk([&](MatmulOp op) { matmuls.push_back(op); });
    for (MatmulOp matmul : matmuls) {
      OpBuilder builder(matmul);
      if (Value product = ByteProduct(matmul, builder).run())
        matmul.getOutput().replaceAllUsesWith(product);
    }
    SmallVector<ReduceOp> reductions;
    getOperation().walk([&](ReduceOp op) { reductions.push_back(op); });
    llvm::for_each(reductions, reduceBytes);
    eraseDeadOps(getOperation());
    SmallVector<DivOp> divisions;
    getOperation().walk([&](DivOp op) { divisions.push_back(op); });
    llvm::for_each(divisions, divideFactors);
    eraseDeadOps(getOperation());
  }
};

} // namespace

} // namespace smelt::passes
