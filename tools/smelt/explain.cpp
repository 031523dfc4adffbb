// smelt explain: what became of every ONNX node, and why.
#include "compiler/explain.h"
#include "runtime/text.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/dimensions.h"
#include "tools/smelt/model_code.h"
#include "tools/smelt/repeats.h"
#include "tools/smelt/report.h"

#include "llvm/ADT/StringExtras.h"

#include <optional>
#include <tuple>

namespace smelt::tools {

namespace {

struct Flags {
  ModelFlags model;
  FloatPrecision precision = FloatPrecision::fp32;
  std::string node;             ///< part of the names of nodes that are asked for
  std::optional<size_t> kernel; ///< whose nodes are asked for
  std::string arch;             ///< whose code is asked for; "": none
  bool all = false;
  bool json = false;
};

} // namespace

static std::string kernelText(const Kernel &kernel) {
  return kernel.kind + " (" + llvm::join(kernel.ops, ", ") + ")";
}

static std::string fateText(const NodeFate &fate, const Explanation &explanation) {
  std::string text;
  for (size_t index : fate.kernels)
    text += joinText(text.empty() ? "kernel " : ", kernel ", index, " ",
                     explanation.kernels[index].kind);
  if (text.empty())
    text = "no kernel: folded into others' indices or constants, or computed on the host";
  for (const std::string &remark : fate.remarks)
    text += "; " + remark;
  return text;
}

/// "63 kernels for 705 nodes, 301 of which are folded; 12 attention, 25 norm"
static std::string summaryText(const Explanation &explanation) {
  llvm::json::Object counts = countsJson(explanation);
  auto count = [&](const char *name) { return *counts.getInteger(name); };
  std::string text = joinText(count("kernels"), " kernels for ", count("nodes"), " nodes, ",
                              count("folded_nodes"), " of which are folded");
  const char *separator = "; ";
  for (const char *kind : {"attention", "norm", "softmax", "gelu", "shape_kernels"}) {
    if (count(kind) == 0)
      continue;
    text += joinText(separator, count(kind), " ", kind);
    separator = ", ";
  }
  return text;
}

static void printKernels(const Explanation &explanation) {
  std::vector<std::string> texts;
  for (const Kernel &kernel : explanation.kernels)
    texts.push_back(kernelText(kernel));
  Table table({"kernel", "times", "what it computes"});
  for (const Repeat &repeat : foldRepeats(texts))
    for (size_t i = repeat.first; i < repeat.first + repeat.period; ++i)
      table.add({std::to_string(i), "x " + std::to_string(repeat.count), texts[i]});
  table.print();
}

/// What is asked about: a kernel, nodes whose names hold a text, or both.
static bool isAskedFor(const Flags &flags, const std::string &name, const NodeFate &fate) {
  return llvm::StringRef(name).contains(flags.node) &&
         (!flags.kernel || fate.kernels.contains(*flags.kernel));
}

/// Every node that is asked for, with its kernels.
static void printNodes(const Flags &flags, const Explanation &explanation) {
  Table nodes({"ONNX node", "op", "what became of it"});
  for (const auto &[name, fate] : explanation.fates)
    if (isAskedFor(flags, name, fate))
      nodes.add({name, fate.op, fateText(fate, explanation)});
  nodes.print();
}

/// "gemm, attention x 12; became ...": what became of a node, whatever the numbers of its kernels.
static std::string commonFate(const NodeFate &fate, const Explanation &explanation) {
  std::vector<std::string> kinds;
  for (size_t index : fate.kernels)
    kinds.push_back(explanation.kernels[index].kind);
  std::vector<std::string> parts;
  for (const Repeat &repeat : foldRepeats(kinds))
    for (size_t i = repeat.first; i < repeat.first + repeat.period; ++i)
      parts.push_back(repeat.count > 1 ? joinText(kinds[i], " x ", repeat.count) : kinds[i]);
  std::string text = llvm::join(parts, ", ");
  for (const std::string &remark : fate.remarks)
    text += (text.empty() ? "" : "; ") + remark;
  return text;
}

/// The nodes that did not simply fold, those of all layers as one, with the remarks of the first.
static void printCommonNodes(const Explanation &explanation) {
  struct Row {
    std::string op, fate;
    size_t count = 0;
  };
  using Key = std::tuple<std::string, std::string, std::string>;
  llvm::MapVector<Key, Row, std::map<Key, unsigned>> rows;
  for (const auto &[name, fate] : explanation.fates) {
    if (fate.kernels.empty() && fate.remarks.empty())
      continue;
    std::string text = commonFate(fate, explanation);
    Row &row = rows[{withoutNumbers(name), fate.op, withoutNumbers(text)}];
    if (row.count++ == 0)
      row = {fate.op, text, 1};
  }
  Table table({"ONNX node", "times", "op", "its kernels, and why"});
  for (const auto &[key, row] : rows)
    table.add({std::get<0>(key), "x " + std::to_string(row.count), row.op, row.fate});
  table.print();
}

static void printExplanation(const Flags &flags, const Explanation &explanation,
                             const std::vector<LaunchCode> &launches) {
  if (flags.json) {
    llvm::json::Object object = explanationJson(explanation, flags.model.path);
    addLaunchCode(*object.getArray("kernels"), launches);
    return printJson(std::move(object));
  }
  print(summaryText(explanation) + "\n");
  bool asksForNodes = flags.all || flags.kernel || !flags.node.empty();
  if (!asksForNodes) {
    printKernels(explanation);
    print("");
  }
  if (!launches.empty()) {
    print("on " + flags.arch + ":");
    printLaunchCode(launches);
    print("");
  }
  asksForNodes ? printNodes(flags, explanation) : printCommonNodes(explanation);
}

static Status explain(Flags flags) {
  SMELT_RETURN_IF_ERROR(nameShapes(flags.model.path, flags.model.dimensions, flags.model.shapes));
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, importModel(flags.model));
  FuseOptions options;
  options.narrowing.to = flags.precision;
  SMELT_RETURN_IF_ERROR(fuse(*model, options));
  Explanation explanation = explainModel(*model);
  if (flags.kernel && *flags.kernel >= explanation.kernels.size())
    return Status(StatusCode::kUsage,
                  joinText("there is no kernel ", *flags.kernel, "; they are numbered from 0 to ",
                           explanation.kernels.size() - 1));
  std::vector<LaunchCode> launches;
  if (!flags.arch.empty()) {
    SMELT_ASSIGN_OR_RETURN(launches,
                           compileAndMeasureCode(*model, {{flags.arch}, flags.precision}));
  }
  if (flags.kernel)
    llvm::erase_if(launches,
                   [&](const LaunchCode &launch) { return launch.kernel != *flags.kernel; });
  printExplanation(flags, explanation, launches);
  return {};
}

void addExplain(CommandLine &line) {
  auto flags = std::make_shared<Flags>();
  Command command = line.add(
      "explain", "Say which kernel each ONNX node went into, or the predicate that kept it out",
      [flags] { return explain(*flags); });
  command.argument("model", flags->model.path, "The .onnx file");
  command.texts("--shape", flags->model.shapes, "NAME=1x128",
                "Explain what is compiled for this shape (repeatable)");
  addDimensions(command, flags->model.dimensions);
  addValues(command, flags->model.values);
  addPrecision(command, flags->precision);
  addMissing(command, flags->model);
  command.text("--node", flags->node, "Only nodes whose names hold this text, each by itself");
  auto takeKernel = [flags](const std::string &text) -> std::string {
    size_t number = 0;
    if (!llvm::to_integer(text, number, 10))
      return "'" + text + "' is no kernel's number";
    flags->kernel = number;
    return "";
  };
  command.parsed("--kernel", takeKernel, "N", "Only the nodes of this kernel, each by itself");
  command.text("--arch", flags->arch,
               "Compile for this architecture, and show the registers, shared memory and occupancy "
               "of each kernel");
  command.flag("--all", flags->all, "Every node by itself, those that folded among them");
  addJson(command, flags->json);
  command.footer("Layers that are alike are one row, with how often it stands for one.\n"
                 "examples:\n"
                 "  smelt explain model.onnx\n"
                 "  smelt explain model.onnx --node attention\n"
                 "  smelt explain model.onnx --kernel 3\n"
                 "  smelt explain model.onnx --arch sm_90a\n"
                 "  smelt explain model.onnx --json | jq .counts");
}

} // namespace smelt::tools
