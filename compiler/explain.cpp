#include "compiler/explain.h"

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
  for (auto fusion : fused.module().lookupSymbol<func::FuncOp>("main").getOps<FusionOp>())
    explainFusion(fusion, known, result);
  addRemarks(fused.module(), result.fates);
  return result;
}

} // namespace smelt::compiler
