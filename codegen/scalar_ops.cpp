#include "codegen/scalar_ops.h"

#include "codegen/cuda_text.h"
#include "ir/capabilities.h"
#include "ir/number_range.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace smelt::codegen {

namespace {

/// $0, $1, $2 stand for the operands, $T for the compute type of the first one. `approximate` is
/// for results in 16-bit floats, and for those that are quantised; an empty text: there is no such
/// operation (or no cheaper one).
struct Row {
  StringRef op;
  StringRef floating;
  StringRef approximate;
  StringRef integer;
  StringRef boolean;
};

constexpr Row kRows[] = {
    // op            floats                 16-bit results           integers              bools
    {"abs", "absolute($0)", "", "absolute($0)", ""},
    {"neg", "-$0", "", "$T(-$0)", ""},
    {"exp", "exp($0)", "approx::exp($0)", "", ""},
    {"expm1", "expm1($0)", "", "", ""},
    {"log", "log($0)", "", "", ""},
    {"sqrt", "sqrt($0)", "", "", ""},
    {"rsqrt", "rsqrt($0)", "", "", ""},
    {"reciprocal", "reciprocal($0)", "", "", ""},
    {"sin", "sin($0)", "", "", ""},
    {"cos", "cos($0)", "", "", ""},
    {"tan", "tan($0)", "", "", ""},
    {"asin", "asin($0)", "", "", ""},
    {"acos", "acos($0)", "", "", ""},
    {"atan", "atan($0)", "", "", ""},
    {"sinh", "sinh($0)", "", "", ""},
    {"cosh", "cosh($0)", "", "", ""},
    {"tanh", "tanh($0)", "approx::tanh($0)", "", ""},
    {"asinh", "asinh($0)", "", "", ""},
    {"acosh", "acosh($0)", "", "", ""},
    {"atanh", "atanh($0)", "", "", ""},
    {"erf", "erf($0)", "", "", ""},
    {"sigmoid", "sigmoid($0)", "approx::sigmoid($0)", "", ""},
    {"silu", "silu($0)", "approx::silu($0)", "", ""},
    {"gelu", "gelu($0)", "approx::gelu($0)", "", ""},
    {"gelu tanh", "geluTanh($0)", "approx::geluTanh($0)", "", ""},
    {"relu", "maximum($0, $T(0))", "", "maximum($0, $T(0))", ""},
    {"softplus", "softplus($0)", "", "", ""},
    {"floor", "floor($0)", "", "", ""},
    {"ceil", "ceil($0)", "", "", ""},
    {"round", "roundEven($0)", "", "", ""},
    {"sign", "sign($0)", "", "sign($0)", ""},
    {"not", "", "", "", "!$0"},
    {"bit_not", "", "", "$T(~$0)", ""},
    {"is_nan", "isNan($0)", "", "", ""},
    {"is_inf", "isInfinite($0)", "", "", ""},
    {"add", "$0 + $1", "", "$T($0 + $1)", ""},
    {"sub", "$0 - $1", "", "$T($0 - $1)", ""},
    {"mul", "$0 * $1", "", "$T($0 * $1)", ""},
    {"div", "$0 / $1", "", "divide($0, $1)", ""},
    {"pow", "power($0, $T($1))", "", "power($0, $1)", ""},
    {"min", "minimum($0, $1)", "", "minimum($0, $1)", "$0 && $1"},
    {"max", "maximum($0, $1)", "", "maximum($0, $1)", "$0 || $1"},
    {"mod", "moduloFloor($0, $1)", "", "moduloFloor($0, $1)", ""},
    {"mod fmod", "moduloTruncate($0, $1)", "", "moduloTruncate($0, $1)", ""},
    {"and", "", "", "", "$0 && $1"},
    {"or", "", "", "", "$0 || $1"},
    {"xor", "", "", "", "$0 != $1"},
    {"bit_and", "", "", "$T($0 & $1)", ""},
    {"bit_or", "", "", "$T($0 | $1)", ""},
    {"bit_xor", "", "", "$T($0 ^ $1)", ""},
    {"shift_left", "", "", "shiftLeft($0, $1)", ""},
    {"shift_right", "", "", "shiftRight($0, $1)", ""},
    {"equal", "$0 == $1", "", "$0 == $1", "$0 == $1"},
    {"less", "$0 < $1", "", "$0 < $1", "$0 < $1"},
    {"less_equal", "$0 <= $1", "", "$0 <= $1", "$0 <= $1"},
};

/// The op's key in the table: its mnemonic, and the flag that changes its meaning.
std::string key(Operation *op) {
  std::string name = op->getName().stripDialect().str();
  if (auto gelu = dyn_cast<GeluOp>(op); gelu && gelu.getTanh())
    name += " tanh";
  if (auto mod = dyn_cast<ModOp>(op); mod && mod.getFmod())
    name += " fmod";
  return name;
}

std::string fill(StringRef pattern, ArrayRef<std::string> operands, Type operandType) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$')
      text += pattern[i];
    else if (pattern[++i] == 'T')
      text += computeType(operandType);
    else
      text += operands[pattern[i] - '0'];
  }
  return text;
}

std::string castExpression(CastOp cast, const std::string &operand) {
  Type from = tensorType(cast.getInput()).getElementType();
  Type to = tensorType(cast.getOutput()).getElementType();
  std::string compute = computeType(to).str();
  if (isStorageOnly(to))
    return from == to ? operand
                      : "convert<" + compute + ">(convert<" + storageType(to).str() + ">(" +
                            operand + "))";
  if (computeType(from) == compute)
    return operand;
  if (from.isF32() && isByte(rangeOf(cast.getInput()), to))
    return "wholeInteger<" + compute + ">(" + operand + ")";
  return "convert<" + compute + ">(" + operand + ")";
}

/// What is computed with as another type still has the bits that are stored.
std::string bitcastExpression(BitcastOp op, const std::string &operand) {
  Type from = tensorType(op.getInput()).getElementType(),
       to = tensorType(op.getOutput()).getElementType();
  std::string bits =
      isStorageOnly(from) ? "convert<" + storageType(from).str() + ">(" + operand + ")" : operand;
  std::string value = "bitCast<" + storageType(to).str() + ">(" + bits + ")";
  return isStorageOnly(to) ? "convert<" + computeType(to).str() + ">(" + value + ")" : value;
}

/// Integers go through the helper that keeps them from becoming minima (device/math.cuh).
std::string selectExpression(Type type, ArrayRef<std::string> operands) {
  if (isa<FloatType>(type) || type.isInteger(1))
    return operands[0] + " ? " + operands[1] + " : " + operands[2];
  return "choose<" + computeType(type).str() + ">(" + operands[0] + ", " + operands[1] + ", " +
         operands[2] + ")";
}

/// A quotient by a number that is only rounded to integers, as in a quantisation: what is not exact of
/// the short division is rounded to 0. An empty text for others.
std::string shortDivision(Operation *op, ArrayRef<std::string> operands) {
  constexpr int kMostExponent = 60;
  auto division = dyn_cast<DivOp>(op);
  std::optional<double> number = division ? literalNumber(division.getRhs()) : std::nullopt;
  if (!number || !isOnlyRounded(division.getOutput()))
    return {};
  APFloat divisor(static_cast<float>(*number));
  if (!divisor.isFiniteNonZero() || std::abs(ilogb(divisor)) > kMostExponent)
    return {};
  APFloat reciprocal(1.0f);
  reciprocal.divide(divisor, APFloat::rmNearestTiesToEven);
  Type type = elementType(division.getOutput());
  double most = std::min(1.0, std::abs(*number)) * std::numeric_limits<float>::max() / 2;
  bool isFinite = rangeOf(division.getLhs()).isWithin(-most, most); // and so is the quotient
  return std::string(isFinite ? "divideFiniteByNumber(" : "divideByNumber(") + operands[0] + ", " +
         operands[1] + ", " + literal(FloatAttr::get(type, reciprocal), type) + ")";
}

/// Of a number that was clipped; an empty text for others.
std::string shortRounding(Operation *op, const std::string &operand) {
  constexpr double kMost = 1 << 21;
  auto round = dyn_cast<RoundOp>(op);
  if (!round || !elementType(round.getOutput()).isF32() ||
      !rangeOf(round.getInput()).isWithin(-kMost, kMost))
    return {};
  return "roundSmall(" + operand + ")";
}

} // namespace

bool needsNoExactness(Value value, double leastStep) {
  constexpr double kMostSteps = 1024;
  return !value.use_empty() && llvm::all_of(value.getUsers(), [&](Operation *user) {
    auto division = dyn_cast<DivOp>(user);
    std::optional<double> step = division ? literalNumber(division.getRhs()) : std::nullopt;
    if (isa<IsNanOp>(user)) // what replaces a NaN
      return true;
    if (isa<ReluOp, SelectOp>(user) ||
        (isa<MinOp, MaxOp>(user) && literalNumber(user->getOperand(1))))
      return needsNoExactness(user->getResult(0), leastStep);
    return step && std::abs(*step) >= leastStep && isOnlyRounded(division.getOutput()) &&
           rangeOf(division.getOutput()).isWithin(-kMostSteps, kMostSteps);
  });
}

std::optional<ByteRounding> byteRounding(Operation *op) {
  auto narrowed = dyn_cast<CastOp>(op);
  if (!narrowed || !isByte(rangeOf(narrowed.getInput()), elementType(narrowed.getOutput())))
    return std::nullopt;
  auto add = narrowed.getInput().getDefiningOp<AddOp>();
  double zeroPoint = add ? *literalNumber(add.getRhs()) : 0;
  auto round = (add ? add.getLhs() : narrowed.getInput()).getDefiningOp<RoundOp>();
  if (!round || shortRounding(round, "").empty())
    return std::nullopt;
  return ByteRounding{round.getInput(), static_cast<int>(zeroPoint)};
}

std::optional<Value> saturatedInput(Operation *op) {
  std::optional<ByteRounding> rounding = byteRounding(op);
  if (!rounding || rounding->added != 0)
    return std::nullopt;
  bool isSigned = !elementType(op->getResult(0)).isUnsignedInteger();
  double least = isSigned ? -128 : 0, most = isSigned ? 127 : 255;
  for (Value input = rounding->input;;) {
    Operation *clip = input.getDefiningOp();
    std::optional<double> bound;
    if (isa_and_nonnull<MinOp, MaxOp>(clip))
      bound = literalNumber(clip->getOperand(1));
    else if (isa_and_nonnull<ReluOp>(clip))
      bound = 0;
    if (!bound || (isa<MinOp>(clip) ? *bound < most : *bound > least))
      return input;
    input = clip->getOperand(0);
  }
}

std::string roundingExpression(Operation *op, const ByteRounding &rounding,
                               const std::string &operand) {
  return "roundToInteger<" + computeType(elementType(op->getResult(0))).str() + ">(" + operand +
         ", " + std::to_string(rounding.added) + ")";
}

bool isFewInstructions(Operation *op) {
  if (isa<RoundOp>(op))
    return !shortRounding(op, "").empty();
  if (isa<DivOp>(op))
    return !shortDivision(op, {"", ""}).empty();
  return isa<AbsOp, NegOp, ReluOp, AddOp, SubOp, MulOp, MinOp, MaxOp, SelectOp, LessOp, LessEqualOp,
             EqualOp, CastOp, BitcastOp, IsInfOp, IsNanOp>(op);
}

FailureOr<std::string> scalarExpression(Operation *op, ArrayRef<std::string> operands) {
  if (auto cast = dyn_cast<CastOp>(op))
    return castExpression(cast, operands[0]);
  if (auto bitcast = dyn_cast<BitcastOp>(op))
    return bitcastExpression(bitcast, operands[0]);
  if (std::string rounding = shortRounding(op, operands.front()); !rounding.empty())
    return rounding;
  if (std::string division = shortDivision(op, operands); !division.empty())
    return division;
  if (isa<SelectOp>(op))
    return selectExpression(tensorType(op->getResult(0)).getElementType(), operands);
  const Row *row = llvm::find_if(kRows, [name = key(op)](const Row &r) { return r.op == name; });
  if (row == std::end(kRows))
    return op->emitError("has no CUDA expression"), failure();
  Type operand = tensorType(op->getOperand(0)).getElementType();
  StringRef pattern = isa<FloatType>(operand) ? row->floating
                      : operand.isInteger(1)  ? row->boolean
                                              : row->integer;
  constexpr double kLeastStep = 1.0 / 1024; // beside 1e-6
  Value result = op->getResult(0);
  bool isRounded = isHalfWidth(elementType(result)) ||
                   (elementType(result).isF32() && needsNoExactness(result, kLeastStep));
  if (isRounded && !row->approximate.empty())
    pattern = row->approximate;
  if (pattern.empty())
    return op->emitError() << "is not defined for elements of type " << operand, failure();
  return fill(pattern, operands, operand);
}

} // namespace smelt::codegen
