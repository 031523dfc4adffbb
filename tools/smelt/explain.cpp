// smelt explain: what became of every ONNX node, and why.
#include "compiler/node_list.h"
#include "ir/decisions.h"
#include "ir/location.h"
#include "runtime/text.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/report.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace smelt::tools {

namespace {

struct Flags {
  ModelFlags model;
  bool json = false;
};

/// One fusion of the fused module: one kernel.
struct Kernel {
  std::string kind;
  llvm::SetVector<StringRef> ops; ///< "layer_norm", "matmul", ... in order
  bool isOfShapesOnly;            ///< computes from sizes alone, with no input and no weight
};

struct Counts {
  int64_t attention = 0, norm = 0, softmax = 0, gelu = 0;
};

/// What is known about one ONNX node: its kernels, and the decisions made about it.
struct NodeFate {
  std::string op;
  llvm::SetVector<size_t> kernels;
  std::vector<std::string> remarks;
};

using Fates = llvm::MapVector<StringRef, NodeFate>;

/// Everything that `explain` says.
struct Explanation {
  std::vector<Kernel> kernels;
  Counts counts;
  Fates fates;
};

} // namespace

/// Whether a value depends on an argument of @main or on a weight.
static bool dependsOnData(Value value, llvm::DenseMap<Value, bool> &known) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  bool depends = !op || isa<WeightOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
    return dependsOnData(operand, known);
  });
  return known[value] = depends;
}

static void explainFusion(FusionOp fusion, llvm::DenseMap<Value, bool> &known,
                          Explanation &result) {
  Kernel kernel{stringifyFusionKind(fusion.getKind()).str(), {}, true};
  for (Value output : fusion.getOutputs())
    kernel.isOfShapesOnly &= !dependsOnData(output, known);
  size_t index = result.kernels.size();
  fusion.walk([&](Operation *op) {
    for (StringRef node : nodeNames(op->getLoc()))
      if (auto fate = result.fates.find(node); fate != result.fates.end())
        fate->second.kernels.insert(index);
    if (isa<FusionOp, YieldOp>(op))
      return;
    kernel.ops.insert(op->getName().stripDialect());
    result.counts.attention += isa<AttentionOp>(op);
    result.counts.norm += isa<Normalization, RowMomentsOp>(op); // whole, or in epilogues
    result.counts.softmax += isa<SoftmaxOp>(op);
    result.counts.gelu += isa<GeluOp>(op);
  });
  result.kernels.push_back(std::move(kernel));
}

static void addRemarks(ModuleOp module, Fates &fates) {
  for (RemarkAttr remark : getRemarks(module)) {
    auto fate = fates.find(remark.getNode());
    if (fate == fates.end())
      continue;
    std::string why =
        remark.getDecision() == Decision::taken
            ? joinText("became ", remark.getFusion())
            : joinText("no ", remark.getFusion(), ", since it fails '", remark.getPredicate(), "'");
    fate->second.remarks.push_back(
        remark.getMessage().empty() ? why : joinText(why, ": ", remark.getMessage()));
  }
}

/// Explains a fused module; `fates` lists the model's nodes.
static Explanation explainModule(ModuleOp module, Fates fates) {
  Explanation result{{}, {}, std::move(fates)};
  llvm::DenseMap<Value, bool> known;
  for (auto fusion : module.lookupSymbol<func::FuncOp>("main").getOps<FusionOp>())
    explainFusion(fusion, known, result);
  addRemarks(module, result.fates);
  return result;
}

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

static llvm::json::Object countsJson(const Explanation &explanation) {
  int64_t shapeKernels = llvm::count_if(explanation.kernels,
                                        [](const Kernel &kernel) { return kernel.isOfShapesOnly; });
  int64_t folded = llvm::count_if(explanation.fates,
                                  [](const auto &entry) { return entry.second.kernels.empty(); });
  return llvm::json::Object{{"nodes", static_cast<int64_t>(explanation.fates.size())},
                            {"folded_nodes", folded},
                            {"kernels", static_cast<int64_t>(explanation.kernels.size())},
                            {"shape_kernels", shapeKernels},
                            {"attention", explanation.counts.attention},
                            {"norm", explanation.counts.norm},
                            {"softmax", explanation.counts.softmax},
                            {"gelu", explanation.counts.gelu}};
}

static void printExplanation(const Flags &flags, const Explanation &explanation) {
  if (flags.json) {
    llvm::json::Array kernels, nodes;
    for (const Kernel &kernel : explanation.kernels)
      kernels.push_back(
          llvm::json::Object{{"kind", kernel.kind}, {"ops", llvm::json::Array(kernel.ops)}});
    for (const auto &[name, fate] : explanation.fates) {
      llvm::json::Array indices;
      for (size_t index : fate.kernels)
        indices.push_back(static_cast<int64_t>(index));
      nodes.push_back(llvm::json::Object{{"name", name},
                                         {"op", fate.op},
                                         {"kernels", std::move(indices)},
                                         {"remarks", llvm::json::Array(fate.remarks)}});
    }
    return printJson(llvm::json::Object{{"schema", "smelt.explain/1"},
                                        {"model", flags.model.path},
                                        {"counts", countsJson(explanation)},
                                        {"kernels", std::move(kernels)},
                                        {"nodes", std::move(nodes)}});
  }
  Table nodes({"ONNX node", "op", "what became of it"});
  for (const auto &[name, fate] : explanation.fates)
    nodes.add({name.str(), fate.op, fateText(fate, explanation)});
  nodes.print();
  print("");
  Table kernels({"kernel", "what it computes"});
  for (size_t i = 0; i < explanation.kernels.size(); ++i)
    kernels.add({std::to_string(i), kernelText(explanation.kernels[i])});
  kernels.print();
  std::string summary;
  for (const auto &[name, count] : countsJson(explanation))
    summary +=
        joinText(summary.empty() ? "\n" : ", ", *count.getAsInteger(), " ", StringRef(name).str());
  print(summary);
}

static Status explain(const Flags &flags) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, importModel(flags.model));
  std::vector<ListedNode> nodes = listNodes(flags.model.path); // their names outlive the fates
  Fates fates;
  for (const ListedNode &node : nodes)
    fates[node.name].op = node.op;
  SMELT_RETURN_IF_ERROR(fuse(*model));
  printExplanation(flags, explainModule(model->module(), std::move(fates)));
  return {};
}

void addExplain(CLI::App &app, Status &status) {
  auto flags = std::make_shared<Flags>();
  CLI::App *command = app.add_subcommand(
      "explain", "Say which kernel each ONNX node went into, or the predicate that kept it out");
  command->add_option("model", flags->model.path, "The .onnx file")->required();
  command
      ->add_option("--shape", flags->model.shapes,
                   "Explain what is compiled for this shape (repeatable)")
      ->option_text("NAME=1x128")
      ->allow_extra_args(false);
  addRandomWeights(*command, flags->model.randomWeights);
  addJson(*command, flags->json);
  command->footer("examples:\n  smelt explain model.onnx | less\n  smelt explain model.onnx --json "
                  "| jq .counts");
  command->callback([flags, &status] { status = explain(*flags); });
}

} // namespace smelt::tools
