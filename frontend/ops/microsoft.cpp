// Ops of the domain com.microsoft, which ONNX Runtime's transformer optimiser writes.
#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

constexpr llvm::StringLiteral kDomain = "com.microsoft";

/// The first input plus the second, where that is given.
Value biased(NodeReader &node) {
  Value bias = node.input(1);
  return bias ? node.build.create<AddOp>({node.input(0), bias}) : node.input(0);
}

/// Of x or x + bias, by the error function.
LogicalResult importBiasGelu(NodeReader &node) {
  return node.output(node.build.unary<GeluOp>(biased(node)));
}

/// Of x or x + bias, by the hyperbolic tangent.
LogicalResult importFastGelu(NodeReader &node) {
  return node.output(node.build.unary<GeluOp>(biased(node), {node.build.flag("tanh")}));
}

/// x * sigmoid(alpha x)
LogicalResult importQuickGelu(NodeReader &node) {
  GraphBuilder &build = node.build;
  Value input = node.input(0);
  Value alpha = build.scalar(node.real("alpha", 1.702f), tensorType(input).getElementType());
  Value gate = build.unary<SigmoidOp>(build.create<MulOp>({input, alpha}));
  return node.output(build.create<MulOp>({input, gate}));
}

} // namespace

ArrayRef<NodeRule> microsoftRules() {
  static constexpr NodeRule kRules[] = {
      {"BiasGelu", 1, 2, importBiasGelu, kDomain},
      {"FastGelu", 1, 1, importFastGelu, kDomain},
      {"Gelu", 1, 1, importBiasGelu, kDomain},
      {"QuickGelu", 1, 1, importQuickGelu, kDomain},
  };
  return kRules;
}

} // namespace smelt::frontend
