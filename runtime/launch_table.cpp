#include "runtime/launch_table.h"

#include "runtime/text.h"

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

static std::string labelOf(const plan::StepT &step, const PlannedLaunch &planned) {
  std::string names;
  for (const std::string &node : step.onnx_nodes)
    names += (names.empty() ? "" : " ") + node;
  return joinText("kernel ", planned.number, " (", names.empty() ? planned.launch->name : names,
                  ")");
}

LaunchTable::LaunchTable(const plan::ProgramT &program) : planned(&program) {
  all.reserve(countLaunches(program));
  uint32_t number = 0;
  for (const auto *steps : {&program.once, &program.steps})
    for (const auto &step : *steps)
      add(*step, number++);
}

void LaunchTable::add(const plan::StepT &step, uint32_t number) {
  for (const auto &variant : step.variants)
    for (size_t i = 0; i < variant->launches.size(); ++i) {
      PlannedLaunch &added = all.emplace_back();
      added.step = &step;
      added.launch = variant->launches[i].get();
      added.kernelNumber = number;
      added.number = plan::launchNumber(number, i, variant->launches.size());
      added.label = labelOf(step, added);
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
