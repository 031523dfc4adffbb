// What a plan asks of the sizes of its inputs, as the C API describes it.
#pragma once

#include "runtime/plan_format.h"
#include "runtime/smelt.h"
#include "runtime/status.h"

#include <string>
#include <vector>

namespace smelt::api {

class GuardDescriptions {
public:
  explicit GuardDescriptions(const plan::MetadataT &metadata);

  size_t dimensionCount() const { return dimensions.size(); }
  size_t guardCount() const { return guards.size(); }
  /// Both fail with kUsage where there is none of that index, or `info` is not initialised.
  Status describe(size_t index, smelt_dimension_info *info) const;
  Status describe(size_t index, smelt_guard_info *info) const;

private:
  struct Dimension {
    std::string name;
    smelt_int64 least = 0, most = -1;
  };
  struct Guard {
    std::string text, message;
  };

  std::vector<Dimension> dimensions;
  std::vector<Guard> guards;
};

} // namespace smelt::api
