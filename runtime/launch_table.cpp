#include "runtime/launch_table.h"

namespace smelt::runtime {

constexpr uint32_t kTensorMapBytes = 128;

uint32_t argumentBytes(const plan::Argument &argument) {
  switch (argument.kind()) {
  case plan::ArgumentKind::pointer:
  case plan::ArgumentKind::size64:
    return 8;
  case plan::ArgumentKind::size32:
    return 4;
  case plan::ArgumentKind::bytes:
    return argument.detail();
  case plan::ArgumentKind::tensor_map:
    return kTensorMapBytes;
  }
  return 0;
}

static uint32_t alignmentOf(const plan::Argument &argument) {
  return argument.kind() == plan::ArgumentKind::tensor_map ? alignof(ParameterBlock) : 8;
}

static void layOutParameters(PlannedLaunch &planned) {
  const plan::KernelNodeT *kernel = planned.kernel();
  if (kernel == nullptr)
    return;
  uint32_t end = 0;
  for (const plan::Argument &argument : kernel->arguments) {
    uint32_t alignment = alignmentOf(argument);
    end = (end + alignment - 1) / alignment * alignment;
    planned.offsets.push_back(end);
    end += argumentBytes(argument);
  }
  planned.parameterBlocks =
      static_cast<uint32_t>((end + sizeof(ParameterBlock) - 1) / sizeof(ParameterBlock));
}

static std::string labelOf(const plan::StepT &step, const plan::LaunchT &launch) {
  std::string label;
  for (const std::string &node : step.onnx_nodes)
    label += (label.empty() ? "" : " ") + node;
  return label.empty() ? launch.name : label;
}

LaunchTable::LaunchTable(const plan::ProgramT &program) : planned(&program) {
  all.reserve(countLaunches(program));
  for (const auto &step : program.once)
    add(*step);
  for (const auto &step : program.steps)
    add(*step);
}

void LaunchTable::add(const plan::StepT &step) {
  for (const auto &variant : step.variants)
    for (const auto &launch : variant->launches) {
      PlannedLaunch &added = all.emplace_back();
      added.step = &step;
      added.launch = launch.get();
      added.label = labelOf(step, *launch);
      layOutParameters(added);
    }
}

size_t countLaunches(const plan::ProgramT &program) {
  size_t count = 0;
  for (const auto *steps : {&program.once, &program.steps})
    for (const auto &step : *steps)
      for (const auto &variant : step->variants)
        count += variant->launches.size();
  return count;
}

} // namespace smelt::runtime
