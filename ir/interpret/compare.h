// How far a result lies from its reference.
#pragma once

#include "ir/interpret/host_tensor.h"

#include <string>

namespace smelt {

struct ErrorStatistics {
  double relative =
      0; // ||result - reference|| / ||reference||; ||result|| where the reference is all zero
  double worst = 0; // largest |result - reference| / max(1, |reference|) of one element
  int64_t worstPosition =
      0;                 // row-major; the first element that disagrees where one is NaN or infinite
  int64_t nonFinite = 0; // elements that are NaN or infinite in one and not equal in the other

  /// NaN and infinity must agree, the rest by norm.
  bool within(double tolerance) const { return nonFinite == 0 && relative <= tolerance; }
};

/// None where the shapes differ. Storages may differ. Where both elements are NaN, or the same
/// infinity, they agree.
std::optional<ErrorStatistics> compare(const HostTensor &result, const HostTensor &reference);

std::string toString(const ErrorStatistics &error);

} // namespace smelt
