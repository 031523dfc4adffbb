// Which handler imports which ONNX op: one row for each version at which an op's meaning changed.
#pragma once

#include "frontend/node_reader.h"

#include <limits>

namespace smelt::frontend {

/// The opsets of ONNX's own domain that are understood.
constexpr int64_t kMinOpset = 1;
constexpr int64_t kMaxOpset = 28;

/// Creates the IR of one node and hands its results to NodeReader::output. A failure has been
/// reported.
using NodeHandler = mlir::LogicalResult (*)(NodeReader &);

/// As NodeRule::requiredInputs: of the inputs, however many there are, at least one, none is omitted.
constexpr size_t kEveryInput = std::numeric_limits<size_t>::max();

/// What the inputs of an op may be.
enum class Operands : uint8_t { tensors, any };

struct NodeRule {
  llvm::StringLiteral op;
  int64_t since;         // the first opset that this row holds for
  size_t requiredInputs; // so many leading inputs must be given
  NodeHandler handler;
  llvm::StringLiteral domain = ""; // ONNX's own, which is "ai.onnx" too
  Operands takes = Operands::tensors;
};

/// The row for `op` at `opset` of `domain`; null where there is none.
const NodeRule *findRule(llvm::StringRef domain, llvm::StringRef op, int64_t opset);

/// Every op of a domain, ONNX's own if none is named, that some row imports, once, sorted.
std::vector<llvm::StringRef> knownOps(llvm::StringRef domain = "");

// The rows of each family, in frontend/ops/<family>.cpp.
llvm::ArrayRef<NodeRule> activationRules();
llvm::ArrayRef<NodeRule> arithmeticRules();
llvm::ArrayRef<NodeRule> attentionRules();
llvm::ArrayRef<NodeRule> blockRules();
llvm::ArrayRef<NodeRule> castRules();
llvm::ArrayRef<NodeRule> causalConvRules();
llvm::ArrayRef<NodeRule> channelNormRules();
llvm::ArrayRef<NodeRule> constantRules();
llvm::ArrayRef<NodeRule> contractionRules();
llvm::ArrayRef<NodeRule> controlFlowRules();
llvm::ArrayRef<NodeRule> convTransposeRules();
llvm::ArrayRef<NodeRule> dataDependentRules();
llvm::ArrayRef<NodeRule> deformableRules();
llvm::ArrayRef<NodeRule> determinantRules();
llvm::ArrayRef<NodeRule> einsumRules();
llvm::ArrayRef<NodeRule> flexAttentionRules();
llvm::ArrayRef<NodeRule> gridRules();
llvm::ArrayRef<NodeRule> indexingRules();
llvm::ArrayRef<NodeRule> logicRules();
llvm::ArrayRef<NodeRule> linearAttentionRules();
llvm::ArrayRef<NodeRule> lossRules();
llvm::ArrayRef<NodeRule> microsoftAttentionRules();
llvm::ArrayRef<NodeRule> microsoftBnb4Rules();
llvm::ArrayRef<NodeRule> microsoftConvRules();
llvm::ArrayRef<NodeRule> microsoftGroupQueryRules();
llvm::ArrayRef<NodeRule> microsoftMoeRules();
llvm::ArrayRef<NodeRule> microsoftNormRules();
llvm::ArrayRef<NodeRule> microsoftQLinearRules();
llvm::ArrayRef<NodeRule> microsoftQuantizedRules();
llvm::ArrayRef<NodeRule> microsoftRules(); // of the domain com.microsoft
llvm::ArrayRef<NodeRule> microsoftStandardRules();
llvm::ArrayRef<NodeRule> normRules();
llvm::ArrayRef<NodeRule> oldFormRules();
llvm::ArrayRef<NodeRule> oldOpRules();
llvm::ArrayRef<NodeRule> oneHotRules();
llvm::ArrayRef<NodeRule> paddingRules();
llvm::ArrayRef<NodeRule> poolingRules();
llvm::ArrayRef<NodeRule> quantizedConvRules();
llvm::ArrayRef<NodeRule> quantizedProductRules();
llvm::ArrayRef<NodeRule> quantizedRules();
llvm::ArrayRef<NodeRule> randomRules();
llvm::ArrayRef<NodeRule> rectifierRules();
llvm::ArrayRef<NodeRule> recurrentRules();
llvm::ArrayRef<NodeRule> reductionRules();
llvm::ArrayRef<NodeRule> regionRules();
llvm::ArrayRef<NodeRule> resizeRules();
llvm::ArrayRef<NodeRule> rotaryRules();
llvm::ArrayRef<NodeRule> scanRules();
llvm::ArrayRef<NodeRule> scatterRules();
llvm::ArrayRef<NodeRule> sequenceRules();
llvm::ArrayRef<NodeRule> selectionRules();
llvm::ArrayRef<NodeRule> shapeRules();
llvm::ArrayRef<NodeRule> signalRules();
llvm::ArrayRef<NodeRule> signalWeightRules();
llvm::ArrayRef<NodeRule> sliceRules();

} // namespace smelt::frontend
