// smelt compare: every output against the interpreter, in double precision, on the model as it was
// imported; where one disagrees, the model as imported in float32, for some models mean what
// float32 makes of them: rounding by a large constant, rows that are masked everywhere. Where both
// disagree, every fusion against the interpreter on the same inputs.
#include "runtime/text.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/compare_plan.h"
#include "tools/smelt/compare_references.h"
#include "tools/smelt/compare_report.h"
#include "tools/smelt/dimensions.h"
#include "tools/smelt/limits.h"
#include "tools/smelt/report.h"
#include "tools/smelt/temporary_file.h"

namespace smelt::tools {

namespace {

enum class Against { kInterpreter, kOnnxRuntime };

struct Flags {
  OpenFlags open;
  InputFlags inputs;
  std::string plan;
  std::optional<double> tolerance;
  Against against = Against::kInterpreter;
  bool bisect = false;
  bool allTensors = false;
  bool reduce = false;
  std::string output; ///< of the reduced model
  bool json = false;

  Tolerances tolerances() const {
    return {tolerance, open.precision, against == Against::kOnnxRuntime};
  }
  /// Of what the interpreter says.
  Tolerances ownTolerances() const { return {tolerance, open.precision}; }
  /// Of single fusions: where values are narrowed, their types say so.
  Tolerances fusionTolerances() const {
    return {tolerance, narrows(open.precision) ? FloatPrecision::fp32 : open.precision};
  }
};

} // namespace

/// The session of a given plan, which must be one of the model.
static Result<OpenModel> openGivenPlan(const Flags &flags, const runtime::Plan &plan,
                                       const Signature &model) {
  std::string difference = findDifference(model, signatureOf(plan.metadata()));
  if (!difference.empty())
    return Status(StatusCode::kUsage,
                  joinText(flags.plan, " was compiled from another model: ", difference));
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<CudaSession> session,
                         CudaSession::open(plan, flags.open.device.number));
  session->setFixed(model.fixed);
  CudaSession *cuda = session.get();
  return OpenModel{nullptr, std::move(session), cuda};
}

/// What stands for a GPU's arithmetic on the CPU.
static CpuArithmetic cpuArithmetic(const Flags &flags) {
  return narrows(flags.open.precision) ? CpuArithmetic::kStored : CpuArithmetic::kFloat;
}

/// The session to judge: of `plan` where there is one. On the CPU that is the interpreter on the fused module in float32, which a
/// narrowed one is already.
static Result<OpenModel> openJudged(const Flags &flags, const JudgedPlan *plan,
                                    const Signature &model) {
  if (plan)
    return openGivenPlan(flags, plan->plan(), model);
  SMELT_ASSIGN_OR_RETURN(OpenModel opened, openModel(flags.open));
  if (!opened.cuda && !narrows(flags.open.precision)) {
    SMELT_RETURN_IF_ERROR(fuse(*opened.model));
    opened.session = openCpuSession(*opened.model, cpuArithmetic(flags));
  }
  return opened;
}

static std::vector<OutputError> judge(const Tolerances &tolerances, Model &imported,
                                      const std::vector<Array> &outputs,
                                      const std::vector<Reference> &references) {
  std::vector<OutputError> errors;
  std::vector<ElementType> computedIn = arithmeticOf(imported.module());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Port &port = imported.signature().outputs[i];
    const auto &[reference, arithmetic] = references[i];
    OutputError &error = errors.emplace_back(
        OutputError{port.name, outputs[i].shape, reference.shape, arithmetic, {}, 0});
    error.tolerance = tolerances.of(port.type, computedIn[i]);
    if (error.shape == error.expectedShape)
      error.error = compareTensors(outputs[i], reference);
  }
  return errors;
}

/// Runs a fused model as the judged one runs.
static Result<std::vector<Array>> runFused(const Flags &flags, bool onGpu, Model &fused,
                                           const std::vector<Array> &inputs) {
  if (!onGpu)
    return interpretFused(fused, inputs, cpuArithmetic(flags));
  int device = flags.open.device.number;
  SMELT_ASSIGN_OR_RETURN(std::string architecture, deviceArchitecture(device));
  SMELT_ASSIGN_OR_RETURN(TemporaryFile plan, TemporaryFile::create("plan"));
  SMELT_RETURN_IF_ERROR(
      build(fused, {{architecture}, flags.open.precision, flags.open.tuning.get()}, plan.path()));
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<CudaSession> session,
                         CudaSession::open(plan.path(), device));
  return session->run(inputs);
}

/// By whom the outputs are judged, and what they should be.
static Result<ForeignReferences> references(const Flags &flags, Model &imported,
                                            const std::vector<Array> &inputs,
                                            const std::vector<Array> &outputs) {
  if (flags.against == Against::kOnnxRuntime) {
    setActivity("running the model on ONNX Runtime");
    return onnxRuntimeReferences(imported, inputs, flags.inputs.inputs);
  }
  setActivity("interpreting the model");
  SMELT_ASSIGN_OR_RETURN(std::vector<Reference> own,
                         interpreterReferences(flags.tolerances(), imported, inputs, outputs));
  return ForeignReferences{std::move(own), "the interpreter"};
}

/// What ONNX Runtime cannot read as we do.
static Status checkAgainst(const Flags &flags) {
  if (flags.against != Against::kOnnxRuntime)
    return {};
  const ModelFlags &model = flags.open.model;
  auto refuse = [](const std::string &why) {
    return Status(StatusCode::kUsage, "--against onnxruntime runs the file as it is: " + why);
  };
  if (model.randomWeights)
    return refuse("it cannot draw weights (--random-weights)");
  if (model.repairTypes)
    return refuse("it cannot insert casts (--repair-types)");
  if (model.path.ends_with(".mlir"))
    return refuse("give the .onnx instead of a dump");
  return {};
}

/// The plan to judge, of which `flags` become those that its model was compiled with; null where none is
/// given. Fails with kUsage where it cannot do what is asked for.
static Result<std::unique_ptr<JudgedPlan>> openPlan(Flags &flags) {
  if (flags.plan.empty())
    return std::unique_ptr<JudgedPlan>();
  if (flags.open.device.isCpu())
    return Status(StatusCode::kUsage, "--plan runs on the GPU; leave out --device cpu");
  SMELT_ASSIGN_OR_RETURN(JudgedPlan plan, JudgedPlan::read(flags.plan, flags.open.model));
  if (flags.bisect || flags.allTensors)
    SMELT_RETURN_IF_ERROR(plan.inside());
  if (flags.reduce)
    SMELT_RETURN_IF_ERROR(plan.checkReducible());
  SMELT_RETURN_IF_ERROR(plan.adjust(flags.open));
  return std::make_unique<JudgedPlan>(std::move(plan));
}

/// A model that ran, and what is to be said of its outputs.
struct Judged {
  OpenModel model;
  std::vector<Array> inputs, outputs;
  Comparison comparison;
};

/// Looks into the model that was judged, whose module nothing else can be done with afterwards.
static Status lookInside(const Flags &flags, const JudgedPlan *plan, Judged &judged) {
  auto &[opened, inputs, outputs, comparison] = judged;
  CudaSession *cuda = opened.cuda;
  auto run = [&](Model &fused, const std::vector<Array> &given) {
    return plan ? plan->run(cuda->sharedEngine()->program(), fused, given, flags.open.device.number)
                : runFused(flags, cuda != nullptr, fused, given);
  };
  setActivity("running the model for every fusion's results");
  Model &fused = plan ? plan->fused() : *opened.model;
  SMELT_ASSIGN_OR_RETURN(FusedRun seen, FusedRun::make(fused, inputs, run));
  setActivity("judging every fusion");
  SMELT_ASSIGN_OR_RETURN(comparison.fusions, compareFusions(seen, flags.fusionTolerances()));
  for (size_t i = 0; i < outputs.size(); ++i)
    comparison.keepsBits &= outputs[i].bytes == seen.outputs()[i].bytes;
  if (flags.allTensors) {
    setActivity("judging every tensor");
    SMELT_ASSIGN_OR_RETURN(comparison.tensors,
                           compareTensors(flags.open.model, seen, inputs, flags.ownTolerances()));
  }
  bool mayBeCasts = flags.bisect && !comparison.agrees() && narrows(flags.open.precision);
  if (mayBeCasts) {
    SMELT_ASSIGN_OR_RETURN(comparison.casts, bisectCasts(flags.open, inputs, flags.tolerance));
  }
  return {};
}

/// Of `plan`, or where that is null of what the model is compiled to.
static Result<Judged> judgeOutputs(const Flags &flags, const JudgedPlan *plan) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> reference, importModel(flags.open.model));
  SMELT_ASSIGN_OR_RETURN(OpenModel judged, openJudged(flags, plan, reference->signature()));
  // A plan may be compiled for fewer shapes than the model takes.
  const Signature &taken = judged.model ? reference->signature() : judged.session->signature();
  setActivity("reading and drawing the inputs");
  SMELT_ASSIGN_OR_RETURN(RunInputs inputs, makeInputs(taken, flags.inputs));
  setActivity("running the model to compare it");
  SMELT_ASSIGN_OR_RETURN(std::vector<Array> outputs, judged.session->run(inputs.inputs));
  SMELT_ASSIGN_OR_RETURN(ForeignReferences expected,
                         references(flags, *reference, inputs.inputs, outputs));
  Comparison comparison{flags.open.model.path, judged.session->deviceName(), expected.version,
                        judge(flags.tolerances(), *reference, outputs, expected.outputs)};
  return Judged{std::move(judged), std::move(inputs.inputs), std::move(outputs),
                std::move(comparison)};
}

/// Whether a part of the model disagrees as the whole does, on the same device. What cannot run does not.
static bool failsAlike(Flags flags, bool onGpu, const std::string &model,
                       const std::string &inputs) {
  flags.open.model.path = model;
  flags.open.model.isSilent = true;
  flags.open.model.runShapes.clear();
  flags.open.device.kind = onGpu ? DeviceChoice::Kind::kCuda : DeviceChoice::Kind::kCpu;
  flags.inputs = {{}, {"@" + inputs}};
  flags.open.model.values = flags.inputs.inputs;
  Result<Judged> judged = judgeOutputs(flags, nullptr);
  return judged.isOk() && !judged->comparison.agrees();
}

static Status reduce(Flags flags, const JudgedPlan *plan, Judged &judged) {
  bool onGpu = judged.model.cuda != nullptr;
  if (plan)
    flags.open.architecture = judged.model.cuda->sharedEngine()->program().arch;
  auto fails = [&](const std::string &model, const std::string &inputs) {
    return failsAlike(flags, onGpu, model, inputs);
  };
  Result<Reduction> reduction = reduceModel(flags.open.model, judged.inputs, flags.output, fails);
  if (plan && reduction.status().code() == StatusCode::kRunFailed)
    return Status(StatusCode::kRunFailed,
                  joinText(reduction.status().message(), "; what differs is in ", flags.plan,
                           " alone, whose kernels were patched, or are not those that this Smelt "
                           "makes for these sizes: --bisect names the one"));
  SMELT_ASSIGN_OR_RETURN(judged.comparison.reduction, std::move(reduction));
  return {};
}

/// Where nobody asked, what cannot be looked into is only said.
static Status lookWhereItDiffers(const Flags &flags, const JudgedPlan *plan, Judged &judged) {
  bool isAsked = flags.bisect || flags.allTensors;
  if (!isAsked && (judged.comparison.agrees() || !judged.model.cuda))
    return {};
  Status looked = plan ? plan->inside() : Status();
  if (looked.isOk())
    looked = lookInside(flags, plan, judged);
  if (isAsked || !plan || looked.isOk())
    return looked;
  note("its kernels are not judged one by one: " + looked.message());
  return {};
}

/// Where a reduced model goes.
static Status checkReduce(const Flags &flags) {
  if (!flags.reduce && !flags.output.empty())
    return Status(StatusCode::kUsage, "-o is where --reduce writes to; give both");
  if (!flags.reduce)
    return {};
  if (flags.output.empty())
    return Status(StatusCode::kUsage, "--reduce writes a model: where to? Give -o small.onnx");
  if (!llvm::StringRef(flags.output).ends_with(".onnx"))
    return Status(StatusCode::kUsage, flags.output + ": --reduce writes an .onnx");
  if (flags.open.model.path.ends_with(".mlir"))
    return Status(StatusCode::kUsage, "--reduce leaves out ONNX nodes: give the .onnx, not a dump");
  for (const std::string &path : {flags.output, inputsBeside(flags.output)})
    SMELT_RETURN_IF_ERROR(refuseToReplace({flags.open.model.path}, path));
  return {};
}

static Status compare(Flags flags) {
  SMELT_RETURN_IF_ERROR(
      nameShapes(flags.open.model.path, flags.inputs.dimensions, flags.inputs.shapes));
  flags.open.model.runShapes = flags.inputs.shapes;
  flags.open.model.values = flags.inputs.inputs;
  SMELT_RETURN_IF_ERROR(checkAgainst(flags));
  SMELT_RETURN_IF_ERROR(checkReduce(flags));
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<JudgedPlan> plan, openPlan(flags));
  SMELT_ASSIGN_OR_RETURN(Judged judged, judgeOutputs(flags, plan.get()));
  bool agrees = judged.comparison.agrees();
  SMELT_RETURN_IF_ERROR(lookWhereItDiffers(flags, plan.get(), judged));
  if (flags.reduce && !agrees)
    SMELT_RETURN_IF_ERROR(reduce(flags, plan.get(), judged));
  if (flags.reduce && agrees)
    note("every output agrees: there is nothing to reduce, and nothing is written");
  if (flags.json)
    printJson(comparisonJson(judged.comparison));
  else
    printComparison(judged.comparison);
  return verdictOf(judged.comparison);
}

void addCompare(CommandLine &line) {
  auto flags = std::make_shared<Flags>();
  Command command = line.add(
      "compare", "Compare every output with the interpreter; where one differs, every fusion",
      [flags] { return compare(*flags); });
  addModel(command, "The .onnx file", flags->open);
  addInputs(command, flags->inputs);
  command.text(
      "--plan", flags->plan,
      "Judge this plan of the model, and what is inside of it by its own kernels, instead of "
      "compiling one");
  command.choice("--against", flags->against,
                 {{"interpreter", Against::kInterpreter}, {"onnxruntime", Against::kOnnxRuntime}},
                 "interpreter|onnxruntime",
                 "What says how outputs should be: the interpreter, or ONNX Runtime on the CPU "
                 "(Python's package, by the python3 in PATH)");
  command.flag(
      "--bisect", flags->bisect,
      "Judge every fusion on the inputs that it had, and name the first that differs; with "
      "--precision fp16 or bf16, where outputs differ, the casts that make them");
  command.flag(
      "--all-tensors", flags->allTensors,
      "Judge every tensor of the ONNX graph that the fused model still has, in the graph's "
      "order: what kernels leave as it is, values inside them by the interpreter on the "
      "inputs that the kernel had; the outputs keep their bits");
  command.flag(
      "--reduce", flags->reduce,
      "Where an output differs, write the smallest part of the model that still does to -o, "
      "with its inputs in a .npz beside it");
  command.text("-o,--output", flags->output, "The reduced model, small.onnx");
  command.tolerance("--tolerance", flags->tolerance,
                    "Largest ||out - ref|| / ||ref||; by default 5e-3 for models with 16-bit "
                    "floats and for --precision fp16 and bf16, 2e-5 for float32 (2e-3 with "
                    "--precision tf32; 1e-4 against onnxruntime), exact for integers");
  addJson(command, flags->json);
  command.footer("On the CPU, the fused model is compared with the imported one. An output that\n"
                 "disagrees in double precision is compared in float32 too, unless --tolerance\n"
                 "is given: it differs where both do.\n"
                 "examples:\n"
                 "  smelt compare model.onnx --shape input_ids=3x77\n"
                 "  smelt compare model.onnx --plan model.plan --bisect\n"
                 "  smelt compare model.onnx --input @inputs.npz --against onnxruntime\n"
                 "  smelt compare model.onnx --precision fp16 --bisect\n"
                 "  smelt compare model.onnx --reduce -o small.onnx");
}

} // namespace smelt::tools
