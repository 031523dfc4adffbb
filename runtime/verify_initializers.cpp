#include "runtime/verify_initializers.h"

#include "runtime/checked_math.h"
#include "runtime/verify_shared.h"

#include <set>
#include <string_view>

namespace smelt {

namespace {

/// The elements of the initializer whose bytes can be counted; none where they cannot.
std::optional<uint64_t> elementCount(const plan::InitializerT &initializer) {
  std::optional<uint64_t> count = 1;
  for (uint64_t extent : initializer.shape)
    count = count ? checkedMul(*count, extent) : std::nullopt;
  bool isCountable =
      count && checkedMul<uint64_t>(*count, plan::elementBytes(initializer.element_type));
  return isCountable ? count : std::nullopt;
}

/// One beyond the last element that an offset and loops of these strides lead to.
std::optional<uint64_t> endOf(uint64_t offset, const std::vector<plan::CopyLoop> &loops,
                              uint64_t (plan::CopyLoop::*stride)() const) {
  std::optional<uint64_t> last = offset;
  for (const plan::CopyLoop &loop : loops) {
    std::optional<uint64_t> span = checkedMul(loop.count() - 1, (loop.*stride)());
    last = last && span ? checkedAdd(*last, *span) : std::nullopt;
  }
  return last ? checkedAdd<uint64_t>(*last, 1) : std::nullopt;
}

/// How often the innermost loop goes round; none where that cannot be counted.
std::optional<uint64_t> roundsOf(const std::vector<plan::CopyLoop> &loops) {
  std::optional<uint64_t> rounds = 1;
  for (const plan::CopyLoop &loop : loops)
    rounds = rounds && loop.count() > 0 ? checkedMul(*rounds, loop.count()) : std::nullopt;
  return rounds;
}

Status verifyPart(const plan::MetadataT &metadata, const plan::InitializerT &initializer,
                  const plan::WeightPartT &part, uint64_t elements) {
  if (part.weight >= metadata.weights.size())
    return invalid("initializer '", initializer.name, "' refers to weight ", part.weight, " of ",
                   metadata.weights.size());
  if (!isKnown(part.element_type) ||
      !plan::isConvertible(initializer.element_type, part.element_type))
    return invalid("initializer '", initializer.name,
                   "' becomes elements of a type that it cannot");
  uint64_t room =
      metadata.weights[part.weight]->data.size() / plan::elementBytes(part.element_type);
  std::optional<uint64_t> rounds = roundsOf(part.loops);
  if (part.loops.size() > plan::kMaxCopyLoops || !rounds || *rounds > room)
    return invalid("initializer '", initializer.name, "' is copied by loops that make no sense");
  auto read = endOf(part.source_offset, part.loops, &plan::CopyLoop::source_stride),
       written = endOf(part.target_offset, part.loops, &plan::CopyLoop::target_stride);
  if (!read || *read > elements || !written || *written > room)
    return invalid("initializer '", initializer.name, "' is copied beyond itself or the weight '",
                   metadata.weights[part.weight]->name, "'");
  return {};
}

} // namespace

Status verifyInitializers(const plan::MetadataT &metadata) {
  std::set<std::string_view> names;
  for (const auto &initializer : metadata.initializers) {
    if (initializer->name.empty() || !names.insert(initializer->name).second)
      return invalid("two initializers are named '", initializer->name, "', or one has no name");
    if (!isKnown(initializer->element_type))
      return invalid("initializer '", initializer->name, "' has an unknown element type");
    std::optional<uint64_t> elements = elementCount(*initializer);
    if (!elements)
      return invalid("initializer '", initializer->name, "' is too large");
    if (initializer->parts.empty() == initializer->refusal.empty())
      return invalid(
          "initializer '", initializer->name,
          "' lies nowhere and nothing says why, or it cannot be updated and lies somewhere");
    for (const auto &part : initializer->parts)
      SMELT_RETURN_IF_ERROR(verifyPart(metadata, *initializer, *part, *elements));
  }
  return {};
}

} // namespace smelt
