#include "tools/smelt/kernel_sets.h"

#include "runtime/shape_program.h"
#include "runtime/text.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace smelt::tools {

static constexpr int64_t kNoLast = std::numeric_limits<int64_t>::max();

static void append(std::vector<PlanLaunch> &launches, const plan::StepT &step,
                   const plan::VariantT &variant, size_t number, bool runsOnce) {
  for (size_t i = 0; i < variant.launches.size(); ++i)
    launches.push_back({plan::launchNumber(number, i, variant.launches.size()), number, &step,
                        &variant, variant.launches[i].get(), runsOnce});
}

std::vector<PlanLaunch> launchesOf(const plan::ProgramT &program) {
  std::vector<PlanLaunch> launches;
  size_t number = 0;
  for (const auto *steps : {&program.once, &program.steps})
    for (const auto &step : *steps) {
      for (const auto &variant : step->variants)
        append(launches, *step, *variant, number, steps == &program.once);
      ++number;
    }
  return launches;
}

static std::string rangeText(int64_t first, int64_t last, const std::string &unit) {
  std::string text = std::to_string(first);
  if (last == kNoLast)
    text += " or more";
  else if (last != first)
    text += " to " + std::to_string(last);
  return unit.empty() ? text : text + " " + unit;
}

std::string ruleText(const plan::SizeRuleT *rule) {
  return rule == nullptr ? "" : rangeText(rule->first, rule->last, rule->unit);
}

std::string blocksText(std::vector<std::string> extents) {
  while (extents.size() > 1 && extents.back() == "1")
    extents.pop_back();
  std::string text;
  for (const std::string &extent : extents)
    text += (text.empty() ? "" : " x ") + extent;
  return text + (text == "1" ? " block" : " blocks");
}

namespace {

/// A size that rules depend on: a dim, and what it counts.
using Size = std::pair<uint32_t, std::string>;

struct NumberedStep {
  const plan::StepT *step;
  size_t number;
  bool runsOnce;
};

/// The size that all rules of the step depend on; nothing where there are none, or several.
std::optional<Size> onlySize(const plan::StepT &step) {
  std::set<Size> sizes;
  for (const auto &variant : step.variants)
    if (variant->rule)
      sizes.insert({variant->rule->value, variant->rule->unit});
  return sizes.size() == 1 ? std::optional(*sizes.begin()) : std::nullopt;
}

bool hasRules(const plan::StepT &step) {
  return std::any_of(step.variants.begin(), step.variants.end(),
                     [](const auto &variant) { return variant->rule != nullptr; });
}

/// The variant that runs at `value`; null where none does.
const plan::VariantT *variantAt(const plan::StepT &step, int64_t value) {
  for (const auto &variant : step.variants)
    if (!variant->rule || (variant->rule->first <= value && value <= variant->rule->last))
      return variant.get();
  return nullptr;
}

/// What runs from `first` on, until the next range begins.
struct Range {
  int64_t first;
  std::vector<const plan::VariantT *> variants;
};

/// The ranges within which the same variants of these steps run, from the least size of a rule on.
std::vector<Range> rangesOf(const std::vector<NumberedStep> &steps) {
  std::set<int64_t> starts;
  for (const NumberedStep &numbered : steps)
    for (const auto &variant : numbered.step->variants)
      if (variant->rule) {
        starts.insert(variant->rule->first);
        if (variant->rule->last != kNoLast)
          starts.insert(variant->rule->last + 1);
      }
  std::vector<Range> ranges;
  for (int64_t start : starts) {
    Range range{start, {}};
    for (const NumberedStep &numbered : steps)
      range.variants.push_back(variantAt(*numbered.step, start));
    if (ranges.empty() || ranges.back().variants != range.variants)
      ranges.push_back(std::move(range));
  }
  return ranges;
}

} // namespace

static void addOnce(KernelSet &set) {
  for (const PlanLaunch &launch : set.launches)
    set.rules.push_back(launch.runsOnce ? "once a shape" : "");
}

static void addRanges(const plan::MetadataT &metadata, const Size &size,
                      const std::vector<NumberedStep> &steps, std::vector<KernelSet> &sets) {
  std::vector<Range> ranges = rangesOf(steps);
  for (size_t i = 0; i < ranges.size(); ++i) {
    int64_t last = i + 1 < ranges.size() ? ranges[i + 1].first - 1 : kNoLast;
    KernelSet set{joinText(rangeText(ranges[i].first, last, size.second), " (",
                           runtime::dimText(metadata, size.first), ")"),
                  {},
                  {}};
    for (size_t step = 0; step < steps.size(); ++step)
      if (ranges[i].variants[step])
        append(set.launches, *steps[step].step, *ranges[i].variants[step], steps[step].number,
               steps[step].runsOnce);
    addOnce(set);
    if (!set.launches.empty())
      sets.push_back(std::move(set));
  }
}

std::vector<KernelSet> kernelSets(const plan::MetadataT &metadata, const plan::ProgramT &program) {
  KernelSet always{"at every size", {}, {}}, several{"by several sizes", {}, {}};
  std::map<Size, std::vector<NumberedStep>> bySize;
  size_t number = 0;
  for (const auto *steps : {&program.once, &program.steps})
    for (const auto &step : *steps) {
      bool runsOnce = steps == &program.once;
      if (std::optional<Size> size = onlySize(*step))
        bySize[*size].push_back({step.get(), number, runsOnce});
      else
        for (const auto &variant : step->variants)
          append((hasRules(*step) ? several : always).launches, *step, *variant, number, runsOnce);
      ++number;
    }
  addOnce(always);
  for (const PlanLaunch &launch : several.launches)
    several.rules.push_back(launch.variant->rule ? ruleText(launch.variant->rule.get())
                                                 : "otherwise");
  std::vector<KernelSet> sets;
  if (!always.launches.empty())
    sets.push_back(std::move(always));
  for (const auto &[size, steps] : bySize)
    addRanges(metadata, size, steps, sets);
  if (!several.launches.empty())
    sets.push_back(std::move(several));
  return sets;
}

} // namespace smelt::tools
