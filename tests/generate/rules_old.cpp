// Ops that ONNX's first opsets tried and dropped, in the last opset that converters wrote them in.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

constexpr int64_t kLastOpset = 8;
constexpr float kOldFactor = 0.5f, kOldShift = 1.25f;

bool isTaken(const Value &operand) {
  return operand.type == Wire::FLOAT || operand.type == Wire::FLOAT16 ||
         operand.type == Wire::DOUBLE;
}

bool isImage(const Value &operand) {
  return isTaken(operand) && operand.shape.size() == 4 && operand.shape[1].isConstant();
}

Drawn drawAffine(Drawing &draw, const Value &operand) {
  if (!isTaken(operand))
    return std::nullopt;
  return draw.node(
      "Affine", {operand}, Attributes().add("alpha", kOldFactor).add("beta", kOldShift),
      operand.type, operand.shape,
      {operand.bounds.low * kOldFactor + kOldShift, operand.bounds.high * kOldFactor + kOldShift});
}

Drawn drawScaled(Drawing &draw, const Value &operand) {
  if (!isTaken(operand))
    return std::nullopt;
  return draw.node("Scale", {operand}, Attributes().add("scale", kOldFactor), operand.type,
                   operand.shape,
                   {operand.bounds.low * kOldFactor, operand.bounds.high * kOldFactor});
}

Drawn drawParametricSoftplus(Drawing &draw, const Value &operand) {
  if (!isTaken(operand))
    return std::nullopt;
  return draw.node("ParametricSoftplus", {operand},
                   Attributes().add("alpha", kOldFactor).add("beta", kOldShift), operand.type,
                   operand.shape, {0, operand.bounds.magnitude() + 1});
}

Drawn drawScaledTanh(Drawing &draw, const Value &operand) {
  if (!isTaken(operand))
    return std::nullopt;
  return draw.node("ScaledTanh", {operand},
                   Attributes().add("alpha", kOldFactor).add("beta", kOldShift), operand.type,
                   operand.shape, {-kOldFactor, kOldFactor});
}

Drawn drawImageScaler(Drawing &draw, const Value &operand) {
  if (!isImage(operand))
    return std::nullopt;
  std::vector<float> bias(static_cast<size_t>(operand.shape[1].values[0]));
  for (float &shift : bias)
    shift = static_cast<float>(draw.random.uniform());
  return draw.node("ImageScaler", {operand},
                   Attributes().add("scale", kOldFactor).add("bias", bias), operand.type,
                   operand.shape,
                   {operand.bounds.low * kOldFactor, operand.bounds.high * kOldFactor + 1});
}

/// The sizes that stay, or the border that goes on every side.
Drawn drawCrop(Drawing &draw, const Value &operand) {
  if (!isImage(operand))
    return std::nullopt;
  Shape shape = operand.shape;
  std::vector<int64_t> border(4), kept;
  for (size_t side : {size_t{0}, size_t{1}}) { // left and right, top and bottom
    Size &size = shape[3 - side];
    if (!size.isConstant() || size.values[0] < 1)
      return std::nullopt;
    int64_t room = size.values[0] - 1;
    border[side] = draw.between(0, std::min<int64_t>(room, 3));
    border[side + 2] = draw.between(0, std::min<int64_t>(room - border[side], 3));
    size = Size::of(size.values[0] - border[side] - border[side + 2]);
    kept.insert(kept.begin(), size.values[0]);
  }
  Attributes attributes;
  attributes.add("border", border);
  if (draw.chance(0.5))
    attributes.add("scale", kept);
  return draw.node("Crop", {operand}, attributes, operand.type, shape, operand.bounds);
}

} // namespace

std::vector<Rule> oldRules() {
  return {{"Affine", 1, drawAffine, kLastOpset},
          {"Crop", 1, drawCrop, kLastOpset},
          {"ImageScaler", 1, drawImageScaler, kLastOpset},
          {"ParametricSoftplus", 1, drawParametricSoftplus, kLastOpset},
          {"Scale", 1, drawScaled, kLastOpset},
          {"ScaledTanh", 1, drawScaledTanh, kLastOpset}};
}

} // namespace smelt::generate
