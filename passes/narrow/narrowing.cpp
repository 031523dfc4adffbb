#include "passes/narrow/narrowing.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace smelt::passes {

namespace {

/// Ops whose result is no more than a choice or an arrangement of their operands' elements.
bool moves(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() == ReductionKind::max || reduce.getKind() == ReductionKind::min;
  return op->hasTrait<View>() ||
         isa<ConcatOp, SelectOp, MinOp, MaxOp, AbsOp, NegOp, ReluOp, GatherOp, GatherElementsOp,
             GatherNdOp, ScatterElementsOp, ScatterNdOp>(op);
}

/// Arithmetic whose rounding to 16 bits is as harmless as that of its operands was.
bool isMild(Operation *op) {
  return isa<AddOp, SubOp, MulOp, DivOp, GeluOp, SiluOp, SigmoidOp, TanhOp, ErfOp, SoftplusOp,
             LayerNormOp, RmsNormOp, SoftmaxOp>(op);
}

/// Ops whose results are small whatever they read.
bool isBounded(Operation *op) {
  return isa<SigmoidOp, TanhOp, ErfOp, LayerNormOp, RmsNormOp, SoftmaxOp, SinOp, CosOp>(op);
}

bool isCore(Operation *op) { return isa<MatmulOp, ConvOp, AttentionOp>(op); }

} // namespace

Narrowing::Narrowing(func::FuncOp main, FloatType to, WeightStore *weights)
    : to(to), weights(weights) {
  Block &block = main.getBody().front();
  for (BlockArgument argument : block.getArguments())
    if (isFloat32(argument))
      facts[argument] = {Kind::wide, false, false, true};
  for (Operation &op : block.without_terminator())
    decide(&op);
  for (Operation &op : llvm::reverse(block.without_terminator()))
    keepWideForReaders(&op);
}

bool Narrowing::isFloat32(Value value) const {
  auto type = dyn_cast<TensorType>(value.getType());
  return type && type.getElementType().isF32();
}

bool Narrowing::keepsOperand(OpOperand &operand) const {
  return isa<AttentionOp>(operand.getOwner()) && operand.getOperandNumber() == 3 &&
         (factOf(operand.get()).isLarge || factOf(operand.get()).isIndex);
}

void Narrowing::decide(Operation *op) {
  if (llvm::none_of(op->getResults(), [&](Value result) { return isFloat32(result); }))
    return;
  Decision decision = decisionOn(op);
  Fact fact = factOf(op, decision);
  for (Value result : op->getResults())
    if (isFloat32(result))
      facts[result] = fact;
  decisions[op] = decision;
}

Narrowing::Decision Narrowing::decisionOn(Operation *op) const {
  if (op->hasAttr(kKeepWide))
    return {false, false, isCore(op) ? "its error was measured" : ""};
  if (isa<MatmulOp, ConvOp>(op))
    return decisionOnCore(op, op->getOperands());
  if (isa<AttentionOp>(op))
    return decisionOnCore(op, op->getOperands().take_front(3));
  bool follows = canFollow(op);
  return {follows, follows, ""};
}

Narrowing::Decision Narrowing::decisionOnCore(Operation *op, ValueRange factors) const {
  bool isOfIndices = true, isConstant = true;
  for (Value factor : factors) {
    Fact fact = factOf(factor);
    if (!isFloat32(factor))
      return {};
    if (fact.isLarge)
      return {false, false, "an operand may exceed the range of 16 bits"};
    isConstant &= fact.kind == Kind::constant;
    isOfIndices &= fact.kind == Kind::constant || fact.isIndex;
  }
  if (isConstant) // a weight expression
    return {};
  if (isOfIndices)
    return {false, false, "its operands are positions or sizes, which 16 bits do not count"};
  return {true, true, ""};
}

/// Whether `op` may be as narrow as what it reads, and reads something narrow. Sums and powers, which
/// nobody knows the size of, are not rounded to meet it.
bool Narrowing::canFollow(Operation *op) const {
  if (!moves(op) && !isMild(op))
    return false;
  bool readsNarrow = false;
  for (Value operand : op->getOperands()) {
    if (!isFloat32(operand))
      continue;
    Fact fact = factOf(operand);
    if (fact.isLarge)
      return false;
    if (auto constant = operand.getDefiningOp<ConstantOp>(); constant && !fits(constant))
      return false;
    if (fact.kind == Kind::wide && !fact.isSmall)
      return false;
    readsNarrow |= fact.kind == Kind::narrow;
  }
  if (isa<GatherOp, GatherElementsOp, GatherNdOp>(op)) // rows of a table, chosen at run time
    return readsNarrow || factOf(op->getOperand(0)).kind == Kind::constant;
  return readsNarrow;
}

Narrowing::Fact Narrowing::factOf(Operation *op, const Decision &decision) const {
  if (auto constant = dyn_cast<ConstantOp>(op))
    return {Kind::constant, exceedsRange(constant), false, !exceedsRange(constant)};
  if (auto weight = dyn_cast<WeightOp>(op))
    return {Kind::constant, !isWithinRange(weight), false, isWithinRange(weight)};
  if (isa<IotaOp, DimsOp>(op))
    return {Kind::wide, false, true, false};
  if (decision.results)
    return {Kind::narrow, false, false, true};
  Fact fact{Kind::constant, false, true, isBounded(op) || moves(op) || isa<MulOp, CastOp>(op)};
  for (Value operand : op->getOperands()) {
    Fact of = factOf(operand);
    TensorType tensor = tensorType(operand);
    bool isOfBools = tensor.getElementType().isInteger(1);
    bool isFloat = isa<FloatType>(tensor.getElementType());
    if (of.kind != Kind::constant && !(of.kind == Kind::other && isOfBools))
      fact.kind = Kind::wide;
    fact.isIndex &= !isFloat || of.isIndex || of.kind == Kind::constant;
    fact.isSmall &= isBounded(op) || of.isSmall || isOfBools || (moves(op) && !isFloat);
    fact.isLarge |= of.isLarge && !isBounded(op) && !isCore(op);
  }
  if (isa<SinOp, CosOp>(op))
    fact.isIndex = false; // what is left of a position is as good as any number in [-1, 1]
  return fact;
}

/// What nothing reads in 16 bits is not rounded to them: the sums of a last product, and what is made
/// of them on their way out. An op that shares a narrow operand with others stays narrow: a cast
/// between the two would keep them out of one kernel.
void Narrowing::keepWideForReaders(Operation *op) {
  if (!decisions.lookup(op).results || isa<ConvOp>(op)) // a convolution rounds as its operands are
    return;
  bool isReadWide = llvm::all_of(op->getUses(), [&](OpOperand &use) {
    return !narrowsOperands(use.getOwner()) || keepsOperand(use);
  });
  bool sharesOperand = llvm::any_of(op->getOperands(), [&](Value operand) {
    return factOf(operand).kind == Kind::narrow && !operand.hasOneUse();
  });
  if (isReadWide && (isCore(op) || !sharesOperand))
    decisions[op] = {isCore(op), false, ""};
}

/// The elements of a float32 constant and what rounding to 16 bits makes of them; whether `test`
/// holds for each pair.
static bool allOf(ConstantOp constant, FloatType to, function_ref<bool(float, float)> test) {
  auto values = dyn_cast<DenseFPElementsAttr>(constant.getValue());
  if (!values || !values.getElementType().isF32())
    return true;
  return llvm::all_of(values, [&](APFloat value) {
    APFloat rounded = value;
    bool loses = false;
    rounded.convert(to.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
    rounded.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &loses);
    return test(value.convertToFloat(), rounded.convertToFloat());
  });
}

/// Whether each element is a 16-bit number, but for rounding.
bool Narrowing::fits(ConstantOp constant) const {
  return allOf(constant, to, [](float before, float after) {
    bool isSame = before == after || std::isnan(before);
    return isSame || std::abs(after - before) <= std::ldexp(std::abs(before), -8);
  });
}

bool Narrowing::exceedsRange(ConstantOp constant) const {
  return !allOf(constant, to, [](float before, float after) {
    return !std::isfinite(before) || std::isfinite(after);
  });
}

bool Narrowing::isWithinRange(WeightOp weight) const {
  if (!weights || !isFloat32(weight.getOutput()))
    return true;
  ScopedDiagnosticHandler silence(weight.getContext(), [](Diagnostic &) { return success(); });
  FailureOr<ArrayRef<char>> bytes = weights->bytes(weight);
  if (failed(bytes)) // whoever reads the weight reports it
    return true;
  float largest = APFloat::getLargest(to.getFloatSemantics()).convertToDouble();
  for (size_t at = 0; at + sizeof(float) <= bytes->size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, bytes->data() + at, sizeof value);
    if (std::isfinite(value) && std::abs(value) > largest)
      return false;
  }
  return true;
}

} // namespace smelt::passes
