// smelt report: one page that shows what a model became, and where its time and memory go.
#include "codegen/output_file.h"
#include "compiler/resolve_shapes.h"
#include "runtime/text.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/html_report_measure.h"
#include "tools/smelt/load_plan.h"
#include "tools/smelt/plan_changes.h"
#include "tools/smelt/report.h"
#include "tools/smelt/temporary_file.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

namespace smelt::tools {

namespace {

struct Flags {
  ModelFlags model;
  FloatPrecision precision = FloatPrecision::fp32;
  DeviceChoice device;
  MeasureOptions measure;
  std::string arch, output, profile, savedProfile, against, trace, dot;

  bool measures() const { return profile.empty() && !device.isCpu(); }
};

struct DescribedPlan {
  runtime::Plan plan;
  ReportData report;
  Result<std::unique_ptr<CudaSession>> gpu; ///< to measure on, or why there is none
};

} // namespace

/// The command that made the report, as a shell takes it.
static std::string commandText() {
  auto file = llvm::MemoryBuffer::getFileAsStream("/proc/self/cmdline");
  if (!file)
    return "";
  std::string text;
  for (llvm::StringRef rest = (*file)->getBuffer(); !rest.empty();) {
    auto [word, behind] = rest.split('\0');
    bool isPlain = !word.empty() && llvm::all_of(word, [](char c) {
      return llvm::isAlnum(c) || llvm::StringRef("-_./=,@:+").contains(c);
    });
    std::string shown = word.str();
    for (size_t at = 0; !isPlain && (at = shown.find('\'', at)) != std::string::npos; at += 4)
      shown.replace(at, 1, "'\\''");
    text += (text.empty() ? "" : " ") + (isPlain ? shown : "'" + shown + "'");
    rest = behind;
  }
  return text;
}

static Result<ReportData> describe(const runtime::Plan &plan, const std::string &arch,
                                   const std::vector<std::string> &flags) {
  SMELT_ASSIGN_OR_RETURN(NamedShapes given, parseShapes(flags));
  SMELT_ASSIGN_OR_RETURN(auto shapes, resolveShapes(signatureOf(plan.metadata()), given));
  return describePlan(plan, arch, shapes);
}

/// The GPU with the plan on it, or why there is none.
static Result<std::unique_ptr<CudaSession>> openGpu(const runtime::Plan &plan, const Flags &flags) {
  if (!flags.measures())
    return Status(StatusCode::kUsage, "no GPU was asked for");
  return CudaSession::open(plan, flags.device.number);
}

/// Of the program that is asked for, else the one that the GPU runs, else the first.
static Result<DescribedPlan> describeWithGpu(runtime::Plan plan, const Flags &flags) {
  Result<std::unique_ptr<CudaSession>> gpu = openGpu(plan, flags);
  std::string arch = flags.arch;
  if (gpu.isOk()) {
    std::string runs = (*gpu)->sharedEngine()->program().arch;
    if (!arch.empty() && arch != runs)
      gpu = Status(StatusCode::kUsage,
                   joinText("the GPU runs the kernels for ", runs, ", not those for ", arch));
    else
      arch = runs;
  }
  SMELT_ASSIGN_OR_RETURN(ReportData report, describe(plan, arch, flags.model.shapes));
  return DescribedPlan{std::move(plan), std::move(report), std::move(gpu)};
}

static Result<DescribedPlan> describePlanFile(const Flags &flags) {
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, readPlan(flags.model.path));
  SMELT_ASSIGN_OR_RETURN(DescribedPlan described, describeWithGpu(std::move(plan), flags));
  described.report.missing.push_back(
      "The ONNX graph: a plan holds the names of nodes alone. Give the .onnx instead of the plan.");
  return described;
}

/// What a model is compiled for: what is asked for, else the GPU that is measured on.
static std::string architectureOf(const Flags &flags) {
  if (!flags.arch.empty())
    return flags.arch;
  if (flags.measures())
    if (Result<std::string> native = deviceArchitecture(flags.device.number); native.isOk())
      return *native;
  return codegen::kDefaultArchitecture;
}

/// Compiled for any shape that the flags leave open, as `smelt compile` does.
static Result<DescribedPlan> describeModel(const Flags &flags, std::vector<std::string> &ownFiles) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, importModel(flags.model));
  ownFiles = model->filePaths();
  FuseOptions options;
  options.narrowing.to = flags.precision;
  SMELT_RETURN_IF_ERROR(fuse(*model, options));
  SMELT_ASSIGN_OR_RETURN(TemporaryFile file, TemporaryFile::create("plan"));
  SMELT_RETURN_IF_ERROR(build(*model, {{architectureOf(flags)}, flags.precision}, file.path()));
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, readPlan(file.path()));
  SMELT_ASSIGN_OR_RETURN(DescribedPlan described, describeWithGpu(std::move(plan), flags));
  addGraph(described.report, flags.model.path);
  return described;
}

static Status write(const std::string &path, const std::string &text) {
  SMELT_ASSIGN_OR_RETURN(codegen::OutputFile file, codegen::OutputFile::create(path));
  SMELT_RETURN_IF_ERROR(file.append(std::as_bytes(std::span(text.data(), text.size()))));
  return file.publish();
}

static Status compareWith(const Flags &flags, const runtime::Plan &plan, ReportData &report) {
  SMELT_ASSIGN_OR_RETURN(runtime::Plan other, readPlan(flags.against));
  Result<ReportData> before = describe(other, report.arch, flags.model.shapes);
  if (!before.isOk())
    return before.status().within("--against " + flags.against);
  report.against = flags.against;
  report.changes = planChanges(other, plan);
  llvm::append_range(report.changes, programChanges(*before, report));
  return {};
}

/// Times: given ones, else those that the GPU takes; else the report says why there are none. `profile` becomes what was measured.
static Status addTimes(const Flags &flags, DescribedPlan &described, llvm::json::Object &profile) {
  ReportData &data = described.report;
  if (!flags.profile.empty())
    return addProfile(data, profile, flags.profile);
  if (described.gpu.isOk()) {
    SMELT_ASSIGN_OR_RETURN(profile, measurePlan(std::move(*described.gpu), flags.model.path,
                                                flags.model.shapes, flags.measure));
    return addProfile(data, profile, flags.savedProfile);
  }
  const Status &why = described.gpu.status();
  bool mayLack = why.code() == StatusCode::kEnvironment || why.code() == StatusCode::kUsage;
  if (!mayLack || flags.device.kind == DeviceChoice::Kind::kCuda || !flags.savedProfile.empty())
    return why.within("measuring times");
  data.missing.push_back(joinText("Measured times: ", why.message(),
                                  ". Run smelt bench --json on a machine with a GPU, and give what "
                                  "it prints with --profile."));
  return {};
}

static Status writeFiles(const Flags &flags, const ReportData &data, llvm::json::Object profile,
                         const std::vector<std::string> &ownFiles) {
  for (const std::string *path : {&flags.output, &flags.trace, &flags.dot, &flags.savedProfile})
    SMELT_RETURN_IF_ERROR(path->empty() ? Status() : refuseToReplace(ownFiles, *path));
  if (!flags.output.empty())
    SMELT_RETURN_IF_ERROR(write(flags.output, reportPage(data)));
  if (!flags.trace.empty())
    SMELT_RETURN_IF_ERROR(
        write(flags.trace, llvm::formatv("{0}\n", llvm::json::Value(reportTrace(data)))));
  if (!flags.savedProfile.empty())
    SMELT_RETURN_IF_ERROR(
        write(flags.savedProfile, llvm::formatv("{0:2}\n", llvm::json::Value(std::move(profile)))));
  return flags.dot.empty() ? Status() : write(flags.dot, reportDot(data));
}

static Status checkFlags(const Flags &flags) {
  if (flags.output.empty() && flags.trace.empty() && flags.dot.empty())
    return Status(StatusCode::kUsage, "where to? Give -o report.html, --perfetto or --dot");
  if (!flags.profile.empty() && flags.device.kind == DeviceChoice::Kind::kCuda)
    return Status(StatusCode::kUsage, "--profile gives the times that --device asks to measure");
  if (!flags.savedProfile.empty() && !flags.measures())
    return Status(StatusCode::kUsage, "--save-profile is of times that are measured; give neither "
                                      "--profile nor --device cpu beside it");
  return {};
}

static Status report(Flags flags) {
  SMELT_RETURN_IF_ERROR(checkFlags(flags));
  llvm::json::Object profile;
  std::vector<std::string> ownFiles{flags.model.path};
  if (!flags.profile.empty()) {
    SMELT_ASSIGN_OR_RETURN(profile, readProfile(flags.profile));
    if (flags.model.shapes.empty()) {
      SMELT_ASSIGN_OR_RETURN(flags.model.shapes, profileShapes(profile, flags.profile));
    }
  }
  SMELT_ASSIGN_OR_RETURN(DescribedPlan described, isPlan(flags.model.path)
                                                      ? describePlanFile(flags)
                                                      : describeModel(flags, ownFiles));
  described.report.command = commandText();
  SMELT_RETURN_IF_ERROR(addTimes(flags, described, profile));
  placeInTime(described.report);
  if (!flags.against.empty())
    SMELT_RETURN_IF_ERROR(compareWith(flags, described.plan, described.report));
  llvm::append_values(ownFiles, flags.profile, flags.against);
  return writeFiles(flags, described.report, std::move(profile), ownFiles);
}

void addReport(CommandLine &line) {
  auto flags = std::make_shared<Flags>();
  Command command = line.add(
      "report", "Write a page of the graph, its kernels, their CUDA text, times and memory",
      [flags] { return report(*flags); });
  command.argument("model", flags->model.path, "The .onnx or .plan file");
  command.text("-o,--output", flags->output, "The page: one file that needs no network");
  command.text("--perfetto", flags->trace, "One launch as a trace for ui.perfetto.dev");
  command.text("--dot", flags->dot, "The fused graph for Graphviz");
  command.text(
      "--profile", flags->profile,
      "Measured times: what smelt bench --json printed. Without them they are measured here; where "
      "there is no GPU, the roofline predicts");
  command.text("--save-profile", flags->savedProfile,
               "File for the times that are measured here, as smelt bench --json prints them");
  command.parsed(
      "--device",
      [flags](const std::string &text) {
        Result<DeviceChoice> choice = parseDevice(text);
        if (choice.isOk())
          flags->device = *choice;
        return choice.status().message();
      },
      "auto|cpu|cuda|N",
      "Where to measure: auto (where there is a GPU), cpu (nowhere), cuda, or a GPU's number");
  command.seconds("--duration", flags->measure.seconds,
                  "How long to measure, in seconds (default: 3)");
  command.text("--against", flags->against, "Another plan, to show what differs from it");
  command.texts(
      "--shape", flags->model.shapes, "NAME=1x128",
      "Shape of an input (repeatable). Dimensions that none sets: as in the profile, else "
      "1 where they lead a shape, else 128");
  command.text(
      "--arch", flags->arch,
      "Whose kernels: this machine's GPU's, else the plan's first or sm_90a, unless given");
  addValues(command, flags->model.values);
  addPrecision(command, flags->precision);
  addMissing(command, flags->model);
  command.footer("examples:\n  smelt report model.onnx -o report.html\n"
                 "  smelt bench model.plan --json > bench.json\n"
                 "  smelt report model.plan --profile bench.json -o report.html");
}

} // namespace smelt::tools
