// smelt check: what a model is, and what keeps it from being compiled, all of it at once.
#include "compiler/file_summary.h"
#include "runtime/text.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/dimensions.h"
#include "tools/smelt/report.h"

#include "llvm/ADT/StringSet.h"

#include <map>

namespace smelt::tools {

namespace {

struct Flags {
  ModelFlags model;
  bool json = false;
};

/// The nodes of one op at one version.
struct OpCount {
  size_t nodes = 0;
  size_t supported = 0;
};

/// What is known of a model once it was imported.
struct Findings {
  FileSummary file;
  std::vector<Problem> problems;
  llvm::StringSet<> places; // of the problems

  /// It has a handler, and no problem.
  bool isSupported(const ListedNode &node) const {
    return node.hasHandler && !places.contains(node.name);
  }
};

} // namespace

static Findings findingsOf(const Flags &flags, std::vector<Problem> problems) {
  Findings findings{summarizeFile(flags.model.path), std::move(problems), {}};
  for (const Problem &problem : findings.problems)
    findings.places.insert(problem.place);
  return findings;
}

/// "Conv" and "com.microsoft.Gelu", each with its version.
static std::map<std::pair<std::string, int64_t>, OpCount> countOps(const Findings &findings) {
  std::map<std::pair<std::string, int64_t>, OpCount> counts;
  for (const ListedNode &node : findings.file.nodes) {
    std::string op = node.domain.empty() ? node.op : node.domain + "." + node.op;
    OpCount &count = counts[{op, node.opset}];
    ++count.nodes;
    count.supported += findings.isSupported(node);
  }
  return counts;
}

static llvm::json::Array nodesJson(const Findings &findings) {
  llvm::json::Array nodes;
  for (const ListedNode &node : findings.file.nodes)
    nodes.push_back(llvm::json::Object{{"name", node.name},
                                       {"op", node.op},
                                       {"domain", node.domain},
                                       {"opset", node.opset},
                                       {"supported", findings.isSupported(node)}});
  return nodes;
}

static llvm::json::Array portsJson(const std::vector<DeclaredPort> &ports) {
  llvm::json::Array list;
  for (const DeclaredPort &port : ports)
    list.push_back(llvm::json::Object{{"name", port.name}, {"type", port.type}});
  return list;
}

static llvm::json::Object problemJson(const Problem &problem) {
  std::string message = problem.message;
  for (const std::string &note : problem.notes)
    message += "\n  note: " + note;
  return llvm::json::Object{{"place", problem.place}, {"message", message}};
}

static llvm::json::Object findingsJson(const Flags &flags, const Findings &findings) {
  llvm::json::Array problems;
  for (const Problem &problem : findings.problems)
    problems.push_back(problemJson(problem));
  llvm::json::Object opsets, weights;
  for (const auto &[domain, version] : findings.file.opsets)
    opsets[domain.empty() ? "ai.onnx" : domain] = version;
  for (const TypeBytes &weight : findings.file.weights)
    weights[weight.type] = weight.bytes;
  return llvm::json::Object{{"schema", "smelt.check/1"},
                            {"model", flags.model.path},
                            {"supported", findings.problems.empty()},
                            {"opsets", std::move(opsets)},
                            {"inputs", portsJson(findings.file.inputs)},
                            {"outputs", portsJson(findings.file.outputs)},
                            {"weight_bytes", std::move(weights)},
                            {"precision", weightPrecision(findings.file)},
                            {"problems", std::move(problems)},
                            {"nodes", nodesJson(findings)}};
}

static std::string opsetsText(const FileSummary &file) {
  std::string text;
  for (const auto &[domain, version] : file.opsets)
    text += joinText(text.empty() ? "" : ", ", domain.empty() ? "" : domain + " ", version);
  return text;
}

static std::string weightsText(const FileSummary &file) {
  std::string text;
  for (const TypeBytes &weight : file.weights)
    text += joinText(text.empty() ? "" : ", ", weight.type, " ",
                     bytesText(static_cast<double>(weight.bytes)));
  return text.empty() ? "none" : text;
}

static std::string precisionText(const FileSummary &file) {
  std::string precision = weightPrecision(file);
  if (precision == "float32")
    return "float32; compile --precision tf32, fp16 or bf16 narrows it";
  return precision.empty() ? "no floating-point weights" : precision;
}

static void printFile(const FileSummary &file) {
  Table table({"what", "name", "type"});
  table.add({"opset", opsetsText(file), ""});
  for (const DeclaredPort &port : file.inputs)
    table.add({"input", port.name, port.type});
  for (const DeclaredPort &port : file.outputs)
    table.add({"output", port.name, port.type});
  table.add({"weights", weightsText(file), ""});
  table.add({"precision", precisionText(file), ""});
  table.print();
}

static void printOps(const Findings &findings) {
  Table table({"op", "opset", "nodes", "supported"});
  for (const auto &[op, count] : countOps(findings))
    table.add({op.first, std::to_string(op.second), std::to_string(count.nodes),
               count.supported == count.nodes ? "all"
               : count.supported == 0         ? "none"
                                              : std::to_string(count.supported)});
  table.print();
}

static void printFindings(const Flags &flags, const Findings &findings) {
  if (flags.json)
    return printJson(findingsJson(flags, findings));
  if (!findings.file.nodes.empty()) {
    printFile(findings.file);
    print("");
    printOps(findings);
    print("");
  }
  for (const Problem &problem : findings.problems)
    print(problemText(problem, flags.model.path));
  if (findings.problems.empty())
    print(flags.model.path + ": supported");
}

static Result<std::vector<Problem>> checkWithProgress(ModelOptions options) {
  std::shared_ptr<ProgressLine> line = showReading(options);
  Result<std::vector<Problem>> problems = checkModel(options);
  line->clear();
  return problems;
}

static Status check(Flags flags) {
  SMELT_RETURN_IF_ERROR(nameShapes(flags.model.path, flags.model.dimensions, flags.model.shapes));
  SMELT_ASSIGN_OR_RETURN(ModelOptions options, modelOptions(flags.model));
  Status unread;
  SMELT_RETURN_IF_ERROR(giveValues(options, flags.model.values, unread));
  SMELT_ASSIGN_OR_RETURN(std::vector<Problem> problems, checkWithProgress(std::move(options)));
  SMELT_RETURN_IF_ERROR(unread);
  Findings findings = findingsOf(flags, std::move(problems));
  printFindings(flags, findings);
  if (findings.problems.empty())
    return {};
  return Status(StatusCode::kInvalidModel,
                joinText(flags.model.path, ": ", findings.problems.size(),
                         findings.problems.size() == 1 ? " problem" : " problems"));
}

void addCheck(CommandLine &line) {
  auto flags = std::make_shared<Flags>();
  Command command = line.add(
      "check", "Say what a model is and whether Smelt supports it; list all that it does not",
      [flags] { return check(*flags); });
  command.argument("model", flags->model.path, "The .onnx file");
  command.texts("--shape", flags->model.shapes, "NAME=1x128",
                "Check what would be compiled for this shape (repeatable)");
  addDimensions(command, flags->model.dimensions);
  addValues(command, flags->model.values);
  addMissing(command, flags->model);
  addJson(command, flags->json);
  command.footer("example:\n  smelt check model.onnx --json");
}

} // namespace smelt::tools
