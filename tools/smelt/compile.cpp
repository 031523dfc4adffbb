// smelt compile: an ONNX model becomes a plan, or what lies on the way to one.
#include "codegen/compile.h"
#include "codegen/output_file.h"
#include "runtime/launch_table.h"
#include "runtime/read_plan.h"
#include "runtime/text.h"
#include "tools/smelt/calibration.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/dimensions.h"
#include "tools/smelt/dump_kernels.h"
#include "tools/smelt/load_plan.h"
#include "tools/smelt/report.h"
#include "tools/smelt/tune.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

namespace smelt::tools {

namespace {

enum class Emit { kPlan, kMlir, kCuda };
enum class Every { kPhase, kPass };

struct Flags {
  ModelFlags model;
  BuildFlags build{{codegen::kDefaultArchitecture}};
  TuneFlags tune;
  std::optional<double> within;
  std::vector<std::string> calibration;
  std::string output;
  std::string dumpDir;
  Every every = Every::kPhase;
  std::vector<std::string> inPlace;
  Emit emit = Emit::kPlan;
  bool json = false;
};

/// Seconds since the last call.
class Stopwatch {
public:
  double lap() {
    auto now = std::chrono::steady_clock::now();
    double seconds = std::chrono::duration<double>(now - last).count();
    last = now;
    return seconds;
  }

private:
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

} // namespace

/// To the file `path`, whole or not at all; to stdout where it is "".
static Status emitText(const std::string &text, const std::string &path) {
  if (path.empty()) {
    llvm::outs() << text;
    return {};
  }
  return codegen::writeText(text, path);
}

static codegen::Selection selectionOf(const Flags &flags) {
  return {flags.build.precision == FloatPrecision::tf32, flags.build.tuning};
}

static Status emitCuda(Model &model, const Flags &flags) {
  std::string text;
  for (const std::string &architecture : flags.build.architectures) {
    SMELT_ASSIGN_OR_RETURN(auto kernels, generateKernels(model, architecture, selectionOf(flags)));
    for (const codegen::ListedKernel &kernel : kernels)
      text += "// " + architecture + "\n" + textOf(kernel) + "\n";
  }
  return emitText(text, flags.output);
}

static Status emitMlir(Model &model, const Flags &flags) {
  return emitText(moduleText(model.module()), flags.output);
}

/// What the finished plan holds; reading it also verifies every byte of it.
static Status addContents(const std::string &path, llvm::json::Object &report, std::string &text) {
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, readPlan(path));
  const plan::ProgramT &program = *plan.metadata().programs[0];
  report["launches"] = static_cast<int64_t>(runtime::countLaunches(program));
  report["kernels"] = static_cast<int64_t>(program.kernels.size());
  report["plan_bytes"] = static_cast<int64_t>(plan.fileBytes());
  text = joinText(runtime::countLaunches(program), " launches of ", program.kernels.size(),
                  " kernels, ", bytesText(static_cast<double>(plan.fileBytes())), ", ");
  return {};
}

static llvm::json::Object narrowingJson(const NarrowingReport &report) {
  llvm::json::Array wide;
  for (const NarrowingReport::Wide &op : report.wide)
    wide.push_back(llvm::json::Object{
        {"onnx_nodes", op.nodes}, {"op", op.op}, {"relative_norm", jsonNumber(op.error)}});
  return llvm::json::Object{{"narrow_ops", static_cast<int64_t>(report.narrow)},
                            {"wide_ops", std::move(wide)},
                            {"relative_norm", jsonNumber(report.error)}};
}

/// "tuned on NVIDIA H200: 30 tilings of 5 products measured, 0 failed; in model.tuning.json".
static std::string tuningText(const Flags &flags, const TuneSummary &summary) {
  std::string known = summary.known ? joinText(", ", summary.known, " of ", summary.points,
                                               " comparisons were known before")
                                    : "";
  return joinText("tuned on ", flags.build.tuning->device(), ": ", summary.measured, " tilings of ",
                  summary.products, " products measured, ", summary.failed, " failed", known,
                  "; in ", flags.tune.file);
}

static llvm::json::Object tuningJson(const Flags &flags, const TuneSummary &summary) {
  auto count = [](size_t value) { return static_cast<int64_t>(value); };
  return llvm::json::Object{{"file", flags.tune.file},
                            {"device", flags.build.tuning->device()},
                            {"products", count(summary.products)},
                            {"comparisons", count(summary.points)},
                            {"known", count(summary.known)},
                            {"measured", count(summary.measured)},
                            {"failed", count(summary.failed)}};
}

/// What was said on the way to the plan.
struct Told {
  std::optional<NarrowingReport> narrowing;
  std::optional<TuneSummary> tuning;
  double passSeconds = 0, tuneSeconds = 0, codegenSeconds = 0;
};

static Status reportPlan(const Flags &flags, const Told &told) {
  llvm::json::Object report{{"schema", "smelt.compile/1"},
                            {"model", flags.model.path},
                            {"plan", flags.output},
                            {"architectures", llvm::json::Array(flags.build.architectures)},
                            {"import_and_passes_s", told.passSeconds},
                            {"codegen_s", told.codegenSeconds}};
  if (told.narrowing)
    report["narrowing"] = narrowingJson(*told.narrowing);
  if (told.tuning) {
    report["tuning"] = tuningJson(flags, *told.tuning);
    report["tuning_s"] = told.tuneSeconds;
  }
  std::string contents;
  if (llvm::sys::fs::is_regular_file(flags.output)) // what a device took cannot be read again
    SMELT_RETURN_IF_ERROR(addContents(flags.output, report, contents));
  if (flags.json)
    printJson(std::move(report));
  else
    print(joinText(flags.output, ": ", contents, "compiled in ",
                   numberText(told.passSeconds + told.tuneSeconds + told.codegenSeconds, 1), " s",
                   told.narrowing ? "\n" + reportText(*told.narrowing) : "",
                   told.tuning ? "\n" + tuningText(flags, *told.tuning) : ""));
  return {};
}

static Status emit(Model &model, const Flags &flags) {
  SMELT_RETURN_IF_ERROR(flags.emit == Emit::kMlir ? emitMlir(model, flags)
                                                  : emitCuda(model, flags));
  if (flags.json)
    printJson(llvm::json::Object{
        {"schema", "smelt.compile/1"}, {"model", flags.model.path}, {"text", flags.output}});
  return {};
}

/// Names the architecture of this machine's first GPU where "native" stands for it.
static Status nameNative(std::vector<std::string> &architectures) {
  for (std::string &architecture : architectures)
    if (architecture == "native") {
      SMELT_ASSIGN_OR_RETURN(architecture, deviceArchitecture(0));
    }
  return {};
}

/// --tune and --tuning, as far as that needs no model.
static Status prepareTuning(Flags &flags, std::optional<codegen::Tuning> &tuning) {
  if (flags.tune.measures && flags.emit != Emit::kPlan)
    return Status(StatusCode::kUsage, "--tune measures for a plan; --emit shows what times that "
                                      "were measured before, --tuning FILE, lead to");
  if (flags.tune.measures && flags.tune.file.empty()) {
    llvm::SmallString<128> path(flags.output);
    llvm::sys::path::replace_extension(path, "tuning.json");
    flags.tune.file = path.str().str();
  }
  SMELT_ASSIGN_OR_RETURN(tuning, readTuning(flags.tune, flags.build.architectures));
  flags.build.tuning = tuning ? &*tuning : nullptr;
  return {};
}

static Status compile(Flags flags) {
  Stopwatch watch;
  if (flags.every == Every::kPass && flags.dumpDir.empty())
    return Status(StatusCode::kUsage, "--every says what is dumped; give --dump-dir too");
  if (flags.json && flags.emit != Emit::kPlan && flags.output.empty())
    return Status(StatusCode::kUsage, "--emit prints its text on stdout, where --json prints its "
                                      "object; give the text a file with -o");
  if (flags.emit == Emit::kPlan && flags.output.empty())
    flags.output = llvm::sys::path::stem(flags.model.path).str() + ".plan";
  SMELT_RETURN_IF_ERROR(nameShapes(flags.model.path, flags.model.dimensions, flags.model.shapes));
  SMELT_RETURN_IF_ERROR(nameNative(flags.build.architectures));
  std::optional<codegen::Tuning> tuning;
  SMELT_RETURN_IF_ERROR(prepareTuning(flags, tuning));
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, importModel(flags.model));
  SMELT_RETURN_IF_ERROR(refuseToReplace(model->filePaths(), flags.output));
  FuseOptions options;
  options.dumpFolder = flags.dumpDir;
  options.dumpsEveryPass = flags.every == Every::kPass;
  options.inPlace = flags.inPlace;
  SMELT_ASSIGN_OR_RETURN(options.narrowing,
                         narrowingOptions(*model, flags.build.precision, flags.within,
                                          flags.calibration, flags.model));
  Told told;
  options.narrowing.onMeasured = [&](const NarrowingReport &report) { told.narrowing = report; };
  SMELT_RETURN_IF_ERROR(fuse(*model, options));
  told.passSeconds = watch.lap();
  if (flags.tune.measures) {
    SMELT_ASSIGN_OR_RETURN(told.tuning,
                           tune(*model, selectionOf(flags).tf32, flags.tune.file, *tuning));
    told.tuneSeconds = watch.lap();
  }
  KernelDumps dumps(flags.dumpDir, selectionOf(flags));
  if (!flags.dumpDir.empty())
    SMELT_RETURN_IF_ERROR(dumps.writeTexts(*model, flags.build.architectures));
  if (flags.emit != Emit::kPlan)
    return emit(*model, flags);
  if (!flags.dumpDir.empty())
    flags.build.compiled = [&](const std::string &architecture, const std::string &entry,
                               const codegen::CompiledKernel &kernel) {
      dumps.add(architecture, entry, kernel);
    };
  SMELT_RETURN_IF_ERROR(build(*model, flags.build, flags.output));
  if (!flags.dumpDir.empty())
    SMELT_RETURN_IF_ERROR(dumps.writeCode(*model, flags.build.architectures));
  told.codegenSeconds = watch.lap();
  return reportPlan(flags, told);
}

static void addShapeFlags(Command &command, ModelFlags &flags) {
  auto add = [&](const char *name, std::vector<std::string> &values, const char *help) {
    command.texts(name, values, "NAME=1x128", help);
  };
  add("--shape", flags.shapes,
      "Compile an input for one shape, NAME=1x128 (repeatable); ? leaves a dimension open");
  add("--min-shape", flags.minShapes, "Smallest shape that the plan accepts for an input");
  add("--max-shape", flags.maxShapes, "Largest shape that the plan accepts for an input");
}

void addCompile(CommandLine &line) {
  auto flags = std::make_shared<Flags>();
  Command command = line.add("compile", "Compile a model to a plan; needs no GPU",
                             [flags] { return compile(*flags); });
  command.argument("model", flags->model.path, "The .onnx file");
  command.text(
      "-o,--output", flags->output,
      "The plan's file (default: MODEL.plan here); with --emit, of the text (default: stdout)");
  command.list("--arch", flags->build.architectures, "ARCH[,ARCH...]",
               "Architectures, comma-separated, of " + codegen::Target::names() +
                   ", which is PTX for GPUs that no other suits, or native, that of this "
                   "machine's GPU (default: " +
                   flags->build.architectures[0] + ")");
  addShapeFlags(command, flags->model);
  addDimensions(command, flags->model.dimensions);
  addValues(command, flags->model.values);
  command.choice("--emit", flags->emit,
                 {{"plan", Emit::kPlan}, {"mlir", Emit::kMlir}, {"cuda", Emit::kCuda}},
                 "plan|mlir|cuda", "plan, the fused IR (mlir), or the kernels' CUDA text (cuda)");
  command.text(
      "--dump-dir", flags->dumpDir,
      "Folder for the IR after every phase, an index with every pass's time, remarks, and of each "
      "kernel the CUDA text with its headers; with a plan, its PTX, machine code, registers, "
      "shared memory, occupancy and why it has its tile, too");
  command.choice("--every", flags->every, {{"phase", Every::kPhase}, {"pass", Every::kPass}},
                 "phase|pass", "What the IR is dumped after; phase by default");
  command.texts("--in-place", flags->inPlace, "INPUT=OUTPUT",
                "An input that the caller keeps in a buffer with room, where it becomes the "
                "output (repeatable); * stands for the same text in both");
  addPrecision(command, flags->build.precision);
  command.tolerance("--within", flags->within,
                    "Largest ||out - ref|| / ||ref|| of an output that fp16 or bf16 may cost: what "
                    "breaks it, by the interpreter's measure, stays float32");
  command.texts("--calibrate", flags->calibration, "FOLDER",
                "Inputs to measure on (repeatable): a folder of ONNX test data, or one with such "
                "folders in it; without it, random inputs");
  command.flag(
      "--tune", flags->tune.measures,
      "Measure the best few tilings of every matrix product on this machine's GPU, each in a "
      "process "
      "that may die of it, and take the fastest; what was measured before, to --tuning, is not "
      "measured again");
  command.text(
      "--tuning", flags->tune.file,
      "Measured times that decide about tilings, of --tune or of a plan; the file that --tune goes "
      "on with and writes (default there: the plan's name, .tuning.json)");
  command.flag(
      "--refit", flags->model.refit,
      "Keep weights as they are in the model, so that an engine can be given other values for "
      "them (smelt_engine_update_weight); costs what norms take that else vanish");
  addMissing(command, flags->model);
  addJson(command, flags->json);
  command.footer("examples:\n"
                 "  smelt compile model.onnx -o model.plan --arch sm_90a,compute_80\n"
                 "  smelt compile decoder.onnx --in-place 'past_key_values.*=present.*'\n"
                 "  smelt compile model.onnx --shape input_ids=1x128 --dump-dir dump\n"
                 "  smelt compile model.onnx --shape input_ids=8x512 --arch native --tune\n"
                 "  smelt compile model.onnx --shape input_ids=8x512 --tuning model.tuning.json\n"
                 "  smelt compile model.onnx --emit cuda | less");
}

} // namespace smelt::tools
