// Activations in pieces: each treats what lies below a bound in another way than what lies above.
#include "frontend/node_table.h"

#include <cmath>

using namespace mlir;

namespace smelt::frontend {

namespace {

/// The arithmetic of a formula of one input. 16-bit floats are float32 in it: neither parameters
/// nor exponentials lose digits before the result is rounded.
struct Formula {
  NodeReader &node;
  GraphBuilder &build;
  Value x;

  explicit Formula(NodeReader &node)
      : node(node), build(node.build), x(build.widen(node.input(0))) {}

  Value number(double value) const { return build.scalar(value, tensorType(x).getElementType()); }
  Value times(Value value, double factor) const {
    return build.create<MulOp>({value, number(factor)});
  }
  Value plus(Value value, double addend) const {
    return build.create<AddOp>({value, number(addend)});
  }
  Value below(Value low, Value high) const { return build.create<LessOp>({low, high}); }
  Value choose(Value condition, Value yes, Value no) const {
    return build.create<SelectOp>({condition, yes, no});
  }
  /// `negative` where the input is below 0; elsewhere, and where it is NaN, the input.
  Value bend(Value negative) const { return choose(below(x, number(0)), negative, x); }
  /// min(max(value, 0), 1)
  Value clampToUnit(Value value) const {
    return build.create<MinOp>({build.create<MaxOp>({value, number(0)}), number(1)});
  }
  LogicalResult output(Value result) const {
    return node.output(build.cast(result, tensorType(node.input(0)).getElementType()));
  }
};

/// alpha (e^x - 1) below 0
LogicalResult importElu(NodeReader &node) {
  Formula formula(node);
  Value exponential = formula.build.unary<Expm1Op>(formula.x);
  return formula.output(formula.bend(formula.times(exponential, node.real("alpha", 1))));
}

LogicalResult importSelu(NodeReader &node) {
  Formula formula(node);
  float alpha = node.real("alpha", 1.67326319217681884765625f),
        gamma = node.real("gamma", 1.05070102214813232421875f);
  Value exponential = formula.build.unary<Expm1Op>(formula.x);
  return formula.output(formula.times(formula.bend(formula.times(exponential, alpha)), gamma));
}

/// alpha (e^(x / alpha) - 1) below 0
LogicalResult importCelu(NodeReader &node) {
  Formula formula(node);
  GraphBuilder &build = formula.build;
  float alpha = node.real("alpha", 1);
  Value scaled = build.create<DivOp>({formula.x, formula.number(alpha)});
  Value exponential = build.unary<Expm1Op>(scaled);
  return formula.output(formula.bend(formula.times(exponential, alpha)));
}

LogicalResult importHardSigmoid(NodeReader &node) {
  Formula formula(node);
  Value line = formula.times(formula.x, node.real("alpha", 0.2f));
  return formula.output(formula.clampToUnit(formula.plus(line, node.real("beta", 0.5f))));
}

/// x * clamp(x / 6 + 1/2)
LogicalResult importHardSwish(NodeReader &node) {
  Formula formula(node);
  Value gate = formula.clampToUnit(formula.plus(formula.times(formula.x, 1.0 / 6), 0.5));
  return formula.output(formula.build.create<MulOp>({formula.x, gate}));
}

LogicalResult importLeakyRelu(NodeReader &node) {
  Formula formula(node);
  return formula.output(formula.bend(formula.times(formula.x, node.real("alpha", 0.01f))));
}

LogicalResult importThresholdedRelu(NodeReader &node) {
  Formula formula(node);
  Value isAbove = formula.below(formula.number(node.real("alpha", 1)), formula.x);
  return formula.output(formula.choose(isAbove, formula.x, formula.number(0)));
}

/// Moved by `bias` towards 0 from beyond -lambd and lambd, 0 between them. Integers take the two as
/// integers; they are compared as numbers, because an unsigned one is never below -lambd.
LogicalResult importShrink(NodeReader &node) {
  Formula formula(node);
  GraphBuilder &build = formula.build;
  double bound = node.real("lambd", 0.5f);
  Value number = formula.x;
  if (tensorType(formula.x).getElementType().isInteger()) {
    bound = std::trunc(bound);
    number = build.cast(formula.x, Float64Type::get(build.getContext()));
    formula.x = build.cast(formula.x, IntegerType::get(build.getContext(), 64));
  }
  Type compared = tensorType(number).getElementType();
  Value isNegative = formula.below(number, build.scalar(-bound, compared)),
        isPositive = formula.below(build.scalar(bound, compared), number);
  float bias = node.real("bias", 0);
  Value lowered = build.create<SubOp>({formula.x, formula.number(bias)});
  Value upper = formula.choose(isPositive, lowered, formula.number(0));
  return formula.output(formula.choose(isNegative, formula.plus(formula.x, bias), upper));
}

/// slope * x below 0; the slope broadcasts to the input.
LogicalResult importPRelu(NodeReader &node) {
  GraphBuilder &build = node.build;
  if (failed(node.requireSameType()))
    return failure();
  Value zero = build.scalar(0, tensorType(node.input(0)).getElementType());
  Value product = build.create<MulOp>({node.input(0), node.input(1)});
  Value isNegative = build.create<LessOp>({node.input(0), zero});
  Value result = build.create<SelectOp>({isNegative, product, node.input(0)});
  if (result && tensorType(result).getShape() != tensorType(node.input(0)).getShape())
    return node.error() << "its slope " << node.describe(1) << " does not broadcast to "
                        << node.describe(0);
  return node.output(result);
}

} // namespace

ArrayRef<NodeRule> rectifierRules() {
  static constexpr NodeRule kRules[] = {
      {"Celu", 12, 1, importCelu},
      {"Elu", 1, 1, importElu},
      {"HardSigmoid", 1, 1, importHardSigmoid},
      {"HardSwish", 14, 1, importHardSwish},
      {"LeakyRelu", 1, 1, importLeakyRelu},
      {"PRelu", 7, 2, importPRelu},
      {"Selu", 6, 1, importSelu},
      {"Shrink", 9, 1, importShrink},
      {"ThresholdedRelu", 1, 1, importThresholdedRelu},
  };
  return kRules;
}

} // namespace smelt::frontend
