// One rule for each op that the frontend imports: how a node of it is drawn that reads a given value.
#pragma once

#include "tests/generate/drawing.h"

#include <functional>
#include <limits>
#include <string_view>

namespace smelt::generate {

/// Draws a node that reads `operand`, with whatever else it needs; none where the op takes no such operand, and then
/// nothing was drawn.
using DrawNode = std::function<std::optional<Value>(Drawing &, const Value &operand)>;

struct Rule {
  std::string_view
      op; ///< "Gelu"; "com.microsoft.Gelu" of another domain; what is drawn, where that is several nodes
  int64_t since; ///< the first opset in which it can be drawn
  DrawNode draw;
  int64_t last = std::numeric_limits<int64_t>::max(); ///< the last one

  bool isIn(int64_t opset) const { return since <= opset && opset <= last; }
};

std::vector<Rule> elementwiseRules();
std::vector<Rule> activationRules();
std::vector<Rule> bitRules();
std::vector<Rule> viewRules();
std::vector<Rule> indexingRules();
std::vector<Rule> knownValueRules();
std::vector<Rule> oldRules();
std::vector<Rule> recurrentRules();
std::vector<Rule> reductionRules();
std::vector<Rule> regionRules();
std::vector<Rule> normRules();
std::vector<Rule> signalRules();
std::vector<Rule> contractionRules();
std::vector<Rule> controlFlowRules();
std::vector<Rule> poolingRules();
std::vector<Rule> quantizedRules();
std::vector<Rule> quantizedGraphRules();
std::vector<Rule> scatterRules();
std::vector<Rule> sequenceRules();
std::vector<Rule> attentionRules();
std::vector<Rule> attentionGraphRules();
std::vector<Rule> spatialRules();
std::vector<Rule> squeezeExciteRules();
std::vector<Rule> resampleRules();
std::vector<Rule> einsumRules();
std::vector<Rule> stateRules();
std::vector<Rule> smallTypeRules();
std::vector<Rule> microsoftRules();
std::vector<Rule> microsoftByteRules();
std::vector<Rule> microsoftDecoderRules();
std::vector<Rule> microsoftQuantizedRules();
std::vector<Rule> microsoftStandardRules();

/// All of them.
const std::vector<Rule> &rules();
const Rule *findRule(std::string_view op);

/// An axis of a tensor of `rank` dimensions as a node may name it: counted from the end at times.
int64_t spelledAxis(Drawing &draw, size_t axis, size_t rank);
/// Draws an axis; more often the last than another.
size_t drawAxis(Drawing &draw, const Shape &shape);

} // namespace smelt::generate
