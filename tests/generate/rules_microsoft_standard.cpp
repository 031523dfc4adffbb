// Ops of the domain com.microsoft that are ONNX's own but for their spelling, channels that come last, or an activation behind
// them.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"
#include "tests/generate/windows.h"

#include <algorithm>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

constexpr int64_t kMostElements = 1 << 17;

bool isSingleOrHalf(const Value &operand) {
  return operand.type == Wire::FLOAT || operand.type == Wire::FLOAT16;
}

/// Drawn as an op of ONNX's own.
Drawn drawRespelled(Drawing &draw, const Value &operand, std::string_view own,
                    const std::string &op, const Attributes &more = {}) {
  const Rule &rule = *findRule(own);
  Drawn drawn = rule.isIn(draw.opset()) ? rule.draw(draw, operand) : std::nullopt;
  if (drawn)
    draw.respellLast("com.microsoft." + op, more);
  return drawn;
}

Drawn drawMicrosoftTrilu(Drawing &draw, const Value &operand) {
  return drawRespelled(draw, operand, "Trilu", "Trilu");
}

Drawn drawExpandDims(Drawing &draw, const Value &operand) {
  Shape shape = operand.shape;
  size_t axis = static_cast<size_t>(draw.between(0, static_cast<int64_t>(shape.size())));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), Size::of(1));
  Value where =
      draw.scalar(Wire::INT32, static_cast<double>(spelledAxis(draw, axis, shape.size())));
  return draw.node("com.microsoft.ExpandDims", {operand, where}, {}, operand.type, shape,
                   operand.bounds);
}

/// Rows, matrices or elements of the operand by the indices of its first axes.
Drawn drawMicrosoftGatherNd(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  if (rank < 1)
    return std::nullopt;
  size_t depth = static_cast<size_t>(draw.between(1, static_cast<int64_t>(rank)));
  int64_t least = operand.shape[0].smallest();
  for (size_t axis = 1; axis < depth; ++axis)
    least = std::min(least, operand.shape[axis].smallest());
  Shape index{draw.drawConstant(17)}, shape = index;
  index.push_back(Size::of(static_cast<int64_t>(depth)));
  shape.insert(shape.end(), operand.shape.begin() + static_cast<std::ptrdiff_t>(depth),
               operand.shape.end());
  if (least < 1 || largestCount(shape) > kMostElements)
    return std::nullopt;
  Value indices = draw.leaf(draw.chance(0.5) ? Wire::INT64 : Wire::INT32, index,
                            {0, static_cast<double>(least - 1)});
  return draw.node("com.microsoft.GatherND", {operand, indices}, {}, operand.type, shape,
                   operand.bounds);
}

Drawn drawMicrosoftGridSample(Drawing &draw, const Value &operand) {
  const Shape &shape = operand.shape;
  if (operand.type != Wire::FLOAT || shape.size() != 4 || hasDerived(shape) ||
      shape[2].smallest() < 1 || shape[3].smallest() < 1)
    return std::nullopt;
  Size rows = draw.drawConstant(9), columns = draw.drawConstant(9);
  Shape result{shape[0], shape[1], rows, columns};
  if (largestCount(result) > kMostElements)
    return std::nullopt;
  static const std::vector<const char *> kModes = {"bilinear", "nearest", "bicubic"},
                                         kPaddings = {"zeros", "border", "reflection"};
  Value positions = draw.leaf(Wire::FLOAT, {shape[0], rows, columns, Size::of(2)}, {-1.3, 1.3});
  double most = 4 * operand.bounds.magnitude(); // cubic weights go beyond 1
  return draw.node("com.microsoft.GridSample", {operand, positions},
                   Attributes()
                       .add("mode", draw.pick(kModes))
                       .add("padding_mode", draw.pick(kPaddings))
                       .add("align_corners", draw.between(0, 1)),
                   operand.type, result, {-most, most});
}

Drawn drawMicrosoftPad(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  if (!isSingleOrHalf(operand) || rank < 1 || hasDerived(operand.shape))
    return std::nullopt;
  static const std::vector<const char *> kModes = {"constant", "edge"};
  const char *mode = draw.pick(kModes);
  Shape shape = operand.shape;
  std::vector<double> pads(2 * rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    if (shape[axis].smallest() < 1)
      return std::nullopt;
    int64_t before = draw.between(0, 2), after = draw.between(0, 2);
    pads[axis] = static_cast<double>(before), pads[rank + axis] = static_cast<double>(after);
    shape[axis] = draw.changed(shape[axis], [&](int64_t size) { return before + size + after; });
  }
  if (largestCount(shape) > kMostElements)
    return std::nullopt;
  Shape list{Size::of(static_cast<int64_t>(2 * rank))};
  if (draw.chance(0.3))
    list.insert(list.begin(), Size::of(1));
  std::vector<Value> inputs{operand, draw.tensor(Wire::INT64, list, pads)};
  if (std::string_view(mode) == "constant" && draw.chance(0.5))
    inputs.push_back(draw.leaf(operand.type, {}, {-1, 1}));
  return draw.node("com.microsoft.Pad", inputs, Attributes().add("mode", mode), operand.type, shape,
                   {std::min(operand.bounds.low, -1.0), std::max(operand.bounds.high, 1.0)});
}

/// Added to the operand.
Drawn drawMicrosoftRange(Drawing &draw, const Value &operand) {
  bool isTaken =
      operand.type == Wire::FLOAT || operand.type == Wire::INT64 || operand.type == Wire::INT32;
  if (!isTaken || operand.shape.empty() || !operand.shape.back().isConstant())
    return std::nullopt;
  double start = static_cast<double>(draw.between(-3, 3)),
         end = start + static_cast<double>(operand.shape.back().values[0]);
  std::vector<Value> inputs{draw.scalar(operand.type, start), draw.scalar(operand.type, end)};
  if (draw.chance(0.5))
    inputs.push_back(draw.scalar(operand.type, 1));
  Value range = draw.node("com.microsoft.Range", inputs, {}, operand.type, {operand.shape.back()},
                          {start, end});
  Value near = draw.tamed(operand, 1e4);
  return draw.node("Add", {near, range}, {}, operand.type, operand.shape,
                   {near.bounds.low + start, near.bounds.high + end});
}

/// An activation that gives no number larger than it takes.
const char *drawActivation(Drawing &draw) {
  static const std::vector<const char *> kNames = {"Relu", "Tanh", "LeakyRelu"};
  return draw.pick(kNames);
}

Drawn drawFusedGemm(Drawing &draw, const Value &operand) {
  if (!isSingleOrHalf(operand))
    return std::nullopt;
  std::string_view name = drawActivation(draw);
  Attributes attributes;
  attributes.add("activation", name.data());
  if (name == "LeakyRelu")
    attributes.add("activation_alpha", 0.25f);
  return drawRespelled(draw, operand, "Gemm", "FusedGemm", attributes);
}

/// [N, C, spatial...] as [N, spatial..., C], or the other way.
Shape withChannels(const Shape &shape, bool last) {
  Shape result = shape;
  if (last)
    std::rotate(result.begin() + 1, result.begin() + 2, result.end());
  else
    std::rotate(result.begin() + 1, result.end() - 1, result.end());
  return result;
}

struct ConvolutionForm {
  std::string op;
  bool isLast, isFused;
};

/// Convolved, plus a bias, plus a tensor of the result's shape, activated.
Drawn drawFusedConvolution(Drawing &draw, const Value &operand, const ConvolutionForm &form) {
  bool isTaken = isSingleOrHalf(operand) && operand.shape.size() >= 3;
  auto drawn = isTaken ? drawConvolution(draw, form.isLast ? withChannels(operand.shape, false)
                                                           : operand.shape)
                       : std::nullopt;
  if (!drawn)
    return std::nullopt;
  Shape shape = form.isLast ? withChannels(drawn->result, true) : drawn->result;
  Value input = draw.tamed(operand, 4);
  std::vector<Value> inputs{input, draw.leaf(operand.type, drawn->filter, {-1, 1})};
  bool adds = form.isFused && !hasDerived(shape) && draw.chance(0.4), hasBias = draw.chance(0.5);
  if (hasBias || adds)
    inputs.push_back(hasBias ? draw.leaf(operand.type, {drawn->filter[0]}, {-1, 1})
                             : Drawing::omitted());
  if (adds)
    inputs.push_back(generate::operand(draw, operand.type, shape, {-2, 2}));
  Attributes attributes = drawn->attributes;
  if (form.isFused) {
    std::string_view name = drawActivation(draw);
    attributes.add("activation", name.data());
    if (name == "LeakyRelu")
      attributes.add("activation_params", std::vector<float>{0.25f});
  }
  double most = input.bounds.magnitude() * drawn->depth() + 3;
  return draw.node("com.microsoft." + form.op, inputs, attributes, operand.type, shape,
                   {-most, most});
}

DrawNode convolution(const ConvolutionForm &form) {
  return [form](Drawing &draw, const Value &operand) {
    return drawFusedConvolution(draw, operand, form);
  };
}

Drawn drawMaxPoolOfLast(Drawing &draw, const Value &operand) {
  if (!isByte(operand.type) || operand.shape.size() != 4)
    return std::nullopt;
  for (const Size &size : operand.shape)
    if (size.smallest() < 1)
      return std::nullopt;
  WindowOptions options;
  options.padsLessThanKernel = true;
  Windows windows = drawWindows(draw, {operand.shape[1], operand.shape[2]}, options);
  Shape shape{operand.shape[0], windows.counts[0], windows.counts[1], operand.shape[3]};
  return draw.node("com.microsoft.NhwcMaxPool", {operand},
                   Attributes()
                       .add("kernel_shape", windows.kernel)
                       .add("strides", windows.strides)
                       .add("dilations", windows.dilations)
                       .add("pads", windows.pads),
                   operand.type, shape, operand.bounds);
}

} // namespace

std::vector<Rule> microsoftStandardRules() {
  return {{"com.microsoft.ExpandDims", 11, drawExpandDims},
          {"com.microsoft.FusedConv", 11, convolution({"FusedConv", false, true})},
          {"com.microsoft.FusedGemm", 11, drawFusedGemm},
          {"com.microsoft.GatherND", 11, drawMicrosoftGatherNd},
          {"com.microsoft.GridSample", 11, drawMicrosoftGridSample},
          {"com.microsoft.NhwcConv", 11, convolution({"NhwcConv", true, false})},
          {"com.microsoft.NhwcFusedConv", 11, convolution({"NhwcFusedConv", true, true})},
          {"com.microsoft.NhwcMaxPool", 12, drawMaxPoolOfLast},
          {"com.microsoft.Pad", 11, drawMicrosoftPad},
          {"com.microsoft.Range", 11, drawMicrosoftRange},
          {"com.microsoft.Trilu", 14, drawMicrosoftTrilu}};
}

} // namespace smelt::generate
