// Ops of the domain com.microsoft, which ONNX Runtime's transformer optimiser writes.
#include "frontend/node_table.h"
#include "frontend/ops/contraction.h"

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

/// x + bias + skip
LogicalResult importBiasAdd(NodeReader &node) {
  if (failed(node.requireSameType()))
    return failure();
  return node.output(node.build.create<AddOp>({biased(node), node.input(2)}));
}

/// A factor with its axes in the order of a product: the first may stand before the rows, and rows
/// and columns may be exchanged.
Value orderAxes(GraphBuilder &build, Value factor, bool movesFirst, bool exchanges) {
  int64_t rank = factor ? tensorType(factor).getRank() : 0;
  if (movesFirst && rank > 2) {
    auto permutation = llvm::to_vector(llvm::seq<int64_t>(1, rank));
    permutation.insert(permutation.end() - 1, 0);
    factor = build.transpose(factor, permutation);
  }
  return exchanges && rank > 1 ? build.transposeMatrix(factor) : factor;
}

/// alpha * A' B'
LogicalResult importFusedMatMul(NodeReader &node) {
  GraphBuilder &build = node.build;
  if (failed(node.requireSameType()))
    return failure();
  FailureOr<Factors> factors = Factors::read(node, 0, 1);
  if (failed(factors))
    return failure();
  auto isVector = [&](size_t index) { return tensorType(node.input(index)).getRank() == 1; };
  factors->lhs =
      orderAxes(build, factors->lhs, node.flag("transBatchA"), node.flag("transA") && !isVector(0));
  factors->rhs =
      orderAxes(build, factors->rhs, node.flag("transBatchB"), node.flag("transB") && !isVector(1));
  Value product = factors->dropAddedAxes(node, factors->multiply(node));
  return node.output(scale(build, product, node.real("alpha", 1)));
}

} // namespace

ArrayRef<NodeRule> microsoftRules() {
  static constexpr NodeRule kRules[] = {
      {"BiasAdd", 1, 3, importBiasAdd, kDomain},
      {"BiasGelu", 1, 2, importBiasGelu, kDomain},
      {"FastGelu", 1, 1, importFastGelu, kDomain},
      {"FusedMatMul", 1, 2, importFusedMatMul, kDomain},
      {"Gelu", 1, 1, importBiasGelu, kDomain},
      {"QuickGelu", 1, 1, importQuickGelu, kDomain},
  };
  return kRules;
}

} // namespace smelt::frontend
