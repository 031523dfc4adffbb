#include "compiler/model.h"

#include "codegen/compile.h"
#include "codegen/element_type.h"
#include "compiler/build_plan.h"
#include "compiler/dumps.h"
#include "compiler/fuse.h"
#include "compiler/remarks_file.h"
#include "compiler/resolve_shapes.h"
#include "compiler/shape_limits.h"
#include "frontend/element_type.h"
#include "frontend/fixed_inputs.h"
#include "frontend/graph_inputs.h"
#include "frontend/import.h"
#include "frontend/model_file.h"
#include "ir/interpret/size_solver.h"
#include "ir/parse_text.h"
#include "passes/row_bound.h"
#include "runtime/plan_format.h"
#include "runtime/text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace mlir;

namespace smelt::compiler {

// What a dump says of itself beside its phase and its model.
static constexpr StringLiteral kSeed = "smelt.random_weights";
static constexpr StringLiteral kRepaired = "smelt.repaired_types";

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
  for (const SizeRelation &guard : guardRelations(module))
    signature.rules.push_back(
        {guard.left.toString(), guard.right.toString(), guard.isEquality, guard.why});
  return signature;
}

Model::Model(const ModelOptions &options)
    : modelPath(options.path), context(std::make_unique<MLIRContext>()),
      collector(*context, modelPath, options.onDiagnostic), onActivity(options.onActivity) {
  context->printOpOnDiagnostic(false);
}

int32_t onnxDataType(ElementType type) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  for (int32_t dataType = onnx_wire::Tensor::DataType_MIN;
       dataType <= onnx_wire::Tensor::DataType_MAX; ++dataType)
    if (Type element = frontend::elementType(&context, dataType))
      if (codegen::planElementType(element) == type)
        return dataType;
  llvm_unreachable("every type of a plan is one of ONNX's");
}

static ImportOptions importOptions(const ModelOptions &options) {
  ImportOptions result;
  result.inputShapes.assign(options.shapes.begin(), options.shapes.end());
  result.undeclaredShapes.assign(options.runShapes.begin(), options.runShapes.end());
  result.drawMissingWeights = options.randomWeights.has_value();
  result.seed = options.randomWeights.value_or(0);
  result.repairTypes = options.repairTypes;
  result.refit = options.refit;
  result.exposesAll = options.exposesAll;
  result.onRead = options.onRead;
  if (options.valueOf)
    result.valueOf = [&](const std::string &name, size_t number) -> std::optional<TensorValue> {
      std::optional<InputValue> value = options.valueOf(name, number);
      if (!value)
        return std::nullopt;
      return TensorValue{onnxDataType(value->type), std::move(value->shape),
                         std::move(value->bytes)};
    };
  return result;
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

static std::map<std::string, std::string> equalitiesOf(const std::vector<EquatedSymbol> &equated) {
  std::map<std::string, std::string> equalities;
  for (const EquatedSymbol &symbol : equated) {
    std::string &text = equalities[symbol.as];
    text += joinText(text.empty() ? "" : ", ", "node '", symbol.node, "' needs '", symbol.symbol,
                     "' = '", symbol.as, "'");
  }
  return equalities;
}

/// The signature of a model as it is without the shapes given for it, but for inputs that declare
/// none. None where it is not supported so.
static std::optional<Signature> openSignature(const std::string &path, ImportOptions options) {
  MLIRContext context;
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  options.undeclaredShapes = std::move(options.inputShapes);
  options.inputShapes.clear();
  FailureOr<ImportedModel> model = importModel(context, path, options);
  if (failed(model))
    return std::nullopt;
  Signature signature = signatureOf(*model->module);
  signature.constants = std::move(model->constantInputs);
  signature.equalities = equalitiesOf(model->equated);
  return signature;
}

/// Shapes that contradict the open model may still be the model's: sizes that it takes to be equal
/// broadcast where one of them is fixed as 1.
static bool importsAsGiven(const std::string &path, const ImportOptions &options) {
  MLIRContext context;
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  return succeeded(importModel(context, path, options));
}

/// What to import a model with for the shapes given: they, and all that follows from them. A size
/// fixed for one input would else leave an open one beside it that only ever has the same value.
/// Fails with kUsage where the shapes are not what the model declares.
static Result<ImportOptions> followOptions(const std::string &path, ImportOptions options,
                                           const std::optional<Signature> &open) {
  NamedShapes given(options.inputShapes.begin(), options.inputShapes.end());
  if (open) {
    Result<NamedShapes> followed = followShapes(*open, given);
    if (!followed.isOk() && !importsAsGiven(path, options))
      return followed.status();
    if (followed.isOk())
      options.inputShapes.assign(followed->begin(), followed->end());
    return options;
  }
  ImportOptions replacing = options;
  replacing.replacesDeclared = true; // what is declared is no model that is supported
  if (!given.empty() && importsAsGiven(path, replacing))
    return replacing;
  MLIRContext context;
  context.loadDialect<SmeltDialect>();
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  if (auto declared = declaredInputs(UnknownLoc::get(&context), path, options))
    SMELT_RETURN_IF_ERROR(followShapes(*declared, given).status());
  return options;
}

/// Imports for the shapes of `options`. Fails with kUsage where the shapes are at fault, not the
/// model: they are not what it declares, or it is supported without them. Where it is the model, the
/// problems are reported in `context`.
static Result<FailureOr<ImportedModel>> importForShapes(MLIRContext &context,
                                                        const std::string &path,
                                                        const ImportOptions &options,
                                                        const DiagnosticCollector &problems) {
  std::optional<Signature> open = openSignature(path, options);
  SMELT_ASSIGN_OR_RETURN(ImportOptions followed, followOptions(path, options, open));
  FailureOr<ImportedModel> model = importModel(context, path, followed);
  if (failed(model) && open)
    return problems.asStatus(StatusCode::kUsage, path + ": import failed");
  return model;
}

/// The shapes of the values that are given, and of the run, for the inputs of the file.
static std::vector<std::pair<std::string, std::vector<int64_t>>>
shapesOfRun(MLIRContext &context, const ModelOptions &options) {
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  auto file = frontend::readModelFile(UnknownLoc::get(&context), options.path);
  if (failed(file))
    return {};
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  for (const auto &[number, name] : llvm::enumerate(frontend::callerInputs((*file)->graph()))) {
    auto given = options.runShapes.find(name);
    if (given != options.runShapes.end())
      shapes.emplace_back(name, given->second);
    else if (auto shape = options.shapeOf ? options.shapeOf(name, number) : std::nullopt)
      shapes.emplace_back(name, std::move(*shape));
  }
  return shapes;
}

/// Imports with open sizes; a model that does not import so, or only for some sizes, is imported for
/// those of the run where they are given. Fails with kUsage where these are not what it declares.
static Result<FailureOr<ImportedModel>> importForRun(MLIRContext &context,
                                                     const ModelOptions &options) {
  frontend::HeldDiagnostics held(context);
  ImportOptions import = importOptions(options);
  FailureOr<ImportedModel> open = importModel(context, options.path, import);
  held.stop();
  if (failed(open) || open->assumesSizes)
    import.inputShapes = shapesOfRun(context, options);
  if (failed(open)) {
    SMELT_ASSIGN_OR_RETURN(import, followOptions(options.path, import, std::nullopt));
  }
  bool isLastWord =
      import.inputShapes.empty() || (succeeded(open) && !importsAsGiven(options.path, import));
  if (!isLastWord)
    return importModel(context, options.path, import);
  held.release();
  return open;
}

Status Model::read(const ModelOptions &options) {
  announce("importing " + options.path);
  SMELT_RETURN_IF_ERROR(checkReadable(options.path));
  return StringRef(options.path).ends_with(".mlir") ? readDump(options) : readOnnx(options);
}

/// Fails where a weight of `dump`, which is called `what`, is not what the model holds under its name.
static Status checkWeights(ModuleOp dump, const char *what, ModuleOp model,
                           const std::string &path) {
  llvm::StringMap<SourceAttr> sources;
  model.walk([&](WeightOp weight) { sources[weight.getName()] = weight.getSource(); });
  Status status;
  dump.walk([&](WeightOp weight) {
    if (sources.lookup(weight.getName()) != weight.getSource())
      status = Status(StatusCode::kInvalidModel,
                      joinText("weight '", weight.getName().str(), "' of ", what,
                               " is not that of ", path, ", which may have changed since"));
  });
  return status;
}

Status Model::readDump(const ModelOptions &options) {
  for (const NamedShapes *shapes : {&options.shapes, &options.smallest, &options.largest})
    if (!shapes->empty())
      return Status(StatusCode::kUsage,
                    options.path + " has its shapes; give others when compiling the model");
  context->loadDialect<SmeltDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> dump = parseTextFile(options.path, context.get());
  auto path = dump ? (*dump)->getAttrOfType<StringAttr>(kModelPath) : StringAttr();
  auto phase = dump ? (*dump)->getAttrOfType<StringAttr>(kPhase) : StringAttr();
  if (!path || !phase || !isPhase(phase.getValue()))
    return collector.asStatus(StatusCode::kInvalidModel,
                              options.path + ": is no dump of smelt: it names no model and phase");
  if (auto pass = (*dump)->getAttrOfType<StringAttr>(kPass))
    return Status(StatusCode::kUsage,
                  joinText(options.path, " was written after the pass ", pass.str(),
                           ", in the middle of a phase; smelt goes on from the files that its "
                           "index.txt names for phases"));
  restoreRemarks(*dump, options.path);
  ModelOptions original = options;
  original.path = path.str();
  return take(std::move(dump), "the dump", original);
}

Status Model::take(OwningOpRef<ModuleOp> dump, const char *what, ModelOptions original) {
  modelPath = original.path;
  if (auto seed = (*dump)->getAttrOfType<IntegerAttr>(kSeed))
    original.randomWeights = seed.getValue().getZExtValue();
  original.repairTypes |= (*dump)->hasAttr(kRepaired);
  original.refit = (*dump)->hasAttr(kRefit);
  for (const Port &input : signatureOf(*dump).inputs) // in case that the model declares no shapes
    for (const Extent &extent : input.shape)
      original.runShapes[input.name].push_back(extent.constant.value_or(kAnyExtent));
  SMELT_RETURN_IF_ERROR(checkReadable(modelPath));
  SMELT_RETURN_IF_ERROR(readOnnx(original));
  SMELT_RETURN_IF_ERROR(checkWeights(*dump, what, module(), modelPath));
  imported = std::move(dump);
  importedSignature = signatureOf(*imported);
  return {};
}

Result<std::unique_ptr<Model>> Model::reopen(const ModelOptions &options, const std::string &ir) {
  std::unique_ptr<Model> model(new Model(options));
  model->context->loadDialect<SmeltDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> fused = parseText(ir, model->context.get());
  if (!fused || !fused->lookupSymbol<func::FuncOp>("main"))
    return model->collector.asStatus(StatusCode::kPlan, "the IR of the plan cannot be read");
  SMELT_RETURN_IF_ERROR(model->take(std::move(fused), "the plan", options));
  return model;
}

/// What readDump needs to know.
static void markOrigin(ModuleOp module, const ModelOptions &options) {
  Builder builder(module.getContext());
  SmallString<128> path(options.path);
  (void)llvm::sys::fs::make_absolute(path); // else as it was given
  module->setAttr(kPhase, builder.getStringAttr("import"));
  module->setAttr(kModelPath, builder.getStringAttr(path));
  if (options.repairTypes)
    module->setAttr(kRepaired, builder.getUnitAttr());
  if (options.randomWeights)
    module->setAttr(kSeed, builder.getIntegerAttr(builder.getIntegerType(64, /*isSigned=*/false),
                                                  APInt(64, *options.randomWeights)));
}

Status Model::readOnnx(const ModelOptions &options) {
  SMELT_ASSIGN_OR_RETURN(
      FailureOr<ImportedModel> result,
      options.shapes.empty()
          ? importForRun(*context, options)
          : importForShapes(*context, options.path, importOptions(options), collector));
  if (failed(result))
    return collector.asStatus(StatusCode::kInvalidModel, options.path + ": import failed");
  imported = std::move(result->module);
  weightStore = std::move(result->weights);
  stored = std::move(result->initializers);
  passes::markRowBounds(module().lookupSymbol<func::FuncOp>("main"));
  importedSignature = signatureOf(*imported);
  importedSignature.constants = std::move(result->constantInputs);
  importedSignature.equalities = equalitiesOf(result->equated);
  for (FixedInput &input : result->fixedInputs)
    importedSignature.fixed.push_back({std::move(input.name), input.number});
  markOrigin(module(), options);
  return addShapeLimits(module(), importedSignature, options.smallest, options.largest);
}

Result<std::unique_ptr<Model>> Model::import(const ModelOptions &options) {
  std::unique_ptr<Model> model(new Model(options));
  SMELT_RETURN_IF_ERROR(model->read(options));
  return model;
}

Result<std::vector<Problem>> checkModel(const ModelOptions &options) {
  Model model(options);
  Status status = model.read(options);
  if (status.isOk())
    status = model.fuse({});
  model.announce("choosing kernels");
  if (status.isOk())
    status = codegen::generateKernels(model.module(), PlanOptions().architectures[0], {}).status();
  if (!status.isOk() && status.code() != StatusCode::kInvalidModel)
    return status;
  std::vector<Problem> problems = model.diagnostics().problems();
  if (!status.isOk() && problems.empty())
    problems.push_back({options.path, status.message(), {}});
  return problems;
}

/// A fusion's arguments are where its inputs are, and its results are where it is: said once is enough.
static void placeOnce(ModuleOp module) {
  Location nowhere = UnknownLoc::get(module.getContext());
  module.walk([&](FusionOp fusion) {
    for (BlockArgument argument : fusion.getBlock().getArguments())
      argument.setLoc(nowhere);
    fusion.getYield()->setLoc(nowhere);
  });
}

std::string moduleText(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  placeOnce(*copy);
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(true, /*prettyForm=*/false); // the pretty form does not parse
  flags.useLocalScope();
  copy->print(stream, flags);
  return text;
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

} // namespace smelt::compiler
