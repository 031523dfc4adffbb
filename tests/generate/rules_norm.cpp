// Norms over channels and by power, losses.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

/// A batch, a constant number of channels, and places, all of them there: nothing else has a mean.
bool hasChannels(const Value &operand, size_t least) {
  return isFloat(operand.type) && operand.shape.size() >= least && operand.shape[1].isConstant() &&
         std::all_of(operand.shape.begin(), operand.shape.end(),
                     [](const Size &size) { return size.smallest() > 0; });
}

/// How far a normalised element may lie from 0.
double reach(const Shape &shape, size_t first) {
  return std::sqrt(static_cast<double>(
      largestCount({shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end()})));
}

Attributes drawEpsilon(Drawing &draw) {
  Attributes attributes;
  attributes.add("epsilon", draw.chance(0.5) ? 1e-2f : 1e-3f);
  return attributes;
}

Drawn drawBatchNorm(Drawing &draw, const Value &operand) {
  if (!hasChannels(operand, 2) || (operand.type == Wire::BFLOAT16 && draw.opset() < 14))
    return std::nullopt;
  Shape channels{operand.shape[1]};
  Value input = draw.tamed(operand, 100);
  std::vector<Value> inputs{input, draw.leaf(operand.type, channels, {0.5, 1.5}),
                            draw.leaf(operand.type, channels, {-1, 1}),
                            draw.leaf(operand.type, channels, {-1, 1}),
                            draw.leaf(operand.type, channels, {0.5, 2})};
  Attributes attributes = drawEpsilon(draw);
  double most = 2.2 * (input.bounds.magnitude() + 1) + 1;
  Value result = operand;
  result.bounds = {-most, most};
  bool isTraining = draw.opset() >= 14 && operand.shape.size() > 2 &&
                    operand.type != Wire::BFLOAT16 && draw.chance(0.3);
  if (!isTraining)
    return draw.nodes("BatchNormalization", inputs, attributes, {result})[0];
  Value mean = result, variance = result;
  mean.shape = variance.shape = channels;
  double square = input.bounds.magnitude() * input.bounds.magnitude() + 2;
  variance.bounds = {0, square};
  double largest = 1.5 * std::sqrt(static_cast<double>(largestCount(operand.shape))) + 1;
  result.bounds = {-largest, largest};
  attributes.add("training_mode", 1);
  std::vector<Value> results =
      draw.nodes("BatchNormalization", inputs, attributes, {result, mean, variance});
  return results[static_cast<size_t>(draw.between(0, 1))];
}

Drawn drawChannelNorm(Drawing &draw, const Value &operand, bool isGroups) {
  if (!hasChannels(operand, 3) ||
      (!isGroups && operand.type == Wire::BFLOAT16 && draw.opset() < 22))
    return std::nullopt;
  Attributes attributes = drawEpsilon(draw);
  Size channels = operand.shape[1];
  size_t first = 2;
  if (isGroups) {
    std::vector<int64_t> divisors;
    for (int64_t groups = 1; groups <= std::min<int64_t>(channels.largest(), 8); ++groups)
      if (channels.largest() % groups == 0)
        divisors.push_back(groups);
    int64_t groups = draw.pick(divisors);
    attributes.add("num_groups", groups);
    first = 1;
  }
  double most = 1.5 * reach(operand.shape, first) + 1;
  return draw.node(isGroups ? "GroupNormalization" : "InstanceNormalization",
                   {draw.tamed(operand, 1e3), draw.leaf(operand.type, {channels}, {0.5, 1.5}),
                    draw.leaf(operand.type, {channels}, {-1, 1})},
                   attributes, operand.type, operand.shape, {-most, most});
}

Drawn drawLrn(Drawing &draw, const Value &operand) {
  if (!hasChannels(operand, 3) || (operand.type == Wire::BFLOAT16 && draw.opset() < 13))
    return std::nullopt;
  Value input = draw.tamed(operand, 100);
  Attributes attributes;
  attributes.add("size", draw.between(1, std::min<int64_t>(operand.shape[1].largest(), 6)));
  if (draw.chance(0.5))
    attributes.add("alpha", 0.01f);
  if (draw.chance(0.5))
    attributes.add("beta", 0.5f);
  if (draw.chance(0.5))
    attributes.add("bias", 2.0f);
  return draw.node("LRN", {input}, attributes, operand.type, operand.shape, input.bounds);
}

Drawn drawMeanVarianceNorm(Drawing &draw, const Value &operand) {
  if (!hasChannels(operand, 2) || operand.type == Wire::BFLOAT16)
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  if (operand.shape[axis].smallest() < 2) // the deviation of one element is 0
    return std::nullopt;
  double most = std::sqrt(static_cast<double>(operand.shape[axis].largest()));
  return draw.node("MeanVarianceNormalization", {draw.tamed(operand, 1e3)},
                   Attributes().add("axes", std::vector<int64_t>{static_cast<int64_t>(axis)}),
                   operand.type, operand.shape, {-most, most});
}

Drawn drawLpNorm(Drawing &draw, const Value &operand) {
  if (!isFloat(operand.type) || operand.shape.empty() ||
      (operand.type == Wire::BFLOAT16 && draw.opset() < 22))
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  return draw.node("LpNormalization", {draw.tamed(operand, 1e3)},
                   Attributes()
                       .add("axis", spelledAxis(draw, axis, operand.shape.size()))
                       .add("p", draw.between(1, 2)),
                   operand.type, operand.shape, {-1, 1});
}

/// The operand has the scores or logarithms of its second axis' classes.
Drawn drawLoss(Drawing &draw, const Value &operand, bool isCrossEntropy) {
  if (!hasChannels(operand, 2) ||
      (operand.type == Wire::BFLOAT16 && draw.opset() < (isCrossEntropy ? 13 : 22)))
    return std::nullopt;
  Shape places = operand.shape;
  places.erase(places.begin() + 1);
  if (hasDerived(places))
    return std::nullopt;
  double classes = static_cast<double>(operand.shape[1].largest());
  Value input = draw.tamed(operand, 10);
  std::vector<Value> inputs{
      input, draw.input(draw.chance(0.5) ? Wire::INT64 : Wire::INT32, places, {0, classes - 1})};
  if (draw.chance(0.5))
    inputs.push_back(draw.leaf(operand.type, {operand.shape[1]}, {0.5, 1.5}));
  static const std::vector<const char *> kReductions = {"none", "mean", "sum"};
  const char *reduction = draw.pick(kReductions);
  Attributes attributes;
  attributes.add("reduction", reduction);
  bool keeps = std::string_view(reduction) == "none";
  if (keeps && draw.chance(0.5)) // a mean over nothing is none
    attributes.add("ignore_index", 0);
  double most = 2 * input.bounds.magnitude() + std::log(classes) + 1;
  if (std::string_view(reduction) == "sum")
    most *= static_cast<double>(largestCount(places));
  if (most > safeMagnitude(operand.type))
    return std::nullopt;
  return draw.node(isCrossEntropy ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss", inputs,
                   attributes, operand.type, keeps ? places : Shape{}, {-most, most});
}

} // namespace

std::vector<Rule> normRules() {
  auto channels = [](bool isGroups) {
    return [=](Drawing &draw, const Value &operand) {
      return drawChannelNorm(draw, operand, isGroups);
    };
  };
  auto loss = [](bool isCrossEntropy) {
    return [=](Drawing &draw, const Value &operand) {
      return drawLoss(draw, operand, isCrossEntropy);
    };
  };
  return {{"BatchNormalization", 9, drawBatchNorm},
          {"GroupNormalization", 21, channels(true)}, // deprecated before

          {"InstanceNormalization", 6, channels(false)},
          {"LRN", 6, drawLrn},
          {"LpNormalization", 6, drawLpNorm},
          {"MeanVarianceNormalization", 9, drawMeanVarianceNorm},
          {"NegativeLogLikelihoodLoss", 12, loss(false)},
          {"SoftmaxCrossEntropyLoss", 12, loss(true)}};
}

} // namespace smelt::generate
