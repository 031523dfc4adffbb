// smelt report: one page that shows what a model became, and where its time and memory go.
#include "codegen/output_file.h"
#include "compiler/resolve_shapes.h"
#include "runtime/text.h"
#include "tools/smelt/commands.h"
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
  std::string arch, output, profile, against, trace, dot;
};

struct DescribedPlan {
  runtime::Plan plan;
  ReportData report;
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

static Result<DescribedPlan> describePlanFile(const Flags &flags) {
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, runtime::readPlan(flags.model.path));
  SMELT_ASSIGN_OR_RETURN(ReportData report, describe(plan, flags.arch, flags.model.shapes));
  report.missing.push_back(
      "The ONNX graph: a plan holds the names of nodes alone. Give the .onnx instead of the plan.");
  return DescribedPlan{std::move(plan), std::move(report)};
}

/// Compiled for any shape that the flags leave open, as `smelt compile` does.
static Result<DescribedPlan> describeModel(const Flags &flags, std::vector<std::string> &ownFiles) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, importModel(flags.model));
  ownFiles = model->filePaths();
  FuseOptions options;
  options.narrowing.to = flags.precision;
  SMELT_RETURN_IF_ERROR(fuse(*model, options));
  SMELT_ASSIGN_OR_RETURN(TemporaryFile file, TemporaryFile::create("plan"));
  std::string arch = flags.arch.empty() ? codegen::kDefaultArchitecture : flags.arch;
  SMELT_RETURN_IF_ERROR(build(*model, {{arch}, flags.precision}, file.path()));
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, runtime::readPlan(file.path()));
  SMELT_ASSIGN_OR_RETURN(ReportData report, describe(plan, arch, flags.model.shapes));
  addGraph(report, flags.model.path);
  return DescribedPlan{std::move(plan), std::move(report)};
}

static Status write(const std::string &path, const std::string &text) {
  SMELT_ASSIGN_OR_RETURN(codegen::OutputFile file, codegen::OutputFile::create(path));
  SMELT_RETURN_IF_ERROR(file.append(std::as_bytes(std::span(text.data(), text.size()))));
  return file.publish();
}

static Status compareWith(const Flags &flags, const runtime::Plan &plan, ReportData &report) {
  SMELT_ASSIGN_OR_RETURN(runtime::Plan other, runtime::readPlan(flags.against));
  Result<ReportData> before = describe(other, report.arch, flags.model.shapes);
  if (!before.isOk())
    return before.status().within("--against " + flags.against);
  report.against = flags.against;
  report.changes = planChanges(other, plan);
  llvm::append_range(report.changes, programChanges(*before, report));
  return {};
}

static Status report(Flags flags) {
  llvm::json::Object profile;
  std::vector<std::string> ownFiles{flags.model.path};
  if (flags.output.empty() && flags.trace.empty() && flags.dot.empty())
    return Status(StatusCode::kUsage, "where to? Give -o report.html, --perfetto or --dot");
  if (!flags.profile.empty()) {
    SMELT_ASSIGN_OR_RETURN(profile, readProfile(flags.profile));
    if (flags.model.shapes.empty()) {
      SMELT_ASSIGN_OR_RETURN(flags.model.shapes, profileShapes(profile, flags.profile));
    }
  }
  SMELT_ASSIGN_OR_RETURN(DescribedPlan described, isPlan(flags.model.path)
                                                      ? describePlanFile(flags)
                                                      : describeModel(flags, ownFiles));
  ReportData &data = described.report;
  data.command = commandText();
  if (!flags.profile.empty())
    SMELT_RETURN_IF_ERROR(addProfile(data, profile, flags.profile));
  else
    data.missing.push_back("Measured times: run smelt bench --json on a machine with a GPU, and "
                           "give what it prints with --profile.");
  placeInTime(data);
  if (!flags.against.empty())
    SMELT_RETURN_IF_ERROR(compareWith(flags, described.plan, data));
  llvm::append_values(ownFiles, flags.profile, flags.against);
  for (const std::string *path : {&flags.output, &flags.trace, &flags.dot})
    SMELT_RETURN_IF_ERROR(path->empty() ? Status() : refuseToReplace(ownFiles, *path));
  if (!flags.output.empty())
    SMELT_RETURN_IF_ERROR(write(flags.output, reportPage(data)));
  if (!flags.trace.empty())
    SMELT_RETURN_IF_ERROR(
        write(flags.trace, llvm::formatv("{0}\n", llvm::json::Value(reportTrace(data)))));
  return flags.dot.empty() ? Status() : write(flags.dot, reportDot(data));
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
      "Measured times: what smelt bench --json printed. Without them the roofline predicts");
  command.text("--against", flags->against, "Another plan, to show what differs from it");
  command.texts(
      "--shape", flags->model.shapes, "NAME=1x128",
      "Shape of an input (repeatable). Dimensions that none sets: as in the profile, else "
      "1 where they lead a shape, else 128");
  command.text("--arch", flags->arch, "Whose kernels: the plan's first, or sm_90a, unless given");
  addValues(command, flags->model.values);
  addPrecision(command, flags->precision);
  addMissing(command, flags->model);
  command.footer("examples:\n  smelt report model.onnx -o report.html\n"
                 "  smelt bench model.plan --json > bench.json\n"
                 "  smelt report model.plan --profile bench.json -o report.html");
}

} // namespace smelt::tools
