#include "compiler/explain.h"

#include "codegen/fusion_numbers.h"
#include "compiler/file_summary.h"
#include "ir/decisions.h"
#include "ir/location.h"
#include "runtime/text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace smelt::compiler {

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
      if (auto fate = result.fates.find(node.str()); fate != result.fates.end())
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

std::string decisionText(bool isTaken, const std::string &fusion, const std::string &predicate,
                         const std::string &message) {
  std::string why = isTaken ? joinText("became ", fusion)
                            : joinText("no ", fusion, ", since it fails '", predicate, "'");
  return message.empty() ? why : joinText(why, ": ", message);
}

static void addRemarks(ModuleOp module, Fates &fates) {
  for (RemarkAttr remark : getRemarks(module)) {
    auto fate = fates.find(remark.getNode().str());
    if (fate == fates.end())
      continue;
    fate->second.remarks.push_back(
        decisionText(remark.getDecision() == Decision::taken, remark.getFusion().str(),
                     remark.getPredicate().str(), remark.getMessage().str()));
  }
}

Explanation explainModel(Model &fused) {
  Explanation result;
  for (const ListedNode &node : summarizeFile(fused.path()).nodes)
    result.fates[node.name].op = node.op;
  llvm::DenseMap<Value, bool> known;
  for (FusionOp fusion :
       codegen::numberedFusions(fused.module().lookupSymbol<func::FuncOp>("main")))
    explainFusion(fusion, known, result);
  addRemarks(fused.module(), result.fates);
  return result;
}

llvm::json::Object countsJson(const Explanation &explanation) {
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

llvm::json::Object explanationJson(const Explanation &explanation, const std::string &modelPath) {
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
  return llvm::json::Object{{"schema", "smelt.explain/1"},
                            {"model", modelPath},
                            {"counts", countsJson(explanation)},
                            {"kernels", std::move(kernels)},
                            {"nodes", std::move(nodes)}};
}

} // namespace smelt::compiler
