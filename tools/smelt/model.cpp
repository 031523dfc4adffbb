#include "tools/smelt/model.h"

#include "codegen/element_type.h"
#include "codegen/output_file.h"
#include "frontend/graph_inputs.h"
#include "frontend/import.h"
#include "frontend/model_file.h"
#include "passes/pipeline.h"
#include "runtime/plan_format.h"
#include "runtime/text.h"
#include "tools/smelt/folder.h"
#include "tools/smelt/row_bound.h"
#include "tools/smelt/shape_limits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace mlir;

namespace smelt::tools {

static constexpr int64_t kMaxPrintedElements = 16;

static Port portOf(const std::string &name, TensorType tensor) {
  Port port{name, codegen::planElementType(tensor.getElementType()), {}, {}};
  for (Dim dim : tensor.getShape())
    port.shape.push_back({dim.toString(), dim.asConstant()});
  return port;
}

static Port portOf(DictionaryAttr attributes, Type type, const std::string &fallback) {
  auto name = attributes ? attributes.getAs<StringAttr>("smelt.name") : StringAttr();
  return portOf(name ? name.str() : fallback, cast<TensorType>(type));
}

Signature signatureOf(ModuleOp module) {
  Signature signature;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    Port &port = signature.inputs.emplace_back(
        portOf(main.getArgAttrDict(i), main.getArgumentTypes()[i], joinText("input_", i)));
    if (auto bound = main.getArgAttrOfType<IntegerAttr>(i, "smelt.row_bound"))
      port.bound = bound.getInt();
  }
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    signature.outputs.push_back(
        portOf(main.getResultAttrDict(i), main.getResultTypes()[i], joinText("output_", i)));
  return signature;
}

Model::Model(std::string path)
    : modelPath(std::move(path)), context(std::make_unique<MLIRContext>()),
      collector(*context, modelPath) {
  context->printOpOnDiagnostic(false);
}

static Result<ImportOptions> importOptions(const ModelFlags &flags) {
  ImportOptions options;
  SMELT_ASSIGN_OR_RETURN(NamedShapes shapes, parseShapes(flags.shapes));
  SMELT_ASSIGN_OR_RETURN(NamedShapes runShapes, parseShapes(flags.runShapes));
  options.inputShapes.assign(shapes.begin(), shapes.end());
  options.undeclaredShapes.assign(runShapes.begin(), runShapes.end());
  options.drawMissingWeights = flags.randomWeights.has_value();
  options.seed = flags.randomWeights.value_or(0);
  return options;
}

static Status checkReadable(const std::string &path) {
  llvm::sys::fs::file_status status;
  (void)llvm::sys::fs::status(path, status); // before it is opened: a pipe would wait for a writer
  if (llvm::sys::fs::is_directory(status))
    return Status(StatusCode::kUsage, path + ": is a folder, not a model");
  if (llvm::sys::fs::is_other(status))
    return Status(StatusCode::kUsage, path + ": is not a regular file");
  if (!std::ifstream(path, std::ios::binary))
    return Status(StatusCode::kUsage, joinText(path, ": cannot be opened: ", std::strerror(errno)));
  if (isPlan(path))
    return Status(StatusCode::kUsage,
                  path + ": is a plan, which is compiled already; give the .onnx that it was made "
                         "from (smelt inspect shows what a plan holds)");
  return {};
}

/// What the file declares, before any shape is given: no outputs. None where it is at fault itself.
static std::optional<Signature> declaredInputs(Location location, const std::string &path,
                                               const ImportOptions &options) {
  auto file = frontend::readModelFile(location, path);
  if (failed(file))
    return std::nullopt;
  const onnx_wire::Graph &graph = (*file)->graph();
  auto inputs = frontend::readInputs(location, graph, {}, options.inputShapes);
  if (failed(inputs))
    return std::nullopt;
  Signature declared;
  for (const frontend::GraphInput &input : *inputs)
    declared.inputs.push_back(portOf(input.name, input.type));
  for (const onnx_wire::Tensor &tensor : graph.initializer())
    declared.constants.push_back(tensor.name());
  return declared;
}

/// After an import that failed: kUsage where that is no problem of the model, but of the shapes
/// given for it, since they are not what it declares, or it is supported without them.
static Status checkShapes(const std::string &path, const ImportOptions &options,
                          const DiagnosticCollector &problems) {
  if (options.inputShapes.empty())
    return {};
  MLIRContext context;
  context.loadDialect<SmeltDialect>();
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  if (auto declared = declaredInputs(UnknownLoc::get(&context), path, options)) {
    NamedShapes given(options.inputShapes.begin(), options.inputShapes.end());
    SMELT_RETURN_IF_ERROR(resolveShapes(*declared, given).status());
  }
  ImportOptions open = options;
  open.undeclaredShapes = std::move(open.inputShapes);
  open.inputShapes.clear();
  bool isSupported = succeeded(importModel(context, path, open));
  return isSupported ? problems.asStatus(StatusCode::kUsage, path + ": import failed") : Status();
}

static std::map<std::string, std::string> equalitiesOf(const std::vector<EquatedSymbol> &equated) {
  std::map<std::string, std::string> equalities;
  for (const EquatedSymbol &symbol : equated) {
    std::string &text = equalities[symbol.as];
    text += joinText(text.empty() ? "" : ", ", "node '", symbol.node, "' needs '", symbol.symbol,
                     "' = '", symbol.as, "'");
  }
  return equalities;
}

Result<std::unique_ptr<Model>> Model::import(const ModelFlags &flags) {
  SMELT_RETURN_IF_ERROR(checkReadable(flags.path));
  SMELT_ASSIGN_OR_RETURN(ImportOptions options, importOptions(flags));
  std::unique_ptr<Model> model(new Model(flags.path));
  FailureOr<ImportedModel> result = importModel(*model->context, flags.path, options);
  if (failed(result)) {
    SMELT_RETURN_IF_ERROR(checkShapes(flags.path, options, model->collector));
    return model->collector.asStatus(StatusCode::kInvalidModel, flags.path + ": import failed");
  }
  model->imported = std::move(result->module);
  model->weightStore = std::move(result->weights);
  markRowBounds(model->module().lookupSymbol<func::FuncOp>("main"));
  model->importedSignature = signatureOf(*model->imported);
  model->importedSignature.constants = std::move(result->constantInputs);
  model->importedSignature.equalities = equalitiesOf(result->equated);
  SMELT_ASSIGN_OR_RETURN(NamedShapes smallest, parseShapes(flags.minShapes));
  SMELT_ASSIGN_OR_RETURN(NamedShapes largest, parseShapes(flags.maxShapes));
  SMELT_RETURN_IF_ERROR(
      addShapeLimits(model->module(), model->importedSignature, smallest, largest));
  return model;
}

Result<std::vector<Problem>> checkModel(const ModelFlags &flags) {
  SMELT_RETURN_IF_ERROR(checkReadable(flags.path));
  SMELT_ASSIGN_OR_RETURN(ImportOptions options, importOptions(flags));
  MLIRContext context;
  context.printOpOnDiagnostic(false);
  DiagnosticCollector collector(context, flags.path);
  if (failed(importModel(context, flags.path, options))) {
    SMELT_RETURN_IF_ERROR(checkShapes(flags.path, options, collector));
    std::vector<Problem> problems = collector.problems();
    if (problems.empty())
      problems.push_back({flags.path, "import failed", {}});
    return problems;
  }
  return std::vector<Problem>();
}

std::string moduleText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(kMaxPrintedElements);
  flags.enableDebugInfo(true, true);
  flags.useLocalScope();
  module.print(stream, flags);
  return text;
}

static Status dumpModule(ModuleOp module, const std::string &path) {
  std::string text = moduleText(module);
  SMELT_ASSIGN_OR_RETURN(codegen::OutputFile file, codegen::OutputFile::create(path));
  SMELT_RETURN_IF_ERROR(file.append(std::as_bytes(std::span<const char>(text))));
  return file.publish();
}

Status Model::fuse(const std::string &dumpFolder) {
  Status dumped;
  unsigned phase = 0;
  auto dump = [&](StringRef name) {
    if (dumpFolder.empty() || !dumped.isOk())
      return;
    dumped = dumpModule(
        module(), joinText(dumpFolder, "/", phase / 10, phase % 10, "_", name.str(), ".mlir"));
    ++phase;
  };
  if (!dumpFolder.empty())
    SMELT_RETURN_IF_ERROR(createFolder(dumpFolder));
  dump("import");
  std::string reproducer = joinText("smelt-reproducer-", getpid(), ".mlir");
  PassManager manager(context.get());
  manager.enableCrashReproducerGeneration(reproducer);
  PipelineOptions options;
  options.weights = weightStore.get();
  options.afterPhase = [&](StringRef name, ModuleOp) { dump(name); };
  buildPipeline(manager, options);
  LogicalResult fused = manager.run(module());
  // MLIR's reproducer turns recovery from crashes off behind itself; main() still relies on it.
  llvm::CrashRecoveryContext::Enable();
  if (failed(fused))
    return collector.asStatus(StatusCode::kInternal, "a pass failed")
        .within("this is a defect of Smelt; " + reproducer + " reproduces it");
  return dumped;
}

std::vector<std::string> Model::filePaths() const {
  std::vector<std::string> paths = weightStore->filePaths();
  paths.push_back(modelPath);
  return paths;
}

Status refuseToReplace(const std::vector<std::string> &ownFiles, const std::string &output) {
  for (const std::string &file : ownFiles)
    if (bool isSame = false; !llvm::sys::fs::equivalent(file, output, isSame) && isSame)
      return Status(StatusCode::kUsage,
                    joinText(output, ": is the model's own file ", file, "; name another output"));
  return {};
}

bool isPlan(const std::string &path) {
  std::array<char, sizeof(plan::kMagic)> start = {};
  if (llvm::sys::fs::is_regular_file(path))
    std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  bool hasMagic = std::memcmp(start.data(), &plan::kMagic, start.size()) == 0;
  return hasMagic || StringRef(path).ends_with(".plan");
}

} // namespace smelt::tools
