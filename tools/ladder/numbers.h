// 16-bit floats on the host: drawing, decoding and comparing them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smelt::ladder {

/// Even values in [-magnitude, magnitude).
std::vector<uint16_t> randomHalves(size_t count, unsigned seed, float magnitude);

std::vector<double> decoded(const std::vector<uint16_t> &halves);

/// ||out - expected|| / ||expected||; NaN where either holds one.
double normOfDifference(const std::vector<double> &out, const std::vector<double> &expected);

} // namespace smelt::ladder
