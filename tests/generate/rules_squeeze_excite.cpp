// Squeeze and excitation as exporters spell it: the gates of an image's channels from the means of all of them,
// between the products that widen the image and narrow it again.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;
constexpr int64_t kMostElements = 1 << 17;
constexpr double kMostOfHalf = 6e4;

/// A convolution of single pixels to `channels`, whose weights are constant. None where a sum could overflow.
Drawn drawPixelConv(Drawing &draw, const Value &image, const Size &channels) {
  Shape filter(image.shape.size(), Size::of(1)), shape = image.shape;
  filter[0] = shape[1] = channels;
  filter[1] = image.shape[1];
  double most = image.bounds.magnitude() * static_cast<double>(filter[1].largest()) + 1;
  if (most > kMostOfHalf)
    return std::nullopt;
  std::vector<Value> inputs{image, draw.initializer(image.type, filter, {-1, 1})};
  if (draw.chance(0.7))
    inputs.push_back(draw.initializer(image.type, {channels}, {-1, 1}));
  return draw.node("Conv", inputs, {}, image.type, shape, {-most, most});
}

Value drawGateFunction(Drawing &draw, const Value &value) {
  static const std::vector<const char *> kOps = {"Sigmoid", "HardSigmoid", "Tanh"};
  const char *op = draw.pick(kOps);
  return draw.node(op, {value}, {}, value.type, value.shape, {-1, 1});
}

/// Between the two products: what is large at times, where the second has room for it.
Value drawHiddenFunction(Drawing &draw, const Value &value) {
  double most = value.bounds.magnitude();
  bool hasRoom = most * static_cast<double>(value.shape[1].largest()) < kMostOfHalf;
  if (!hasRoom || draw.chance(0.3))
    return drawGateFunction(draw, value);
  return draw.node("Relu", {value}, {}, value.type, value.shape, {0, most});
}

Drawn drawGates(Drawing &draw, const Value &image) {
  Shape shape = image.shape;
  std::fill(shape.begin() + 2, shape.end(), Size::of(1));
  Value mean = draw.node("GlobalAveragePool", {image}, {}, image.type, shape, image.bounds);
  Drawn hidden = drawPixelConv(draw, mean, draw.drawConstant(64));
  if (!hidden)
    return std::nullopt;
  Drawn gates = drawPixelConv(draw, drawHiddenFunction(draw, *hidden), image.shape[1]);
  return gates ? Drawn(drawGateFunction(draw, *gates)) : std::nullopt;
}

Drawn drawSqueezeExcite(Drawing &draw, const Value &operand) {
  bool isTaken = operand.shape.size() >= 3 && isFloat(operand.type) &&
                 operand.type != Wire::DOUBLE && operand.type != Wire::BFLOAT16 &&
                 operand.shape[1].isConstant() && isFilled(operand.shape);
  Shape shape = operand.shape;
  if (isTaken)
    shape[1] = draw.drawConstant(600);
  if (!isTaken || largestCount(shape) > kMostElements)
    return std::nullopt;
  Drawn image = drawPixelConv(draw, draw.tamed(operand, 4), shape[1]);
  if (!image)
    return std::nullopt;
  if (draw.chance(0.5))
    image = draw.node("Relu", {*image}, {}, image->type, shape, {0, image->bounds.magnitude()});
  Drawn gates = drawGates(draw, *image);
  if (!gates || draw.chance(0.2))
    return gates;
  double most = image->bounds.magnitude();
  Value scaled = draw.node("Mul", {*gates, *image}, {}, image->type, shape, {-most, most});
  Drawn narrowed = draw.chance(0.7) ? drawPixelConv(draw, scaled, draw.drawConstant(64)) : scaled;
  return narrowed ? narrowed : scaled;
}

} // namespace

std::vector<Rule> squeezeExciteRules() {
  return {{"squeeze and excitation", 11, drawSqueezeExcite}};
}

} // namespace smelt::generate
