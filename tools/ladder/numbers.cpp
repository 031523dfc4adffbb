#include "tools/ladder/numbers.h"

#include "ir/interpret/half.h"

#include <cmath>
#include <random>

namespace smelt::ladder {

std::vector<uint16_t> randomHalves(size_t count, unsigned seed, float magnitude) {
  std::mt19937 random(seed);
  std::vector<uint16_t> values(count);
  for (uint16_t &value : values)
    value = floatToHalf((static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f) * magnitude);
  return values;
}

std::vector<double> decoded(const std::vector<uint16_t> &halves) {
  std::vector<double> values(halves.size());
  for (size_t i = 0; i < halves.size(); ++i)
    values[i] = halfToFloat(halves[i]);
  return values;
}

double normOfDifference(const std::vector<double> &out, const std::vector<double> &expected) {
  double difference = 0, square = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    difference += (out[i] - expected[i]) * (out[i] - expected[i]);
    square += expected[i] * expected[i];
  }
  return std::sqrt(difference / square);
}

} // namespace smelt::ladder
