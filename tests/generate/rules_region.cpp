// Parts of images that data give: regions, and filters that read beside their places.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;
constexpr int64_t kMostRegionPixels = 1 << 18;

/// Images of constant sizes, so that regions can lie within them.
bool isImage(Drawing &draw, const Value &operand) {
  return operand.shape.size() == 4 && isFloat(operand.type) &&
         (operand.type != Wire::BFLOAT16 || draw.opset() >= 22) && isStatic(operand.shape) &&
         std::all_of(operand.shape.begin(), operand.shape.end(),
                     [](const Size &size) { return size.smallest() > 0 && size.largest() < 128; });
}

Bounds withZero(Bounds bounds) { return {std::min(bounds.low, 0.0), std::max(bounds.high, 0.0)}; }

/// Corners (x1, y1, x2, y2) beside whole pixels and halves: what is rounded is rounded alike
/// everywhere.
std::vector<double> drawCorners(Drawing &draw, const Shape &image) {
  auto beside = [&](int64_t low, int64_t high) {
    return static_cast<double>(draw.between(low, high)) + 0.05 + 0.3 * draw.random.uniform();
  };
  int64_t width = image[3].values[0], height = image[2].values[0];
  double left = beside(0, width - 1), top = beside(0, height - 1);
  return {left, top, beside(static_cast<int64_t>(left), width - 1),
          beside(static_cast<int64_t>(top), height - 1)};
}

Drawn drawRoiAlign(Drawing &draw, const Value &operand) {
  if (!isImage(draw, operand))
    return std::nullopt;
  int64_t regions = draw.between(1, 5), height = draw.between(1, 4), width = draw.between(1, 4),
          samples = draw.between(1, 3);
  std::vector<double> corners, numbers;
  for (int64_t region = 0; region < regions; ++region) {
    for (double corner : drawCorners(draw, operand.shape))
      corners.push_back(corner);
    numbers.push_back(static_cast<double>(draw.between(0, operand.shape[0].values[0] - 1)));
  }
  Shape shape{Size::of(regions), operand.shape[1], Size::of(height), Size::of(width)};
  if (largestCount(shape) * samples * samples > kMostRegionPixels)
    return std::nullopt;
  Attributes attributes;
  attributes.add("output_height", height).add("output_width", width);
  attributes.add("sampling_ratio", samples).add("mode", draw.chance(0.7) ? "avg" : "max");
  if (draw.opset() >= 16 && draw.chance(0.5))
    attributes.add("coordinate_transformation_mode", "output_half_pixel");
  Value rois = draw.tensor(operand.type, {Size::of(regions), Size::of(4)}, corners),
        batch = draw.tensor(Wire::INT64, {Size::of(regions)}, numbers);
  return draw.node("RoiAlign", {operand, rois, batch}, attributes, operand.type, shape,
                   withZero(operand.bounds));
}

Drawn drawMaxRoiPool(Drawing &draw, const Value &operand) {
  if (!isImage(draw, operand))
    return std::nullopt;
  int64_t regions = draw.between(1, 4), height = draw.between(1, 4), width = draw.between(1, 4);
  std::vector<double> rows;
  for (int64_t region = 0; region < regions; ++region) {
    rows.push_back(static_cast<double>(draw.between(0, operand.shape[0].values[0] - 1)));
    for (double corner : drawCorners(draw, operand.shape))
      rows.push_back(corner);
  }
  Shape shape{Size::of(regions), operand.shape[1], Size::of(height), Size::of(width)};
  if (regions * largestCount(operand.shape) * width > kMostRegionPixels)
    return std::nullopt;
  Value rois = draw.tensor(operand.type, {Size::of(regions), Size::of(5)}, rows);
  return draw.node("MaxRoiPool", {operand, rois},
                   Attributes().add("pooled_shape", std::vector<int64_t>{height, width}),
                   operand.type, shape, withZero(operand.bounds));
}

/// Filters of two by two that read up to two pixels beside their places.
Drawn drawDeformConv(Drawing &draw, const Value &operand) {
  if (!isImage(draw, operand) || operand.shape[2].is(1) || operand.shape[3].is(1))
    return std::nullopt;
  constexpr int64_t kTaps = 4, kPad = 1;
  Size filters = Size::of(draw.between(1, 5)), rows = Size::of(operand.shape[2].values[0] + kPad),
       columns = Size::of(operand.shape[3].values[0] + kPad);
  int64_t channels = operand.shape[1].values[0],
          groups = channels % 2 == 0 ? draw.between(1, 2) : 1;
  Shape shape{operand.shape[0], filters, rows, columns}, places = shape, masks = shape;
  places[1] = Size::of(groups * kTaps * 2), masks[1] = Size::of(groups * kTaps);
  if (largestCount(operand.shape) * kTaps * 2 > kMostRegionPixels)
    return std::nullopt;
  Value input = draw.tamed(operand, 8);
  Shape filter{filters, operand.shape[1], Size::of(2), Size::of(2)};
  std::vector<Value> inputs{input, draw.leaf(operand.type, filter, {-1, 1}),
                            draw.leaf(operand.type, places, {-2, 2})};
  if (draw.chance(0.5)) {
    inputs.push_back(draw.leaf(operand.type, {filters}, {-1, 1}));
    if (draw.chance(0.5))
      inputs.push_back(draw.leaf(operand.type, masks, {0, 1}));
  }
  double largest = input.bounds.magnitude() * static_cast<double>(channels * kTaps) + 1;
  return draw.node("DeformConv", inputs,
                   Attributes()
                       .add("kernel_shape", std::vector<int64_t>{2, 2})
                       .add("pads", std::vector<int64_t>{1, 0, 1, 2})
                       .add("offset_group", groups),
                   operand.type, shape, {-largest, largest});
}

} // namespace

std::vector<Rule> regionRules() {
  return {{"RoiAlign", 10, drawRoiAlign},
          {"MaxRoiPool", 1, drawMaxRoiPool},
          {"DeformConv", 19, drawDeformConv}};
}

} // namespace smelt::generate
