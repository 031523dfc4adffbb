#include "tests/generate/judge.h"

#include "tests/generate/device.h"
#include "tests/generate/reference.h"

#include "codegen/compile.h"
#include "frontend/import.h"
#include "ir/interpret/interpret.h"
#include "passes/pipeline.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace smelt::generate {

namespace {

// Scales and epsilons are float32 attributes, also in graphs of float64; passes compute some of them anew.
constexpr double kPhaseLimit = 1e-5;
// What narrowed inputs and weights may cost: several roundings of 2^-11 and 2^-8.
constexpr double kF16Limit = 5e-3, kBf16Limit = 4e-2;

/// The work on one graph.
class Judgement {
public:
  Judgement(const Graph &graph, const JudgeOptions &options)
      : graph(graph), options(options), context(MLIRContext::Threading::DISABLED),
        handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error && diagnostics.size() < 2000)
            diagnostics += diagnostic.str() + "\n";
          return success();
        }) {
    context.printOpOnDiagnostic(false);
  }

  Outcome run() {
    if (importGraph() && computeReferences() && runPasses() &&
        (options.device == Device::kCuda ? runOnDevice() : generate()))
      return outcome;
    return outcome;
  }

private:
  bool fail(const std::string &stage, const std::string &message) {
    outcome.failure = Failure{stage, message + (diagnostics.empty() ? "" : "\n" + diagnostics)};
    return false;
  }

  bool importGraph() {
    std::string bytes = graph.bytes();
    auto imported =
        importModel(context, ArrayRef<char>(bytes.data(), bytes.size()), ".", ImportOptions());
    if (failed(imported))
      return fail("import", "");
    model = std::move(*imported);
    return true;
  }

  size_t assignments() const { return graph.isDynamic() ? kAssignments : 1; }

  bool computeReferences() {
    for (size_t at = 0; at < assignments(); ++at) {
      inputs.push_back(drawInputs(graph, at, graph.seed));
      ReferenceResult result = computeReference(*model.module, *model.weights, inputs.back());
      outcome.rejection = result.rejection;
      if (!result.rejection.empty()) {
        references.clear();
        return options.compilesUndecided;
      }
      if (!result.reference)
        return fail("interpret", "the interpreter fails on the imported module");
      references.push_back(std::move(*result.reference));
    }
    return true;
  }

  /// The module as it stands in the interpreter, against the reference.
  bool interpret(const std::string &stage, size_t at) {
    if (references.empty())
      return true;
    Interpreter interpreter(*model.module, *model.weights, {Precision::f64, 1});
    auto results = interpreter.run(toTensors(*model.module, inputs[at]));
    if (failed(results))
      return fail(stage, "the interpreter fails");
    for (size_t i = 0; i < results->size(); ++i) {
      Reference &reference = references[at];
      double base = reference.hasCasts ? reference.base : std::min(reference.base, kPhaseLimit);
      if (!options.narrowTo.empty() && reference.hasCasts) // of what rounding may move over a step
        continue;
      if (!options.narrowTo.empty())
        base = std::max(base, options.narrowTo == "f16" ? kF16Limit : kBf16Limit);
      Verdict verdict =
          compare(toNumbers((*results)[i]), reference.outputs[i], !isFloatOutput((*results)[i]),
                  std::max(base, 1e-7), reference.sensitivities[i]);
      ++outcome.comparisons;
      if (!verdict.agrees)
        return fail(stage, "output " + std::to_string(i) + ": " + verdict.text);
    }
    return true;
  }

  bool runPasses() {
    PassManager manager(&context);
    PipelineOptions pipeline;
    pipeline.weights = model.weights.get();
    pipeline.afterPhase = [&](StringRef phase, ModuleOp) {
      bool isWanted = phase == "lower" || options.interpretsPhases;
      return success(!isWanted || interpret("phase " + phase.str(), 0));
    };
    pipeline.narrowTo = options.narrowTo;
    buildPipeline(manager, pipeline);
    if (failed(manager.run(*model.module)))
      return outcome.failure ? false : fail("passes", "a pass fails");
    for (size_t at = 1; at < assignments(); ++at)
      if (!interpret("phase lower", at))
        return false;
    return true;
  }

  bool generate() {
    for (const std::string &architecture : options.architectures) {
      auto kernels = codegen::generateKernels(*model.module, architecture, {});
      if (!kernels.isOk())
        return fail("codegen " + architecture, kernels.status().message());
      outcome.kernels += kernels->size();
      if (options.device == Device::kNone)
        keepPending(textsOf(*kernels), architecture);
    }
    return true;
  }

  static std::vector<codegen::KernelText>
  textsOf(const std::vector<codegen::ListedKernel> &listed) {
    std::vector<codegen::KernelText> texts;
    for (const codegen::ListedKernel &each : listed)
      texts.push_back(each.kernel.text);
    return texts;
  }

  /// Kernels of one fusion for other sizes differ in their configuration alone: of those behind its first, one is compiled,
  /// another in each graph. On a GPU all are.
  void keepPending(std::vector<codegen::KernelText> kernels, const std::string &architecture) {
    for (size_t first = 0, end; first < kernels.size(); first = end) {
      const std::string fusion = kernels[first].description;
      for (end = first + 1; end < kernels.size() && kernels[end].description == fusion;)
        ++end;
      if (end - first > 1)
        outcome.pending.push_back(
            {std::move(kernels[first + 1 + graph.seed % (end - first - 1)]), architecture});
      outcome.pending.push_back({std::move(kernels[first]), architecture});
    }
  }

  bool runOnDevice() {
    llvm::SmallString<128> path;
    if (llvm::sys::fs::createTemporaryFile("generated", "plan", path))
      return fail("plan", "no temporary file can be created");
    llvm::scope_exit remove([&] { (void)llvm::sys::fs::remove(path); });
    codegen::CompileOptions compile;
    compile.architectures = options.architectures;
    compile.cacheDirectory = options.cacheFolder;
    compile.nvrtcPath = options.nvrtcPath;
    compile.modelName = graph.kind;
    Status status =
        codegen::compileToPlan(*model.module, *model.weights, compile, path.str().str());
    if (!status.isOk())
      return fail("compile", status.message());
    for (size_t at = 0; at < assignments(); ++at)
      shapes.push_back({&inputs[at], {}});
    for (size_t at = 0; at < assignments(); ++at)
      for (const Numbers &output : references[at].outputs)
        shapes[at].outputShapes.push_back(output.shape);
    auto results = runPlan(path.str().str(), graph, shapes);
    if (!results.isOk())
      return fail("run", results.status().message());
    return compareRuns(*results);
  }

  bool compareRuns(const std::vector<std::vector<Array>> &runs) {
    for (size_t at = 0; at < runs.size(); ++at)
      for (size_t i = 0; i < runs[at].size(); ++i) {
        const Array &output = runs[at][i];
        Verdict verdict =
            compare(toNumbers(output), references[at].outputs[i], !isFloat(output.type),
                    references[at].base, references[at].sensitivities[i]);
        ++outcome.comparisons;
        if (!verdict.agrees)
          return fail("device", "shapes " + std::to_string(at) + ", output " + std::to_string(i) +
                                    ": " + verdict.text);
      }
    return true;
  }

  const Graph &graph;
  const JudgeOptions &options;
  std::string diagnostics;
  MLIRContext context;
  ScopedDiagnosticHandler handler;
  ImportedModel model;
  std::vector<std::vector<Array>> inputs;
  std::vector<Reference> references;
  std::vector<DeviceRun> shapes;
  Outcome outcome;
};

constexpr size_t kKernelsPerUnit = 24;

/// Texts that can stand in one translation unit: includes in front, the rest of each in a namespace of its own, in which
/// `smelt` is another namespace that sees everything of the real one.
std::string joinTexts(ArrayRef<const codegen::KernelText *> kernels) {
  std::string includes, bodies;
  for (auto [index, kernel] : llvm::enumerate(kernels)) {
    bodies += "namespace unit" + std::to_string(index) +
              " {\nnamespace smelt { using namespace ::smelt; }\n";
    for (StringRef line : llvm::split(kernel->text, '\n')) {
      bool isInclude = line.starts_with("#include");
      std::string text = line.str() + "\n";
      if (!isInclude)
        bodies += text;
      else if (includes.find(text) == std::string::npos)
        includes += text;
    }
    bodies += "}\n";
  }
  return includes + bodies;
}

void compileUnit(const codegen::Nvrtc &nvrtc, const std::vector<PendingKernel> &kernels,
                 ArrayRef<size_t> members, StringRef architecture, bool assembles,
                 std::vector<std::pair<size_t, std::string>> &failures) {
  auto refusal = [&](const codegen::KernelText &text) {
    return assembles ? nvrtc.compile(text, architecture).takeError()
                     : nvrtc.check(text, architecture);
  };
  SmallVector<const codegen::KernelText *> texts;
  for (size_t index : members)
    texts.push_back(&kernels[index].text);
  codegen::KernelText unit{"unit", joinTexts(texts), "several kernels", true};
  llvm::Error together = refusal(unit);
  if (!together)
    return;
  llvm::consumeError(std::move(together));
  for (size_t index : members)
    if (llvm::Error alone = refusal(kernels[index].text))
      failures.push_back({index, llvm::toString(std::move(alone))});
}

} // namespace

Outcome judge(const Graph &graph, const JudgeOptions &options) {
  return Judgement(graph, options).run();
}

std::vector<std::pair<size_t, std::string>>
compilePending(const codegen::Nvrtc &nvrtc, const std::vector<PendingKernel> &kernels,
               bool assembles) {
  std::vector<std::pair<size_t, std::string>> failures;
  std::map<std::string, SmallVector<size_t>> units;
  for (size_t index = 0; index < kernels.size(); ++index) {
    SmallVector<size_t> &unit = units[kernels[index].architecture];
    unit.push_back(index);
    if (unit.size() == kKernelsPerUnit) {
      compileUnit(nvrtc, kernels, unit, kernels[index].architecture, assembles, failures);
      unit.clear();
    }
  }
  for (auto &[architecture, unit] : units)
    if (!unit.empty())
      compileUnit(nvrtc, kernels, unit, architecture, assembles, failures);
  return failures;
}

} // namespace smelt::generate
