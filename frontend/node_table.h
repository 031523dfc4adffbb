// Which handler imports which ONNX op: one row for each version at which an op's meaning changed.
#pragma once

#include "frontend/node_reader.h"

namespace smelt::frontend {

/// The opsets of ONNX's own domain that are understood.
constexpr int64_t kMinOpset = 7;
constexpr int64_t kMaxOpset = 28;

/// Creates the IR of one node and hands its results to NodeReader::output. A failure has been
/// reported.
using NodeHandler = mlir::LogicalResult (*)(NodeReader &);

struct NodeRule {
  llvm::StringLiteral op;
  int64_t since;         // the first opset that this row holds for
  size_t requiredInputs; // so many leading inputs must be given
  NodeHandler handler;
  llvm::StringLiteral domain = ""; // ONNX's own, which is "ai.onnx" too
};

/// The row for `op` at `opset` of `domain`; null where there is none.
const NodeRule *findRule(llvm::StringRef domain, llvm::StringRef op, int64_t opset);

/// Every op of ONNX's own domain that some row imports, once, sorted.
std::vector<llvm::StringRef> knownOps();

// The rows of each family, in frontend/ops/<family>.cpp.
llvm::ArrayRef<NodeRule> activationRules();
llvm::ArrayRef<NodeRule> arithmeticRules();
llvm::ArrayRef<NodeRule> attentionRules();
llvm::ArrayRef<NodeRule> blockRules();
llvm::ArrayRef<NodeRule> channelNormRules();
llvm::ArrayRef<NodeRule> constantRules();
llvm::ArrayRef<NodeRule> contractionRules();
llvm::ArrayRef<NodeRule> convTransposeRules();
llvm::ArrayRef<NodeRule> determinantRules();
llvm::ArrayRef<NodeRule> einsumRules();
llvm::ArrayRef<NodeRule> gridRules();
llvm::ArrayRef<NodeRule> indexingRules();
llvm::ArrayRef<NodeRule> logicRules();
llvm::ArrayRef<NodeRule> lossRules();
llvm::ArrayRef<NodeRule> microsoftNormRules();
llvm::ArrayRef<NodeRule> microsoftRules(); // of the domain com.microsoft
llvm::ArrayRef<NodeRule> normRules();
llvm::ArrayRef<NodeRule> oneHotRules();
llvm::ArrayRef<NodeRule> paddingRules();
llvm::ArrayRef<NodeRule> poolingRules();
llvm::ArrayRef<NodeRule> quantizedRules();
llvm::ArrayRef<NodeRule> rectifierRules();
llvm::ArrayRef<NodeRule> recurrentRules();
llvm::ArrayRef<NodeRule> reductionRules();
llvm::ArrayRef<NodeRule> resizeRules();
llvm::ArrayRef<NodeRule> rotaryRules();
llvm::ArrayRef<NodeRule> scatterRules();
llvm::ArrayRef<NodeRule> selectionRules();
llvm::ArrayRef<NodeRule> shapeRules();
llvm::ArrayRef<NodeRule> signalRules();
llvm::ArrayRef<NodeRule> signalWeightRules();
llvm::ArrayRef<NodeRule> sliceRules();

} // namespace smelt::frontend
