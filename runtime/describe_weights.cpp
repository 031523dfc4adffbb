#include "runtime/describe_weights.h"

#include "runtime/element_type.h"
#include "runtime/text.h"
#include "runtime/weight_loops.h"

#include <algorithm>
#include <cstring>

namespace smelt::api {

namespace {

/// "all of 'w'", "a part of 'concat_7', as float16"
std::string placeOf(const plan::MetadataT &metadata, const plan::InitializerT &initializer,
                    const plan::WeightPartT &part) {
  const plan::WeightT &weight = *metadata.weights[part.weight];
  uint64_t elements = 1;
  for (const plan::CopyLoop &loop : part.loops)
    elements *= loop.count();
  bool isAll = elements * plan::elementBytes(part.element_type) == weight.data.size();
  std::string text = joinText(isAll ? "all of '" : "a part of '", weight.name, "'");
  if (part.element_type != initializer.element_type)
    text += joinText(", as ", runtime::elementTypeName(part.element_type));
  return text;
}

} // namespace

WeightDescriptions::Description
WeightDescriptions::descriptionOf(const plan::MetadataT &metadata,
                                  const plan::InitializerT &initializer) {
  Description weight;
  weight.name = initializer.name;
  weight.elementType = static_cast<int>(initializer.element_type);
  weight.extents.assign(initializer.shape.begin(), initializer.shape.end());
  weight.refusal = initializer.refusal;
  weight.isCopied = initializer.refusal.empty() && runtime::isUpdatedByCopies(initializer);
  for (const auto &part : initializer.parts)
    weight.placement +=
        (weight.placement.empty() ? "" : "; ") + placeOf(metadata, initializer, *part);
  return weight;
}

WeightDescriptions::WeightDescriptions(const plan::MetadataT &metadata) {
  for (const auto &initializer : metadata.initializers)
    weights.push_back(descriptionOf(metadata, *initializer));
  for (const auto &weight : metadata.weights)
    weightBytes += weight->data.size();
}

Status WeightDescriptions::describe(size_t index, smelt_weight_info *info) const {
  if (index >= weights.size())
    return Status(StatusCode::kUsage,
                  joinText("there is no weight ", index, "; there are ", weights.size()));
  if (info->struct_size < sizeof(smelt_weight_info))
    return Status(StatusCode::kUsage, "initialise info with SMELT_WEIGHT_INFO_INIT");
  const Description &weight = weights[index];
  smelt_weight_info described = {
      info->struct_size,     weight.name.c_str(),
      weight.elementType,    weight.extents.size(),
      weight.extents.data(), weight.refusal.empty() ? nullptr : weight.refusal.c_str(),
      weight.isCopied,       weight.placement.c_str()};
  std::memcpy(info, &described, sizeof(described));
  return {};
}

} // namespace smelt::api
