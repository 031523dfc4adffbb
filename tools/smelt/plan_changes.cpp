#include "tools/smelt/plan_changes.h"

#include "codegen/tuning.h"
#include "runtime/shape_program.h"
#include "runtime/text.h"
#include "tools/smelt/cuda_session.h"
#include "tools/smelt/plan_flags.h"
#include "tools/smelt/report.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>

namespace smelt::tools {

namespace {

/// Collects what differs.
class Changes {
public:
  void add(const std::string &what, const std::string &before, const std::string &after) {
    if (before != after)
      list.push_back({what, before, after});
  }

  /// Descriptions by name; one that only one side has is `absent` on the other.
  void addNamed(const std::map<std::string, std::string> &before,
                const std::map<std::string, std::string> &after, const char *absent) {
    for (const auto &[name, text] : after) {
      auto found = before.find(name);
      add(name, found == before.end() ? absent : found->second, text);
    }
    for (const auto &[name, text] : before)
      if (!after.contains(name))
        add(name, text, absent);
  }

  std::vector<ReportChange> take() { return std::move(list); }

private:
  std::vector<ReportChange> list;
};

/// One step as a person compares it.
struct StepText {
  std::string launches; ///< their names
  std::string sources;  ///< their CUDA text
  std::string sizes;    ///< of their grids and blocks
};

using Named = std::map<std::string, std::string>;

} // namespace

static std::string extentText(const std::array<uint32_t, 3> &extent) {
  return joinText(extent[0], "x", extent[1], "x", extent[2]);
}

/// By the ONNX nodes that the steps compute; several of the same nodes stand behind each other.
static std::map<std::string, StepText> describeSteps(const ReportData &report) {
  std::map<std::string, StepText> steps;
  for (const ReportLaunch &launch : report.launches) {
    StepText &step = steps[llvm::join(report.steps[launch.step].onnxNodes, " ")];
    step.launches += (step.launches.empty() ? "" : ", ") + launch.name;
    if (!launch.kernel)
      continue;
    step.sources += report.kernels[*launch.kernel].source;
    step.sizes +=
        joinText(step.sizes.empty() ? "" : ", ", extentText(launch.grid), " blocks of ",
                 extentText(launch.block), " threads, ", launch.sharedBytes, " bytes shared");
  }
  return steps;
}

static void addSteps(Changes &changes, const ReportData &beforeReport, const ReportData &report) {
  auto before = describeSteps(beforeReport), after = describeSteps(report);
  for (const auto &[nodes, step] : after) {
    auto found = before.find(nodes);
    if (found == before.end())
      changes.add(nodes, "not one fusion", step.launches);
    else if (found->second.launches != step.launches)
      changes.add(nodes, found->second.launches, step.launches);
    else if (found->second.sources != step.sources)
      changes.add(nodes, step.launches, "the same kernels, other CUDA text");
    else
      changes.add(nodes, found->second.sizes, step.sizes);
  }
  for (const auto &[nodes, step] : before)
    if (!after.contains(nodes))
      changes.add(nodes, step.launches, "not one fusion");
}

static std::string bytes(uint64_t count) { return bytesText(static_cast<double>(count)); }

std::vector<ReportChange> programChanges(const ReportData &before, const ReportData &after) {
  Changes changes;
  changes.add("kernels", std::to_string(before.kernels.size()),
              std::to_string(after.kernels.size()));
  changes.add("launches", std::to_string(before.launches.size()),
              std::to_string(after.launches.size()));
  changes.add("arena", bytes(before.arenaBytes), bytes(after.arenaBytes));
  addSteps(changes, before, after);
  return changes.take();
}

/// "float32 [batch, 4]", and where it lies if that is another's memory.
static Named describePorts(const char *role, const plan::MetadataT &metadata,
                           const std::vector<Port> &ports,
                           const std::vector<std::unique_ptr<plan::TensorT>> &tensors) {
  Named named;
  for (size_t i = 0; i < ports.size(); ++i) {
    std::string &text = named[joinText(role, " ", ports[i].name)];
    text = typeText(ports[i]);
    if (ports[i].bound)
      text += joinText(", rows below ", *ports[i].bound);
    if (tensors[i]->alias != plan::kNone)
      text += ", in the memory of " + metadata.inputs[tensors[i]->alias]->name;
  }
  return named;
}

/// What sizes the plan takes, each by itself.
static Named describeLimits(const plan::MetadataT &metadata) {
  Named named;
  for (const auto &guard : metadata.guards)
    named[joinText("limit ", runtime::dimText(metadata, guard->left),
                   guard->relation == plan::Relation::equal ? " = " : " <= ",
                   runtime::dimText(metadata, guard->right))] = "required";
  return named;
}

/// Weights of the same sizes may have other values.
static void addWeights(Changes &changes, const runtime::Plan &before, const runtime::Plan &after) {
  Named sizesBefore, sizesAfter;
  std::map<std::string, std::span<const std::byte>> valuesBefore;
  for (const auto &weight : before.metadata().weights) {
    sizesBefore["weight " + weight->name] = bytes(weight->data.size());
    valuesBefore["weight " + weight->name] = before.bytes(*weight);
  }
  for (const auto &weight : after.metadata().weights) {
    std::string name = "weight " + weight->name, size = bytes(weight->data.size());
    auto found = valuesBefore.find(name);
    bool isSame =
        found == valuesBefore.end() || std::ranges::equal(found->second, after.bytes(*weight));
    sizesAfter[name] = isSame ? size : size + ", other values";
  }
  changes.addNamed(sizesBefore, sizesAfter, "none");
}

static std::string architecturesOf(const plan::MetadataT &metadata) {
  std::string text;
  for (const auto &program : metadata.programs)
    text += (text.empty() ? "" : ", ") + program->arch;
  return text;
}

std::vector<ReportChange> planChanges(const runtime::Plan &before, const runtime::Plan &after) {
  Changes changes;
  const plan::MetadataT &old = before.metadata(), &now = after.metadata();
  auto orNone = [](const std::string &text) { return text.empty() ? "none" : text; };
  changes.add("Smelt", old.smelt_version, now.smelt_version);
  changes.add("model", old.model_name, now.model_name);
  changes.add("flags", planFlags(before), planFlags(after));
  changes.add("tilings by times of", orNone(codegen::Tuning::deviceIn(old.tuning)),
              orNone(codegen::Tuning::deviceIn(now.tuning)));
  changes.add("architectures", architecturesOf(old), architecturesOf(now));
  changes.add("plan", bytes(before.fileBytes()), bytes(after.fileBytes()));
  Signature oldPorts = signatureOf(old), ports = signatureOf(now);
  changes.addNamed(describePorts("input", old, oldPorts.inputs, old.inputs),
                   describePorts("input", now, ports.inputs, now.inputs), "none");
  changes.addNamed(describePorts("output", old, oldPorts.outputs, old.outputs),
                   describePorts("output", now, ports.outputs, now.outputs), "none");
  changes.addNamed(describeLimits(old), describeLimits(now), "none");
  addWeights(changes, before, after);
  return changes.take();
}

} // namespace smelt::tools
