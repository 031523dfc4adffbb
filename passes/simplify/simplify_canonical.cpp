// simplify-canonical: the algebra that brings every export of a model to one spelling.
//
// Exporters write the same layer in many ways: scalars on either side, divisions for products,
// heads split before or after a transpose, batch and sequence flattened around a Gemm. Raise
// matches one normal form, so this pass must reach it. Method: local rewrites by family
// (canonical.h), applied greedily until none fires; weights with the same bytes become one; CSE
// between rounds, because equal operands only show once their producers are one op. Assumes
// verified IR. Each family moves a measure one way (see canonical.h), so that the fixed point
// exists.
#include "ir/refit.h"
#include "ir/weights.h"
#include "passes/passes.h"
#include "passes/simplify/canonical.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_SIMPLIFYCANONICAL
#include "passes/passes.h.inc"

namespace {

/// CSE and the rewrites enable each other; in the models at hand two rounds reach the fixed point.
constexpr int kMaxRounds = 4;
constexpr int64_t kMaxRewritesPerOp = 64;

/// Weights that read the same bytes as the same type become the first of them.
void shareWeights(ModuleOp module) {
  llvm::DenseMap<std::tuple<Attribute, Type>, WeightOp> first;
  module.walk([&](WeightOp weight) {
    auto [entry, inserted] =
        first.try_emplace({contentKey(weight.getSource()), weight.getOutput().getType()}, weight);
    if (!inserted && entry->second->getBlock() == weight->getBlock())
      weight.getOutput().replaceAllUsesWith(entry->second.getOutput());
  });
}

struct SimplifyCanonical : impl::SimplifyCanonicalBase<SimplifyCanonical> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateArithmeticPatterns(set);
    populateLogicPatterns(set);
    populateViewPatterns(set);
    populateBroadcastPatterns(set);
    populateContractionPatterns(set);
    populateConcatPatterns(set);
    patterns = FrozenRewritePatternSet(std::move(set));
    return success();
  }

  void runOnOperation() override {
    if (!getOperation()->hasAttr(kRefit)) // which updates would tell apart
      shareWeights(getOperation());
    for (int round = 0; round < kMaxRounds; ++round) {
      bool changed = false, merged = false;
      if (failed(applyPatternsGreedily(getOperation(), patterns, makeConfig(), &changed))) {
        // Every rewrite keeps the program's meaning, so that the result is right, only not normal.
        getOperation().emitWarning(
            "simplify-canonical found no fixed point; please report this model");
        return;
      }
      IRRewriter rewriter(&getContext());
      DominanceInfo dominance(getOperation());
      eliminateCommonSubExpressions(rewriter, dominance, getOperation(), &merged);
      if (!changed && !merged)
        return;
    }
  }

  /// Far more rewrites than any model needs, so that families that undo each other cannot hang the
  /// compiler.
  GreedyRewriteConfig makeConfig() {
    int64_t ops = 0;
    getOperation().walk([&](Operation *) { ++ops; });
    GreedyRewriteConfig config;
    config.setMaxNumRewrites(kMaxRewritesPerOp * (ops + 16));
    // A view then meets its inverse as soon as it sinks. From the bottom up each would first sink
    // through all that lies below it: 2400 ops of transposed activations took 4 s instead of 0.1 s.
    config.setUseTopDownTraversal(true);
    return config;
  }

  FrozenRewritePatternSet patterns;
};

} // namespace

} // namespace smelt::passes
