// smelt compare: every output against the interpreter, in double precision, on the model as it was
// imported; where one disagrees, the model as imported in float32, for some models mean what
// float32 makes of them: rounding by a large constant, rows that are masked everywhere. Where both
// disagree, every fusion against the interpreter on the same inputs.
#include "runtime/text.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/compare_fusions.h"
#include "tools/smelt/dimensions.h"
#include "tools/smelt/error_statistics.h"
#include "tools/smelt/limits.h"
#include "tools/smelt/report.h"
#include "tools/smelt/temporary_file.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace smelt::tools {

namespace {

struct Flags {
  OpenFlags open;
  InputFlags inputs;
  std::string plan;
  std::optional<double> tolerance;
  bool json = false;
};

/// What an output should be, and the arithmetic that says so.
struct Reference {
  Array array;
  const char *arithmetic = "float64";
};

} // namespace

/// A float output is as exact as the coarsest arithmetic on the way to it.
static double toleranceFor(const Flags &flags, const Port &port, ElementType arithmetic) {
  if (flags.tolerance)
    return *flags.tolerance;
  FloatPrecision precision = flags.open.precision;
  if (arithmetic == ElementType::f32 && narrows(precision))
    arithmetic = ElementType::f16;
  return defaultTolerance(isFloat(port.type) ? arithmetic : port.type,
                          precision == FloatPrecision::tf32);
}

/// The session of a given plan, which must be one of the model.
static Result<OpenModel> openGivenPlan(const std::string &path, int device,
                                       const Signature &model) {
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, runtime::readPlan(path));
  std::string difference = findDifference(model, signatureOf(plan.metadata()));
  if (!difference.empty())
    return Status(StatusCode::kUsage,
                  joinText(path, " was compiled from another model: ", difference));
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<CudaSession> session, CudaSession::open(plan, device));
  CudaSession *cuda = session.get();
  return OpenModel{nullptr, std::move(session), cuda};
}

/// The session to judge. On the CPU that is the interpreter on the fused module in float32, which a
/// narrowed one is already.
static Result<OpenModel> openJudged(const Flags &flags, const Signature &model) {
  if (!flags.plan.empty())
    return openGivenPlan(flags.plan, flags.open.device.number, model);
  SMELT_ASSIGN_OR_RETURN(OpenModel opened, openModel(flags.open));
  if (!opened.cuda && !narrows(flags.open.precision)) {
    SMELT_RETURN_IF_ERROR(fuse(*opened.model));
    opened.session = openCpuSession(*opened.model, CpuArithmetic::kFloat);
  }
  return opened;
}

/// Judges the outputs; adds a row of each to `table` and `list`. Returns what disagrees, as text.
static std::string judge(const Flags &flags, const Signature &signature,
                         const std::vector<ElementType> &computedIn,
                         const std::vector<Array> &outputs,
                         const std::vector<Reference> &references, Table &table,
                         llvm::json::Array &list) {
  std::string failures;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Port &port = signature.outputs[i];
    const auto &[reference, arithmetic] = references[i];
    double tolerance = toleranceFor(flags, port, computedIn[i]);
    if (outputs[i].shape != reference.shape) {
      failures += joinText("\noutput '", port.name, "' has shape ", shapeText(outputs[i].shape),
                           ", expected ", shapeText(reference.shape));
      continue;
    }
    ErrorStatistics error = compareTensors(outputs[i], reference);
    bool agrees = error.relativeNorm <= tolerance;
    std::string position = positionText(error.worstIndex, reference.shape);
    table.add({port.name, shapeText(outputs[i].shape), scientificText(error.relativeNorm),
               scientificText(tolerance), scientificText(error.maxAbsolute), position,
               shortText(error.worstOutput), shortText(error.worstReference),
               agrees ? joinText("ok in ", arithmetic) : "DIFFERS"});
    list.push_back(llvm::json::Object{{"name", port.name},
                                      {"shape", llvm::json::Array(outputs[i].shape)},
                                      {"relative_norm", jsonNumber(error.relativeNorm)},
                                      {"tolerance", tolerance},
                                      {"max_absolute", jsonNumber(error.maxAbsolute)},
                                      {"worst_position", position},
                                      {"worst_output", jsonNumber(error.worstOutput)},
                                      {"worst_reference", jsonNumber(error.worstReference)},
                                      {"non_finite", static_cast<int64_t>(error.nonFiniteOutputs)},
                                      {"reference", arithmetic},
                                      {"agrees", agrees}});
    if (!agrees)
      failures +=
          joinText("\noutput '", port.name, "': relative error ",
                   scientificText(error.relativeNorm), " exceeds ", scientificText(tolerance));
  }
  return failures;
}

static llvm::json::Array fusionsJson(const std::vector<FusionError> &fusions) {
  llvm::json::Array list;
  for (const FusionError &fusion : fusions)
    list.push_back(llvm::json::Object{{"kernel", static_cast<int64_t>(fusion.index)},
                                      {"kind", fusion.kind},
                                      {"onnx_nodes", fusion.nodes},
                                      {"relative_norm", jsonNumber(fusion.relativeNorm)},
                                      {"max_absolute", jsonNumber(fusion.maxAbsolute)},
                                      {"agrees", fusion.agrees}});
  return list;
}

static void printFusions(const std::vector<FusionError> &fusions) {
  Table table({"kernel", "kind", "relative error", "largest error", "", "ONNX nodes"});
  for (const FusionError &fusion : fusions)
    table.add({std::to_string(fusion.index), fusion.kind, scientificText(fusion.relativeNorm),
               scientificText(fusion.maxAbsolute), fusion.agrees ? "ok" : "DIFFERS", fusion.nodes});
  print("\nevery fusion, on the inputs that it had:");
  table.print();
}

/// Judges every fusion of a model by what the GPU makes of it.
static Result<std::vector<FusionError>> compareOnGpu(Model &model, const std::vector<Array> &inputs,
                                                     FloatPrecision precision, int device) {
  auto run = [&](Model &fused, const std::vector<Array> &given) -> Result<std::vector<Array>> {
    SMELT_ASSIGN_OR_RETURN(std::string architecture, deviceArchitecture(device));
    SMELT_ASSIGN_OR_RETURN(TemporaryFile plan, TemporaryFile::create("plan"));
    SMELT_RETURN_IF_ERROR(build(fused, {{architecture}, precision}, plan.path()));
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<CudaSession> session,
                           CudaSession::open(plan.path(), device));
    return session->run(given);
  };
  return compareFusions(model, inputs, precision == FloatPrecision::tf32, run);
}

/// "\nthe first fusion that differs is kernel 3, gemm of /layer.0/MatMul", or that none does.
static std::string firstWrong(const std::vector<FusionError> &fusions) {
  for (const FusionError &fusion : fusions)
    if (!fusion.agrees)
      return joinText("\nthe first fusion that differs on the inputs that it had is kernel ",
                      fusion.index, ", ", fusion.kind, " of ", fusion.nodes, ": relative error ",
                      scientificText(fusion.relativeNorm));
  return fusions.empty() ? "" : "\nevery fusion agrees on the inputs that it had";
}

/// The imported model in double precision; in float32 for outputs that only agree with that, unless
/// the user said how exact they must be.
static Result<std::vector<Reference>> references(const Flags &flags, Model &imported,
                                                 const std::vector<Array> &inputs,
                                                 const std::vector<Array> &outputs) {
  SMELT_ASSIGN_OR_RETURN(std::vector<Array> exact,
                         openCpuSession(imported, CpuArithmetic::kDouble)->run(inputs));
  std::vector<ElementType> computedIn = arithmeticOf(imported.module());
  auto agrees = [&](size_t i, const Array &reference) {
    double tolerance = toleranceFor(flags, imported.signature().outputs[i], computedIn[i]);
    return outputs[i].shape == reference.shape &&
           compareTensors(outputs[i], reference).relativeNorm <= tolerance;
  };
  std::vector<Reference> chosen;
  std::vector<Array> single;
  for (size_t i = 0; i < exact.size(); ++i) {
    bool isExact = flags.tolerance || agrees(i, exact[i]);
    if (!isExact && single.empty()) {
      SMELT_ASSIGN_OR_RETURN(single, openCpuSession(imported, CpuArithmetic::kFloat)->run(inputs));
    }
    if (isExact || !agrees(i, single[i]))
      chosen.push_back({std::move(exact[i])});
    else
      chosen.push_back({std::move(single[i]), "float32"});
  }
  return chosen;
}

static Status compare(Flags flags) {
  SMELT_RETURN_IF_ERROR(
      nameShapes(flags.open.model.path, flags.inputs.dimensions, flags.inputs.shapes));
  flags.open.model.runShapes = flags.inputs.shapes;
  flags.open.model.values = flags.inputs.inputs;
  if (!flags.plan.empty() && flags.open.device.isCpu())
    return Status(StatusCode::kUsage, "--plan runs on the GPU; leave out --device cpu");
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> reference, importModel(flags.open.model));
  SMELT_ASSIGN_OR_RETURN(OpenModel judged, openJudged(flags, reference->signature()));
  // A plan may be compiled for fewer shapes than the model takes.
  const Signature &taken = judged.model ? reference->signature() : judged.session->signature();
  setActivity("reading and drawing the inputs");
  SMELT_ASSIGN_OR_RETURN(RunInputs inputs, makeInputs(taken, flags.inputs));
  setActivity("running the model to compare it");
  SMELT_ASSIGN_OR_RETURN(std::vector<Array> outputs, judged.session->run(inputs.inputs));
  setActivity("interpreting the model");
  SMELT_ASSIGN_OR_RETURN(std::vector<Reference> expected,
                         references(flags, *reference, inputs.inputs, outputs));
  Table table(
      {"output", "shape", "relative error", "limit", "largest error", "at", "is", "should be", ""});
  llvm::json::Array list;
  std::string failures = judge(flags, reference->signature(), arithmeticOf(reference->module()),
                               outputs, expected, table, list);
  std::vector<FusionError> fusions;
  if (!failures.empty() && judged.cuda && flags.plan.empty()) {
    SMELT_ASSIGN_OR_RETURN(fusions, compareOnGpu(*judged.model, inputs.inputs, flags.open.precision,
                                                 flags.open.device.number));
  }
  if (flags.json) {
    printJson(llvm::json::Object{{"schema", "smelt.compare/1"},
                                 {"model", flags.open.model.path},
                                 {"device", judged.session->deviceName()},
                                 {"agrees", failures.empty()},
                                 {"outputs", std::move(list)},
                                 {"fusions", fusionsJson(fusions)}});
  } else {
    print("device: " + judged.session->deviceName());
    table.print();
    if (!fusions.empty())
      printFusions(fusions);
  }
  if (failures.empty())
    return {};
  return Status(StatusCode::kAccuracy,
                "the device disagrees with the interpreter:" + failures + firstWrong(fusions));
}

void addCompare(CommandLine &line) {
  auto flags = std::make_shared<Flags>();
  Command command = line.add(
      "compare", "Compare every output with the interpreter; where one differs, every fusion",
      [flags] { return compare(*flags); });
  addModel(command, "The .onnx file", flags->open);
  addInputs(command, flags->inputs);
  command.text("--plan", flags->plan, "Judge this plan of the model instead of compiling one");
  command.tolerance("--tolerance", flags->tolerance,
                    "Largest ||out - ref|| / ||ref||; by default 5e-3 for models with 16-bit "
                    "floats and for --precision fp16 and bf16, 2e-5 for float32 (2e-3 with "
                    "--precision tf32), exact for integers");
  addJson(command, flags->json);
  command.footer("On the CPU, the fused model is compared with the imported one. An output that\n"
                 "disagrees in double precision is compared in float32 too, unless --tolerance\n"
                 "is given: it differs where both do.\n"
                 "examples:\n"
                 "  smelt compare model.onnx --shape input_ids=3x77\n"
                 "  smelt compare model.onnx --plan model.plan --json");
}

} // namespace smelt::tools
