// smelt explain: what became of every ONNX node, and why.
#include "compiler/explain.h"
#include "runtime/text.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/report.h"

#include "llvm/ADT/StringExtras.h"

namespace smelt::tools {

namespace {

struct Flags {
  ModelFlags model;
  FloatPrecision precision = FloatPrecision::fp32;
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

static void printExplanation(const Flags &flags, const Explanation &explanation) {
  if (flags.json)
    return printJson(explanationJson(explanation, flags.model.path));
  Table nodes({"ONNX node", "op", "what became of it"});
  for (const auto &[name, fate] : explanation.fates)
    nodes.add({name, fate.op, fateText(fate, explanation)});
  nodes.print();
  print("");
  Table kernels({"kernel", "what it computes"});
  for (size_t i = 0; i < explanation.kernels.size(); ++i)
    kernels.add({std::to_string(i), kernelText(explanation.kernels[i])});
  kernels.print();
  std::string summary;
  for (const auto &[name, count] : countsJson(explanation))
    summary += joinText(summary.empty() ? "\n" : ", ", *count.getAsInteger(), " ",
                        llvm::StringRef(name).str());
  print(summary);
}

static Status explain(const Flags &flags) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, importModel(flags.model));
  FuseOptions options;
  options.narrowing.to = flags.precision;
  SMELT_RETURN_IF_ERROR(fuse(*model, options));
  printExplanation(flags, explainModel(*model));
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
  addValues(command, flags->model.values);
  addPrecision(command, flags->precision);
  addMissing(command, flags->model);
  addJson(command, flags->json);
  command.footer("examples:\n  smelt explain model.onnx | less\n  smelt explain model.onnx --json "
                 "| jq .counts");
}

} // namespace smelt::tools
