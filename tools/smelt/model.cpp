#include "tools/smelt/model.h"

#include "codegen/output_file.h"
#include "frontend/import.h"
#include "passes/pipeline.h"
#include "runtime/plan_format.h"
#include "runtime/text.h"
#include "tools/smelt/row_bound.h"

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

static ElementType elementTypeOf(Type type) {
  if (type.isF16())
    return ElementType::f16;
  if (type.isBF16())
    return ElementType::bf16;
  if (type.isF32())
    return ElementType::f32;
  if (type.isF64())
    return ElementType::f64;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return ElementType::boolean;
  case 8:
    return type.isUnsignedInteger() ? ElementType::u8 : ElementType::i8;
  case 16:
    return ElementType::i16;
  case 32:
    return ElementType::i32;
  default:
    return ElementType::i64;
  }
}

static Port portOf(DictionaryAttr attributes, Type type, const std::string &fallback) {
  auto name = attributes ? attributes.getAs<StringAttr>("smelt.name") : StringAttr();
  auto tensor = cast<TensorType>(type);
  Port port{name ? name.str() : fallback, elementTypeOf(tensor.getElementType()), {}, {}};
  for (Dim dim : tensor.getShape())
    port.shape.push_back({dim.toString(), dim.asConstant()});
  return port;
}

Signature signatureOf(ModuleOp module) {
  Signature signature;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    Port &port = signature.inputs.emplace_back(
        portOf(main.getArgAttrDict(i), main.getArgumentTypes()[i], joinText("input_", i)));
    port.bound = rowBound(main.getArgument(i));
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

static ImportOptions importOptions(const ModelFlags &flags, const NamedShapes &shapes) {
  ImportOptions options;
  for (const auto &[name, shape] : shapes)
    options.inputShapes.emplace_back(name, shape);
  options.drawMissingWeights = flags.randomWeights.has_value();
  options.seed = flags.randomWeights.value_or(0);
  return options;
}

static Status checkReadable(const std::string &path) {
  llvm::sys::fs::file_status status;
  llvm::sys::fs::status(path, status); // before it is opened: a pipe would wait for a writer
  if (llvm::sys::fs::is_directory(status))
    return Status(StatusCode::kUsage, path + ": is a folder, not a model");
  if (llvm::sys::fs::is_other(status))
    return Status(StatusCode::kUsage, path + ": is not a regular file");
  if (!std::ifstream(path, std::ios::binary))
    return Status(StatusCode::kUsage, joinText(path, ": cannot be opened: ", std::strerror(errno)));
  return {};
}

Result<std::unique_ptr<Model>> Model::import(const ModelFlags &flags) {
  SMELT_RETURN_IF_ERROR(checkReadable(flags.path));
  SMELT_ASSIGN_OR_RETURN(NamedShapes shapes, parseShapes(flags.shapes));
  std::unique_ptr<Model> model(new Model(flags.path));
  FailureOr<ImportedModel> result =
      importModel(*model->context, flags.path, importOptions(flags, shapes));
  if (failed(result))
    return model->collector.asStatus(StatusCode::kInvalidModel, flags.path + ": import failed");
  model->imported = std::move(result->module);
  model->weightStore = std::move(result->weights);
  model->importedSignature = signatureOf(*model->imported);
  SMELT_RETURN_IF_ERROR(model->addShapeLimits(flags));
  return model;
}

Result<std::vector<Problem>> checkModel(const ModelFlags &flags) {
  SMELT_RETURN_IF_ERROR(checkReadable(flags.path));
  SMELT_ASSIGN_OR_RETURN(NamedShapes shapes, parseShapes(flags.shapes));
  MLIRContext context;
  context.printOpOnDiagnostic(false);
  DiagnosticCollector collector(context, flags.path);
  if (failed(importModel(context, flags.path, importOptions(flags, shapes)))) {
    std::vector<Problem> problems = collector.problems();
    if (problems.empty())
      problems.push_back({flags.path, "import failed"});
    return problems;
  }
  return std::vector<Problem>();
}

/// One `lower <= upper` of the module's guards.
static Attribute guard(Dim lower, Dim upper, const std::string &message) {
  Builder builder(lower.getContext());
  return builder.getDictionaryAttr({
      builder.getNamedAttr("left", lower.getAttribute()),
      builder.getNamedAttr("relation", builder.getStringAttr("less_equal")),
      builder.getNamedAttr("right", upper.getAttribute()),
      builder.getNamedAttr("message", builder.getStringAttr(message)),
  });
}

/// Adds guards that keep each given dimension of the inputs at or above (or below) a limit.
static Status addLimits(ModuleOp module, const Signature &signature, const NamedShapes &limits,
                        bool isMinimum, SmallVectorImpl<Attribute> &guards) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  const char *flag = isMinimum ? "--min-shape" : "--max-shape";
  NamedShapes known;
  for (auto [index, input] : llvm::enumerate(signature.inputs)) {
    auto limit = limits.find(input.name);
    if (limit == limits.end())
      continue;
    known.insert(*limit);
    if (limit->second.size() != input.shape.size())
      return Status(StatusCode::kUsage,
                    joinText(flag, " ", input.name, ": the input is ", typeText(input)));
    SmallVector<Dim> shape = cast<TensorType>(main.getArgumentTypes()[index]).getShape();
    for (auto [dim, extent] : llvm::zip(shape, limit->second)) {
      if (extent < 0 || dim.asConstant())
        continue;
      Dim bound = Dim::constant(module.getContext(), extent);
      guards.push_back(
          guard(isMinimum ? bound : dim, isMinimum ? dim : bound,
                joinText("the model was compiled with ", flag, " for '", input.name, "'")));
    }
  }
  for (const auto &[name, limit] : limits)
    if (!known.contains(name))
      return Status(StatusCode::kUsage, joinText(flag, ": the model has no input '", name, "'"));
  return {};
}

Status Model::addShapeLimits(const ModelFlags &flags) {
  SMELT_ASSIGN_OR_RETURN(NamedShapes smallest, parseShapes(flags.minShapes));
  SMELT_ASSIGN_OR_RETURN(NamedShapes largest, parseShapes(flags.maxShapes));
  SmallVector<Attribute> guards;
  if (auto existing = module()->getAttrOfType<ArrayAttr>("smelt.guards"))
    guards.append(existing.begin(), existing.end());
  SMELT_RETURN_IF_ERROR(addLimits(module(), importedSignature, smallest, true, guards));
  SMELT_RETURN_IF_ERROR(addLimits(module(), importedSignature, largest, false, guards));
  module()->setAttr("smelt.guards", ArrayAttr::get(context.get(), guards));
  return {};
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

static Status createFolder(const std::string &path) {
  if (std::error_code error = llvm::sys::fs::create_directories(path))
    return Status(StatusCode::kResources, joinText(path, ": cannot be created: ", error.message()));
  return {};
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

bool isPlan(const std::string &path) {
  std::array<char, sizeof(plan::kMagic)> start = {};
  if (llvm::sys::fs::is_regular_file(path))
    std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  bool hasMagic = std::memcmp(start.data(), &plan::kMagic, start.size()) == 0;
  return hasMagic || StringRef(path).ends_with(".plan");
}

} // namespace smelt::tools
