// Elementwise arithmetic, n-ary sums and extremes, casts.
#include "frontend/node_table.h"

#include <limits>

using namespace mlir;

namespace smelt::frontend {

namespace {

template <typename Op> LogicalResult importUnary(NodeReader &node) {
  return node.output(node.build.unary<Op>(node.input(0)));
}

template <typename Op> LogicalResult importBinary(NodeReader &node) {
  if (failed(node.requireSameType()))
    return failure();
  return node.output(node.build.create<Op>({node.input(0), node.input(1)}));
}

/// The exponent may have another type than the base, whose type is the result's. An integer base
/// with a float exponent is computed in floats.
LogicalResult importPow(NodeReader &node) {
  GraphBuilder &build = node.build;
  Type base = tensorType(node.input(0)).getElementType(),
       exponent = tensorType(node.input(1)).getElementType();
  if (!base.isInteger() || exponent.isInteger())
    return node.output(build.create<PowOp>({node.input(0), node.input(1)}));
  Value power = build.create<PowOp>({build.cast(node.input(0), exponent), node.input(1)});
  return node.output(build.cast(power, base));
}

LogicalResult importMod(NodeReader &node) {
  bool fmod = node.flag("fmod");
  if (failed(node.requireSameType()))
    return failure();
  SmallVector<NamedAttribute> attributes;
  if (fmod)
    attributes.push_back(node.build.flag("fmod"));
  return node.output(node.build.create<ModOp>({node.input(0), node.input(1)}, attributes));
}

LogicalResult importModOfIntegers(NodeReader &node) {
  if (!node.flag("fmod") && !tensorType(node.input(0)).getElementType().isInteger())
    return node.error() << "floats need the attribute fmod = 1";
  return importMod(node);
}

template <typename Op> Value combine(NodeReader &node) {
  if (failed(node.requireSameType()))
    return {};
  Value result = node.input(0);
  for (size_t index = 1; index < node.inputCount(); ++index)
    result = node.build.create<Op>({result, node.input(index)});
  return result;
}

template <typename Op> LogicalResult importVariadic(NodeReader &node) {
  return node.output(combine<Op>(node));
}

LogicalResult importMean(NodeReader &node) {
  Value sum = combine<AddOp>(node);
  if (!sum)
    return failure();
  Value count = node.build.scalar(node.inputCount(), tensorType(sum).getElementType());
  return node.output(node.build.create<DivOp>({sum, count}));
}

Value clip(NodeReader &node, Value low, Value high) {
  Value result = node.input(0);
  if (low)
    result = node.build.create<MaxOp>({result, low});
  return high ? node.build.create<MinOp>({result, high}) : result;
}

/// Bounds as attributes; absent ones are the ends of float's range.
LogicalResult importClipAttributes(NodeReader &node) {
  Type element = tensorType(node.input(0)).getElementType();
  auto bound = [&](StringRef name) {
    return node.hasAttribute(name) ? node.build.scalar(node.real(name, 0), element) : Value();
  };
  return node.output(clip(node, bound("min"), bound("max")));
}

LogicalResult importClip(NodeReader &node) {
  if (failed(node.requireSameType()))
    return failure();
  return node.output(clip(node, node.input(1), node.input(2)));
}

} // namespace

ArrayRef<NodeRule> arithmeticRules() {
  static constexpr NodeRule kRules[] = {
      {"Abs", 1, 1, importUnary<AbsOp>},
      {"Acos", 7, 1, importUnary<AcosOp>},
      {"Acosh", 9, 1, importUnary<AcoshOp>},
      {"Add", 7, 2, importBinary<AddOp>},
      {"Asin", 7, 1, importUnary<AsinOp>},
      {"Asinh", 9, 1, importUnary<AsinhOp>},
      {"Atan", 7, 1, importUnary<AtanOp>},
      {"Atanh", 9, 1, importUnary<AtanhOp>},
      {"Ceil", 1, 1, importUnary<CeilOp>},
      {"Clip", 1, 1, importClipAttributes},
      {"Clip", 11, 1, importClip},
      {"Cos", 7, 1, importUnary<CosOp>},
      {"Cosh", 9, 1, importUnary<CoshOp>},
      {"Div", 7, 2, importBinary<DivOp>},
      {"Erf", 9, 1, importUnary<ErfOp>},
      {"Exp", 1, 1, importUnary<ExpOp>},
      {"Floor", 1, 1, importUnary<FloorOp>},
      {"Log", 1, 1, importUnary<LogOp>},
      {"Max", 1, kEveryInput, importVariadic<MaxOp>},
      {"Mean", 1, kEveryInput, importMean},
      {"Min", 1, kEveryInput, importVariadic<MinOp>},
      {"Mod", 10, 2, importModOfIntegers},
      {"Mod", 28, 2, importMod},
      {"Mul", 7, 2, importBinary<MulOp>},
      {"Neg", 1, 1, importUnary<NegOp>},
      {"Pow", 7, 2, importPow},
      {"Reciprocal", 1, 1, importUnary<ReciprocalOp>},
      {"Round", 11, 1, importUnary<RoundOp>},
      {"Sign", 9, 1, importUnary<SignOp>},
      {"Sin", 7, 1, importUnary<SinOp>},
      {"Sinh", 9, 1, importUnary<SinhOp>},
      {"Sqrt", 1, 1, importUnary<SqrtOp>},
      {"Sub", 7, 2, importBinary<SubOp>},
      {"Sum", 1, kEveryInput, importVariadic<AddOp>},
      {"Tan", 7, 1, importUnary<TanOp>},
  };
  return kRules;
}

} // namespace smelt::frontend
