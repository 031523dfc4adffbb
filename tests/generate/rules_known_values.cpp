// Ops whose results' sizes follow from elements: constants here, since no kernel is compiled for a size that data decide. What
// they find picks from the operand.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <set>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

/// An axis of a number of elements that is not too long.
std::optional<size_t> drawKnownAxis(Drawing &draw, const Value &operand) {
  if (operand.shape.empty() || largestCount(operand.shape) > 1 << 14)
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  const Size &size = operand.shape[axis];
  bool isKnown = size.isConstant() && size.values[0] > 0 && size.values[0] <= 513;
  return isKnown ? std::optional(axis) : std::nullopt;
}

Attributes axisAttribute(Drawing &draw, const Value &operand, size_t axis) {
  return Attributes().add("axis", spelledAxis(draw, axis, operand.shape.size()));
}

/// What `indices` name of the operand's axis.
Value pickFrom(Drawing &draw, const Value &operand, size_t axis, const Value &indices) {
  Shape shape = operand.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), indices.shape.begin(),
               indices.shape.end());
  return draw.node("Gather", {operand, indices}, axisAttribute(draw, operand, axis), operand.type,
                   shape, operand.bounds);
}

/// Bools or numbers, of which at least one is not 0.
std::vector<double> drawMask(Drawing &draw, int64_t count) {
  std::vector<double> mask(static_cast<size_t>(count));
  for (double &element : mask)
    element = draw.chance(0.4) ? 1 : 0;
  mask[static_cast<size_t>(draw.between(0, count - 1))] = 1;
  return mask;
}

Size countOf(const std::vector<double> &mask) {
  return Size::of(std::count_if(mask.begin(), mask.end(), [](double kept) { return kept != 0; }));
}

/// Along an axis, or of all elements in a row. The condition may be shorter.
Drawn drawCompress(Drawing &draw, const Value &operand) {
  auto axis = drawKnownAxis(draw, operand);
  if (!axis)
    return std::nullopt;
  bool isFlat = isStatic(operand.shape) && draw.chance(0.3);
  int64_t extent = isFlat ? largestCount(operand.shape) : operand.shape[*axis].values[0];
  if (extent < 1)
    return std::nullopt;
  std::vector<double> mask = drawMask(draw, draw.chance(0.7) ? extent : draw.between(1, extent));
  Value condition = draw.tensor(Wire::BOOL, {Size::of(static_cast<int64_t>(mask.size()))}, mask);
  Shape shape = isFlat ? Shape{countOf(mask)} : operand.shape;
  if (!isFlat)
    shape[*axis] = countOf(mask);
  return draw.node("Compress", {operand, condition},
                   isFlat ? Attributes() : axisAttribute(draw, operand, *axis), operand.type, shape,
                   operand.bounds);
}

Drawn drawNonZero(Drawing &draw, const Value &operand) {
  auto axis = drawKnownAxis(draw, operand);
  if (!axis)
    return std::nullopt;
  int64_t extent = operand.shape[*axis].values[0];
  std::vector<double> mask = drawMask(draw, extent);
  static const std::vector<ElementType> kTypes = {Wire::BOOL, Wire::FLOAT, Wire::INT32};
  Value flags = draw.tensor(draw.pick(kTypes), {Size::of(extent)}, mask);
  Value rows = draw.node("NonZero", {flags}, {}, Wire::INT64, {Size::of(1), countOf(mask)},
                         {0, static_cast<double>(extent - 1)});
  return pickFrom(draw, operand, *axis, rows);
}

/// Indices that occur several times, and each of them once.
Drawn drawUnique(Drawing &draw, const Value &operand) {
  auto axis = drawKnownAxis(draw, operand);
  if (!axis)
    return std::nullopt;
  int64_t extent = operand.shape[*axis].values[0], count = draw.between(1, 12);
  std::vector<double> drawn;
  for (int64_t i = 0; i < count; ++i)
    drawn.push_back(static_cast<double>(draw.between(0, std::min<int64_t>(extent, 6) - 1)));
  Size different = Size::of(static_cast<int64_t>(std::set(drawn.begin(), drawn.end()).size()));
  Value indices = draw.tensor(Wire::INT64, {Size::of(count)}, drawn);
  Value unique{"", Wire::INT64, {different}, indices.bounds, false},
      first = unique, inverse = unique, counts = unique;
  inverse.shape = indices.shape;
  first.bounds = inverse.bounds = counts.bounds = {0, static_cast<double>(count)};
  Attributes attributes;
  attributes.add("sorted", draw.between(0, 1));
  if (draw.chance(0.5))
    attributes.add("axis", 0);
  return pickFrom(draw, operand, *axis,
                  draw.nodes("Unique", {indices}, attributes, {unique, first, inverse, counts})[0]);
}

/// Boxes at some places, apart from each other, several of them at each with another score: the best of each place stays.
struct Boxes {
  int64_t places, copies;
  std::vector<double> corners, scores;

  int64_t count() const { return places * copies; }
};

Boxes drawBoxes(Drawing &draw) {
  Boxes boxes{draw.between(1, 4), draw.between(1, 3), {}, {}};
  for (int64_t copy = 0; copy < boxes.copies; ++copy)
    for (int64_t place = 0; place < boxes.places; ++place) {
      double corner = 4.0 * static_cast<double>(place);
      boxes.corners.insert(boxes.corners.end(), {corner, corner, corner + 2, corner + 2});
      boxes.scores.push_back(draw.random.uniform());
    }
  return boxes;
}

/// Rows of batch, class and box; the boxes pick from the operand.
Drawn drawNonMaxSuppression(Drawing &draw, const Value &operand) {
  auto axis = drawKnownAxis(draw, operand);
  if (!axis)
    return std::nullopt;
  Boxes boxes = drawBoxes(draw);
  int64_t most = draw.between(1, 5), kept = std::min(most, boxes.places);
  Size one = Size::of(1), count = Size::of(boxes.count());
  Value corners = draw.tensor(Wire::FLOAT, {one, count, Size::of(4)}, boxes.corners),
        scores = draw.tensor(Wire::FLOAT, {one, one, count}, boxes.scores);
  Value rows = draw.node("NonMaxSuppression",
                         {corners, scores, draw.integerScalar(most), draw.scalar(Wire::FLOAT, 0.5)},
                         {}, Wire::INT64, {Size::of(kept), Size::of(3)},
                         {0, static_cast<double>(boxes.count() - 1)});
  Value found = draw.node("Gather", {rows, draw.integerScalar(2)}, Attributes().add("axis", 1),
                          Wire::INT64, {Size::of(kept)}, rows.bounds);
  int64_t extent = operand.shape[*axis].values[0];
  if (boxes.count() > extent)
    found = draw.node("Mod", {found, draw.integerScalar(extent)}, {}, Wire::INT64, found.shape,
                      {0, static_cast<double>(extent - 1)});
  return pickFrom(draw, operand, *axis, found);
}

} // namespace

std::vector<Rule> knownValueRules() {
  return {{"Compress", 11, drawCompress},
          {"NonMaxSuppression", 11, drawNonMaxSuppression},
          {"NonZero", 13, drawNonZero},
          {"Unique", 11, drawUnique}};
}

} // namespace smelt::generate
