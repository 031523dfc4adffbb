// THE list: phases in order, one line a pass, and why each stands where it does.
#include "passes/pipeline.h"
#include "passes/passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace smelt {

namespace {

/// Reports the end of a phase to the caller; changes nothing.
struct PhaseMarker : PassWrapper<PhaseMarker, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PhaseMarker)

  PhaseMarker(StringRef phase, std::function<LogicalResult(StringRef, ModuleOp)> callback)
      : phase(phase), callback(std::move(callback)) {}

  StringRef getName() const override { return "PhaseMarker"; }
  void runOnOperation() override {
    if (failed(callback(phase, getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

  std::string phase;
  std::function<LogicalResult(StringRef, ModuleOp)> callback;
};

/// Afterwards: no shape arithmetic but what depends on data, one spelling for each computation.
void addSimplify(OpPassManager &manager, WeightStore *weights) {
  manager.addPass(passes::createSimplifyShapes());    // first: the rest sees sizes, not arithmetic
  manager.addPass(passes::createSimplifyConstants()); // scales computed from those sizes
  manager.addPass(passes::createSimplifyChannelsLast()); // before canonical, as the next
  manager.addPass(passes::createSimplifyConvPatch()); // before canonical: the views that it makes
                                                      // cancel with others
  manager.addPass(passes::createSimplifyQuantized()); // once convolutions are products, before
                                                      // canonical moves zero points
  manager.addPass(passes::createSimplifyCanonical());
  manager.addPass(
      passes::createSimplifyAffine(weights));         // after canonical: it reads few, short chains
  manager.addPass(passes::createSimplifyConstants()); // masks that turned out to be constant
  manager.addPass(passes::createSimplifyCanonical());
}

/// Afterwards: norms, activations, softmax and attention are one op each.
void addRaise(OpPassManager &manager) {
  manager.addPass(passes::createRaiseActivation());
  manager.addPass(passes::createRaiseNorm());
  manager.addPass(passes::createRaiseSoftmax());
  manager.addPass(passes::createRaiseAttention());    // after softmax, which it starts from
  manager.addPass(passes::createSimplifyCanonical()); // the views that raises made
}

/// Afterwards: 16 bits wherever they do.
void addNarrow(OpPassManager &manager, const PipelineOptions &options) {
  manager.addPass(passes::createNarrow(options.narrowTo, options.weights));
  manager.addPass(passes::createSimplifyConstants()); // constants in their new type
  manager.addPass(passes::createSimplifyCanonical()); // casts that meet
}

/// Afterwards: every tensor op but weight expressions and buffers lies in a fusion.
void addFuse(OpPassManager &module, WeightStore *weights) {
  module.addPass(passes::createFuseDequantization());
  module.addPass(passes::createFuseHorizontal()); // it rewrites matmuls that others absorb
  module.addPass(passes::createFuseSiblings()); // once projections are parts of one tensor, before
                                                // attention takes the views of its operands
  module.addPass(
      passes::createFuseRotary()); // once queries and keys are turned by one tree, before
                                   // norms reach the products
  module.addPass(passes::createFuseColumnScale());
  module.addPass(
      passes::createFuseSqueezeExcite()); // once column-scale has taken the gates that scale
                                          // weights, before fuse-gemm takes the products
  module.addPass(passes::createFuseAttention());
  module.addPass(passes::createFuseNorm(weights)); // once attention's ops are taken: it asks what
                                                   // fuse-gemm will do with the rest
  module.addPass(passes::createFuseGemm());
  // Weight expressions of layers that share weights. Before other kernels: CSE compares every two
  // that read the same.
  module.nest<func::FuncOp>().addPass(createCSEPass());
  module.addPass(passes::createFuseDequantization()); // what CSE made one again
  // Before rowwise, whose norms would draw in the rounding of what convolutions store.
  module.addPass(passes::createFuseColumnwise());
  module.addPass(passes::createFuseRowwise());
  module.addPass(passes::createFuseSelection());
  module.addPass(passes::createFuseGeneric());
  module.addPass(passes::createFusePointwise()); // last: takes what is left
}

/// Afterwards: the form that codegen accepts.
void addLower(OpPassManager &module) {
  module.nest<func::FuncOp>().addPass(passes::createLowerRounding());
  module.nest<func::FuncOp>().addPass(passes::createLower());
}

} // namespace

void buildPipeline(OpPassManager &manager, const PipelineOptions &options) {
  const std::pair<StringRef, std::function<void()>> phases[] = {
      {"simplify", [&] { addSimplify(manager, options.weights); }},
      {"raise",
       [&] {
         addRaise(manager);
         // Once attention has seen its keys as one concatenation, before fusions read the buffers.
         manager.addPass(passes::createInPlace(options.inPlace, options.onInPlaceRefused));
       }},
      {"narrow", // once norms and attention are ops, whose statistics are float32 in any case
       [&] { addNarrow(manager, options); }},
      {"fuse", [&] { addFuse(manager, options.weights); }},
      {"lower", [&] { addLower(manager); }},
  };
  bool isDue = options.after.empty() || options.after == "import";
  for (const auto &[phase, addPasses] : phases) {
    bool isWanted = isDue && (phase != "narrow" || !options.narrowTo.empty());
    if (isWanted)
      addPasses();
    if (isWanted && options.afterPhase)
      manager.addPass(std::make_unique<PhaseMarker>(phase, options.afterPhase));
    isDue |= phase == options.after;
    if (phase == options.until)
      break;
  }
}

void registerSmeltPasses() {
  passes::registerSmeltPasses();
  PassPipelineRegistration<>("smelt-simplify", "The simplify phase",
                             [](OpPassManager &manager) { addSimplify(manager, nullptr); });
  PassPipelineRegistration<>("smelt-raise", "The raise phase", addRaise);
  PassPipelineRegistration<>("smelt-fuse", "The fuse phase",
                             [](OpPassManager &manager) { addFuse(manager, nullptr); });
}

} // namespace smelt
