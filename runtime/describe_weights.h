// The initializers of a plan's model, as smelt_weight_info describes them.
#pragma once

#include "runtime/plan_format.h"
#include "runtime/smelt.h"
#include "runtime/status.h"

#include <string>
#include <vector>

namespace smelt::api {

class WeightDescriptions {
public:
  explicit WeightDescriptions(const plan::MetadataT &metadata);

  size_t size() const { return weights.size(); }
  /// Of what the plan made of them, and of what it holds besides.
  uint64_t bytes() const { return weightBytes; }
  /// Fails with kUsage where there is no such weight, or `info` is not initialised.
  Status describe(size_t index, smelt_weight_info *info) const;

private:
  struct Description {
    std::string name;
    int elementType = SMELT_F32;
    std::vector<smelt_int64> extents;
    std::string refusal, placement;
    bool isCopied = false;
  };
  static Description descriptionOf(const plan::MetadataT &metadata,
                                   const plan::InitializerT &initializer);

  std::vector<Description> weights;
  uint64_t weightBytes = 0;
};

} // namespace smelt::api
