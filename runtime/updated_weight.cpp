#include "runtime/updated_weight.h"

#include "runtime/element_type.h"
#include "runtime/text.h"

#include <algorithm>

namespace smelt::runtime {

static Result<const plan::InitializerT *> findInitializer(const plan::MetadataT &metadata,
                                                          const std::string &name) {
  const auto &all = metadata.initializers;
  auto found = std::find_if(all.begin(), all.end(),
                            [&](const auto &initializer) { return initializer->name == name; });
  if (found == all.end())
    return Status(StatusCode::kUsage,
                  all.empty()
                      ? "the plan names no weights: it was compiled by an older Smelt, or from "
                        "a dump; compile the model again"
                      : joinText("the model has no weight '", name, "'"));
  if (!(*found)->refusal.empty())
    return Status(StatusCode::kUsage,
                  joinText("the weight '", name, "' cannot be updated: ", (*found)->refusal));
  return found->get();
}

static Status checkValues(const plan::InitializerT &initializer, const Binding &values) {
  if (values.elementType != initializer.element_type)
    return Status(StatusCode::kUsage, joinText("the weight '", initializer.name, "' has the type ",
                                               elementTypeName(initializer.element_type), ", not ",
                                               elementTypeName(values.elementType)));
  uint64_t bytes = plan::elementBytes(initializer.element_type);
  for (uint64_t extent : initializer.shape)
    bytes *= extent;
  if (values.bytes != bytes)
    return Status(StatusCode::kUsage, joinText("the weight '", initializer.name, "' takes ", bytes,
                                               " bytes, not ", values.bytes));
  if (values.data == nullptr)
    return Status(StatusCode::kUsage,
                  joinText("the new values of the weight '", initializer.name, "' are NULL"));
  return {};
}

Result<const plan::InitializerT *> findUpdated(const plan::MetadataT &metadata,
                                               const std::string &name, const Binding &values) {
  SMELT_ASSIGN_OR_RETURN(const plan::InitializerT *initializer, findInitializer(metadata, name));
  SMELT_RETURN_IF_ERROR(checkValues(*initializer, values));
  return initializer;
}

} // namespace smelt::runtime
