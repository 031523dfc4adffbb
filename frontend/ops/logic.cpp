// Comparisons, logic, tests, selection and bits.
#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

template <typename Op> LogicalResult importLogic(NodeReader &node) {
  if (failed(node.requireSameType()))
    return failure();
  return node.output(node.build.create<Op>({node.input(0), node.input(1)}));
}

/// x > y is y < x.
template <typename Op> LogicalResult importExchanged(NodeReader &node) {
  if (failed(node.requireSameType()))
    return failure();
  return node.output(node.build.create<Op>({node.input(1), node.input(0)}));
}

LogicalResult importNot(NodeReader &node) {
  return node.output(node.build.unary<NotOp>(node.input(0)));
}

LogicalResult importWhere(NodeReader &node) {
  if (failed(node.requireSameType({1, 2})))
    return failure();
  return node.output(node.build.create<SelectOp>({node.input(0), node.input(1), node.input(2)}));
}

LogicalResult importIsNan(NodeReader &node) {
  return node.output(node.build.create<IsNanOp>(node.input(0)));
}

LogicalResult importIsInf(NodeReader &node) {
  bool negative = node.integer("detect_negative", 1), positive = node.integer("detect_positive", 1);
  Value input = node.input(0);
  Value infinite = node.build.create<IsInfOp>(input);
  if (negative && positive)
    return node.output(infinite);
  Value zero = node.build.scalar(0, tensorType(input).getElementType());
  Value sign = negative ? node.build.create<LessOp>({input, zero})
                        : node.build.create<LessOp>({zero, input});
  if (!negative && !positive)
    sign = node.build.scalar(0, IntegerType::get(node.build.getContext(), 1));
  return node.output(node.build.create<AndOp>({infinite, sign}));
}

LogicalResult importBitwiseNot(NodeReader &node) {
  return node.output(node.build.unary<BitNotOp>(node.input(0)));
}

LogicalResult importBitShift(NodeReader &node) {
  std::string direction = node.text("direction", "");
  if (direction == "LEFT")
    return importLogic<ShiftLeftOp>(node);
  if (direction == "RIGHT")
    return importLogic<ShiftRightOp>(node);
  return node.error() << "has the direction '" << direction << "', which is not LEFT or RIGHT";
}

} // namespace

ArrayRef<NodeRule> logicRules() {
  static constexpr NodeRule kRules[] = {
      {"And", 7, 2, importLogic<AndOp>},
      {"BitShift", 11, 2, importBitShift},
      {"BitwiseAnd", 18, 2, importLogic<BitAndOp>},
      {"BitwiseNot", 18, 1, importBitwiseNot},
      {"BitwiseOr", 18, 2, importLogic<BitOrOp>},
      {"BitwiseXor", 18, 2, importLogic<BitXorOp>},
      {"Equal", 7, 2, importLogic<EqualOp>},
      {"Greater", 7, 2, importExchanged<LessOp>},
      {"GreaterOrEqual", 12, 2, importExchanged<LessEqualOp>},
      {"IsInf", 10, 1, importIsInf},
      {"IsNaN", 9, 1, importIsNan},
      {"Less", 7, 2, importLogic<LessOp>},
      {"LessOrEqual", 12, 2, importLogic<LessEqualOp>},
      {"Not", 1, 1, importNot},
      {"Or", 7, 2, importLogic<OrOp>},
      {"Where", 9, 3, importWhere},
      {"Xor", 7, 2, importLogic<XorOp>},
  };
  return kRules;
}

} // namespace smelt::frontend
