// Model::fuse: the pass pipeline with what surrounds it, dumps, reproducers, progress, and the
// measurement that narrowing may ask for in its middle.
#include "compiler/fuse.h"

#include "codegen/output_file.h"
#include "compiler/dumps.h"
#include "compiler/folder.h"
#include "compiler/fused_ir.h"
#include "compiler/model.h"
#include "compiler/narrow_within.h"
#include "passes/pipeline.h"
#include "runtime/text.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <optional>

using namespace mlir;

namespace smelt::compiler {

/// The phases, in the order of their dumps' numbers.
static constexpr StringLiteral kPhases[] = {"import", "simplify", "raise",
                                            "narrow", "fuse",     "lower"};

bool isPhase(StringRef name) { return llvm::is_contained(kPhases, name); }

/// What the phase narrow is told; "" where there is none.
static StringRef narrowType(FloatPrecision precision) {
  if (precision == FloatPrecision::fp16)
    return "f16";
  return precision == FloatPrecision::bf16 ? "bf16" : "";
}

namespace {

/// What happens at the end of each phase: a dump, and a report to the caller.
class PhaseEnd {
public:
  PhaseEnd(const FuseOptions &options, Dumps &dumps) : options(options), dumps(dumps) {}

  Status operator()(StringRef phase, ModuleOp module) {
    module->setAttr(kPhase, StringAttr::get(module.getContext(), phase));
    if (phase == "narrow")
      markNarrowed(module, options.narrowing);
    size_t number = llvm::find(kPhases, phase) - std::begin(kPhases);
    SMELT_RETURN_IF_ERROR(dumps.endPhase(phase, number, module));
    if (options.progress && !options.progress({phase, 1, 1}))
      return Status(StatusCode::kResources, "stopped after the phase " + phase.str());
    return {};
  }

private:
  const FuseOptions &options;
  Dumps &dumps;
};

/// Tells of each pass that begins, and dumps what it leaves. Those without a name only lead to others.
class PassWatch : public PassInstrumentation {
public:
  /// `written` becomes why a dump could not be written.
  PassWatch(const Model &model, Dumps &dumps, Status &written)
      : model(model), dumps(dumps), written(written) {}

  void runBeforePass(Pass *pass, Operation *) override {
    if (StringRef name = pass->getArgument(); !name.empty())
      model.announce("running the pass " + name.str());
    begin = std::chrono::steady_clock::now();
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
    if (StringRef name = pass->getArgument(); !name.empty() && written.isOk())
      written = dumps.endPass(name, took.count(), module);
  }

private:
  const Model &model;
  Dumps &dumps;
  Status &written;
  std::chrono::steady_clock::time_point begin;
};

/// What makes the passes fail: the module as it is before them, and their names, in the form that `smelt-opt --run-reproducer` takes.
class Reproducer {
public:
  Reproducer(ModuleOp before, PipelineOptions options) : module(before.clone()) {
    options.afterPhase = nullptr; // which has no name
    PassManager named(before.getContext());
    buildPipeline(named, options);
    llvm::raw_string_ostream stream(pipeline);
    named.printAsTextualPipeline(stream);
  }

  /// Says what became of it.
  std::string write(const std::string &path) const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    AsmState state(*module, OpPrintingFlags().enableDebugInfo());
    state.attachResourcePrinter(AsmResourcePrinter::fromCallable(
        "mlir_reproducer", [&](Operation *, AsmResourceBuilder &builder) {
          builder.buildString("pipeline", pipeline);
          builder.buildBool("disable_threading", true);
          builder.buildBool("verify_each", true);
        }));
    (*module)->print(stream, state);
    Status written = codegen::writeText(text, path);
    return written.isOk() ? path + " reproduces it" : written.message();
  }

private:
  OwningOpRef<ModuleOp> module;
  std::string pipeline;
};

} // namespace

Status Model::runPhases(const FuseOptions &options, Dumps &dumps, StringRef after,
                        StringRef until) {
  PhaseEnd endPhase(options, dumps);
  PassManager manager(context.get());
  Status written;
  manager.addInstrumentation(std::make_unique<PassWatch>(*this, dumps, written));
  bool refusedInPlace = false;
  Status ended;
  PipelineOptions pipeline;
  pipeline.weights = weightStore.get();
  pipeline.inPlace = options.inPlace;
  pipeline.onInPlaceRefused = [&] { refusedInPlace = true; };
  pipeline.narrowTo = narrowType(options.narrowing.to);
  pipeline.after = after.str();
  pipeline.until = until.str();
  pipeline.afterPhase = [&](StringRef phase, ModuleOp module) {
    ended = endPhase(phase, module);
    return success(ended.isOk());
  };
  buildPipeline(manager, pipeline);
  std::optional<Reproducer> reproducer;
  if (!options.reproducer.empty())
    reproducer.emplace(module(), pipeline);
  auto write = [&] { return reproducer->write(options.reproducer); };
  if (reproducer && options.onPasses)
    options.onPasses(write);
  LogicalResult fused = manager.run(module());
  if (reproducer && options.onPasses)
    options.onPasses(nullptr);
  SMELT_RETURN_IF_ERROR(written);
  SMELT_RETURN_IF_ERROR(ended);
  if (succeeded(fused))
    return {};
  if (refusedInPlace)
    return Status(StatusCode::kUsage, problemText(collector.problems().front(), modelPath));
  std::string what = "this is a defect of Smelt";
  if (reproducer)
    what += "; " + write();
  return collector.asStatus(StatusCode::kInternal, "a pass failed").within(what);
}

Status Model::fuse(const FuseOptions &options) {
  if (!options.dumpFolder.empty())
    SMELT_RETURN_IF_ERROR(createFolder(options.dumpFolder));
  StringRef begin = module()->getAttrOfType<StringAttr>(kPhase).getValue();
  bool isNarrowed = narrows(options.narrowing.to);
  if (isNarrowed && (begin == "fuse" || begin == "lower"))
    return Status(StatusCode::kUsage, modelPath + ": the dump is of a later phase than the one "
                                                  "that changes the precision; give the model");
  Dumps dumps(options.dumpFolder, options.dumpsEveryPass);
  SMELT_RETURN_IF_ERROR(PhaseEnd(options, dumps)(begin, module()));
  if (!isNarrowed || !options.narrowing.within)
    return runPhases(options, dumps, begin, "");
  if (begin == "import" || begin == "simplify")
    SMELT_RETURN_IF_ERROR(runPhases(options, dumps, begin, "raise"));
  announce("measuring what 16 bits would cost");
  SMELT_ASSIGN_OR_RETURN(NarrowingReport report,
                         narrowWithin(module(), *weightStore, options.narrowing, options.progress));
  if (options.narrowing.onMeasured)
    options.narrowing.onMeasured(report);
  return runPhases(options, dumps, "raise", "");
}

} // namespace smelt::compiler
