#include "frontend/node_table.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

using RuleMap = llvm::StringMap<SmallVector<const NodeRule *, 2>>;

/// Neither a domain nor an op has a colon in its name.
std::string keyOf(StringRef domain, StringRef op) { return (domain + ":" + op).str(); }

RuleMap indexRules() {
  RuleMap rules;
  for (ArrayRef<NodeRule> family : {activationRules(),
                                    arithmeticRules(),
                                    attentionRules(),
                                    blockRules(),
                                    castRules(),
                                    causalConvRules(),
                                    linearAttentionRules(),
                                    controlFlowRules(),
                                    flexAttentionRules(),
                                    scanRules(),
                                    channelNormRules(),
                                    constantRules(),
                                    contractionRules(),
                                    convTransposeRules(),
                                    dataDependentRules(),
                                    sequenceRules(),
                                    deformableRules(),
                                    determinantRules(),
                                    einsumRules(),
                                    gridRules(),
                                    indexingRules(),
                                    logicRules(),
                                    lossRules(),
                                    microsoftAttentionRules(),
                                    microsoftBnb4Rules(),
                                    microsoftConvRules(),
                                    microsoftGroupQueryRules(),
                                    microsoftMoeRules(),
                                    microsoftNormRules(),
                                    microsoftQLinearRules(),
                                    microsoftQuantizedRules(),
                                    microsoftRules(),
                                    microsoftStandardRules(),
                                    normRules(),
                                    oldFormRules(),
                                    oldOpRules(),
                                    oneHotRules(),
                                    paddingRules(),
                                    poolingRules(),
                                    quantizedConvRules(),
                                    quantizedProductRules(),
                                    quantizedRules(),
                                    randomRules(),
                                    rectifierRules(),
                                    recurrentRules(),
                                    reductionRules(),
                                    regionRules(),
                                    resizeRules(),
                                    rotaryRules(),
                                    scatterRules(),
                                    selectionRules(),
                                    shapeRules(),
                                    signalRules(),
                                    signalWeightRules(),
                                    sliceRules()})
    for (const NodeRule &rule : family)
      rules[keyOf(rule.domain, rule.op)].push_back(&rule);
  return rules;
}

const RuleMap &ruleMap() {
  static const RuleMap rules = indexRules();
  return rules;
}

} // namespace

std::vector<StringRef> knownOps(StringRef domain) {
  std::vector<StringRef> ops;
  for (const auto &entry : ruleMap())
    if (StringRef op = entry.getKey(); op.consume_front(domain) && op.consume_front(":"))
      ops.push_back(op);
  llvm::sort(ops);
  return ops;
}

const NodeRule *findRule(StringRef domain, StringRef op, int64_t opset) {
  const RuleMap &rules = ruleMap();
  auto versions = rules.find(keyOf(domain, op));
  if (versions == rules.end())
    return nullptr;
  const NodeRule *best = nullptr;
  for (const NodeRule *rule : versions->second)
    if (rule->since <= opset && (!best || rule->since > best->since))
      best = rule;
  return best;
}

} // namespace smelt::frontend
