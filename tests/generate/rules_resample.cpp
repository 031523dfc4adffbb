// Nodes that read images between their elements.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;
constexpr int64_t kMostPixels = 1 << 16;

/// Cubic weights reach beyond 1: bounds of what is interpolated along `axes` axes.
Bounds interpolated(Bounds bounds, size_t axes) {
  double largest = bounds.magnitude() * std::pow(2, static_cast<double>(axes));
  return {-largest, largest};
}

/// Scales at which few positions fall on an element or halfway between two, where rounding decides.
struct DrawnScales {
  std::vector<double> scales;
  Shape shape;
  size_t changed = 0;
};

DrawnScales drawScales(Drawing &draw, const Shape &shape) {
  static const std::vector<double> kScales = {2, 4, 0.75, 1.75};
  DrawnScales drawn;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    bool isSurface = axis >= 2 || axis + 1 == shape.size();
    double scale = isSurface && draw.chance(0.7) ? draw.pick(kScales) : 1;
    drawn.changed += scale != 1;
    drawn.scales.push_back(scale);
    drawn.shape.push_back(draw.changed(shape[axis], [&](int64_t size) {
      return static_cast<int64_t>(std::floor(static_cast<double>(size) * scale));
    }));
  }
  return drawn;
}

bool isResized(Drawing &draw, const Value &operand) {
  if (operand.shape.empty() || operand.type == Wire::BOOL ||
      (operand.type == Wire::BFLOAT16 && draw.opset() < 13))
    return false;
  return std::all_of(operand.shape.begin(), operand.shape.end(),
                     [](const Size &size) { return size.smallest() > 0; });
}

Value scalesInput(Drawing &draw, const DrawnScales &drawn) {
  return draw.tensor(Wire::FLOAT, {Size::of(static_cast<int64_t>(drawn.scales.size()))},
                     drawn.scales);
}

Drawn drawResize(Drawing &draw, const Value &operand) {
  if (!isResized(draw, operand))
    return std::nullopt;
  DrawnScales drawn = drawScales(draw, operand.shape);
  if (largestCount(drawn.shape) > kMostPixels)
    return std::nullopt;
  static const std::vector<const char *> kModes = {"nearest", "linear", "cubic"};
  static const std::vector<const char *> kTransformations = {
      "half_pixel",           "half_pixel", "pytorch_half_pixel",
      "half_pixel_symmetric", "asymmetric", "align_corners"};
  std::string mode = isFloat(operand.type) ? draw.pick(kModes) : "nearest",
              transformation = draw.pick(kTransformations);
  if (transformation == "half_pixel_symmetric" && draw.opset() < 19)
    transformation = "half_pixel";
  Attributes attributes;
  attributes.add("mode", mode.c_str())
      .add("coordinate_transformation_mode", transformation.c_str());
  if (mode == "cubic" && draw.chance(0.4))
    attributes.add("exclude_outside", 1);
  if (mode != "nearest" && draw.opset() >= 18 && draw.chance(0.4))
    attributes.add("antialias", 1);
  std::vector<Value> inputs{operand, Drawing::omitted(), Drawing::omitted()};
  if (draw.opset() < 13)
    inputs[1] = draw.tensor(Wire::FLOAT, {Size::of(0)}, {});
  if (draw.opset() >= 13 && isStatic(drawn.shape) && draw.chance(0.4)) {
    std::vector<int64_t> sizes;
    for (const Size &size : drawn.shape)
      sizes.push_back(size.values[0]);
    inputs.push_back(draw.integers(sizes));
  } else {
    inputs[2] = scalesInput(draw, drawn);
  }
  return draw.node("Resize", inputs, attributes, operand.type, drawn.shape,
                   mode == "cubic" ? interpolated(operand.bounds, drawn.changed) : operand.bounds);
}

Drawn drawUpsample(Drawing &draw, const Value &operand) {
  if (!isResized(draw, operand) || operand.type == Wire::BFLOAT16)
    return std::nullopt;
  DrawnScales drawn;
  for (const Size &size : operand.shape) {
    int64_t scale = draw.chance(0.4) ? 2 : 1;
    drawn.scales.push_back(static_cast<double>(scale));
    drawn.shape.push_back(draw.changed(size, [&](int64_t value) { return value * scale; }));
  }
  if (largestCount(drawn.shape) > kMostPixels)
    return std::nullopt;
  return draw.node("Upsample", {operand, scalesInput(draw, drawn)},
                   Attributes().add("mode", "nearest"), operand.type, drawn.shape, operand.bounds);
}

/// The positions reach a little beyond the image.
Drawn drawGridSample(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  bool isTaken = (rank == 4 || (rank == 5 && draw.opset() >= 20)) && isFloat(operand.type) &&
                 (operand.type != Wire::BFLOAT16 || draw.opset() >= 22) &&
                 !operand.shape[0].isDerived();
  for (size_t axis = 2; isTaken && axis < rank; ++axis)
    isTaken = operand.shape[axis].smallest() > 0;
  if (!isTaken)
    return std::nullopt;
  Shape grid{operand.shape[0]}, shape{operand.shape[0], operand.shape[1]};
  for (size_t axis = 2; axis < rank; ++axis) {
    grid.push_back(draw.drawConstant(9));
    shape.push_back(grid.back());
  }
  grid.push_back(Size::of(static_cast<int64_t>(rank) - 2));
  if (largestCount(shape) > kMostPixels)
    return std::nullopt;
  std::vector<const char *> modes = {"nearest", draw.opset() >= 20 ? "linear" : "bilinear"};
  if (rank == 4)
    modes.push_back(draw.opset() >= 20 ? "cubic" : "bicubic");
  static const std::vector<const char *> kPaddings = {"zeros", "border", "reflection"};
  std::string mode = draw.pick(modes);
  Value positions = draw.leaf(Wire::FLOAT, grid, {-1.3, 1.3});
  Bounds bounds{std::min(operand.bounds.low, 0.0), std::max(operand.bounds.high, 0.0)};
  return draw.node("GridSample", {operand, positions},
                   Attributes()
                       .add("mode", mode.c_str())
                       .add("padding_mode", draw.pick(kPaddings))
                       .add("align_corners", draw.between(0, 1)),
                   operand.type, shape, interpolated(bounds, rank - 2));
}

/// The first elements of the operand as maps of images.
Drawn drawAffineGrid(Drawing &draw, const Value &operand) {
  bool isTaken = isFloat(operand.type) && operand.type != Wire::BFLOAT16 && isStatic(operand.shape);
  int64_t spatial = draw.between(2, 3), mapSize = spatial * (spatial + 1), count = 1;
  for (const Size &size : operand.shape)
    count *= size.values[0];
  if (!isTaken || count < mapSize || count > kMostPixels)
    return std::nullopt;
  Value flat = draw.node("Reshape", {operand, draw.integers({-1})}, {}, operand.type,
                         {Size::of(count)}, operand.bounds);
  Value first = draw.node("Slice", {flat, draw.integers({0}), draw.integers({mapSize})}, {},
                          operand.type, {Size::of(mapSize)}, operand.bounds);
  Shape maps{Size::of(1), Size::of(spatial), Size::of(spatial + 1)}, shape{Size::of(1)};
  Value theta = draw.node("Reshape", {first, draw.integers({1, spatial, spatial + 1})}, {},
                          operand.type, maps, operand.bounds);
  theta = draw.tamed(theta, 100);
  std::vector<int64_t> size{1, 3};
  for (int64_t axis = 0; axis < spatial; ++axis) {
    shape.push_back(Size::of(draw.between(2, 9)));
    size.push_back(shape.back().values[0]);
  }
  shape.push_back(Size::of(spatial));
  double largest = theta.bounds.magnitude() * static_cast<double>(spatial + 1);
  return draw.node("AffineGrid", {theta, draw.integers(size)},
                   Attributes().add("align_corners", draw.between(0, 1)), operand.type, shape,
                   {-largest, largest});
}

} // namespace

std::vector<Rule> resampleRules() {
  return {{"Resize", 11, drawResize},
          {"Upsample", 9, drawUpsample, 9},
          {"GridSample", 16, drawGridSample},
          {"AffineGrid", 20, drawAffineGrid}};
}

} // namespace smelt::generate
