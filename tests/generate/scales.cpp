#include "tests/generate/scales.h"

#include "tests/generate/operands.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

Value drawScale(Drawing &draw, const Shape &shape, Bounds bounds) {
  if (draw.chance(0.3))
    return draw.leaf(Wire::FLOAT, shape, bounds);
  int64_t high = static_cast<int64_t>(std::floor(std::log2(bounds.high))),
          low = std::min(high, static_cast<int64_t>(std::ceil(std::log2(bounds.low))));
  auto power = [&] { return std::ldexp(1.0, static_cast<int>(draw.between(low, high))); };
  if (shape.empty() || !isStatic(shape)) {
    double one = power();
    return draw.leaf(Wire::FLOAT, shape, {one, one});
  }
  std::vector<double> powers(static_cast<size_t>(largestCount(shape)));
  std::generate(powers.begin(), powers.end(), power);
  return draw.tensor(Wire::FLOAT, shape, powers);
}

Value drawZeroPoint(Drawing &draw, ElementType type, const Shape &shape) {
  Bounds range = rangeOf(type);
  if (draw.chance(0.4))
    return draw.leaf(type, shape, range);
  const std::vector<double> special{0, 0, range.low, range.high,
                                    std::ceil((range.low + range.high) / 2)};
  if (shape.empty() || !isStatic(shape) || draw.chance(0.5)) {
    double one = draw.pick(special);
    return draw.leaf(type, shape, {one, one});
  }
  std::vector<double> mixed(static_cast<size_t>(largestCount(shape)));
  std::generate(mixed.begin(), mixed.end(), [&] { return draw.pick(special); });
  return draw.tensor(type, shape, mixed);
}

} // namespace smelt::generate
