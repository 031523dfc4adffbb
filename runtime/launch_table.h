// The launches of a program in one flat list, with what no shape changes about them. Made once per
// engine, so that preparing a shape has little to work out.
#pragma once

#include "runtime/plan_format.h"

#include <string>
#include <vector>

namespace smelt::runtime {

struct PlannedLaunch {
  const plan::StepT *step = nullptr;
  const plan::LaunchT *launch = nullptr;
  std::string number;        ///< plan::launchNumber(), wherever a person meets the launch
  uint32_t kernelNumber = 0; ///< 3 of "3.2"
  /// What profilers and messages call it: "kernel 3 (/layer/MatMul)", its ONNX nodes or what it computes.
  std::string label;
  /// Of each of a kernel's arguments: bytes from the start of its parameters in a schedule.
  std::vector<uint32_t> offsets;
  uint32_t parameterBlocks = 0; ///< of ParameterBlock

  /// Null where the launch is no kernel.
  const plan::KernelNodeT *kernel() const { return launch->node.AsKernelNode(); }
};

/// The launches of the steps that run once, then those of the others; steps, their variants and the
/// variants' launches in order. Points into the program.
class LaunchTable {
public:
  explicit LaunchTable(const plan::ProgramT &program);

  const plan::ProgramT &program() const { return *planned; }
  const std::vector<PlannedLaunch> &launches() const { return all; }
  const PlannedLaunch &operator[](uint32_t id) const { return all[id]; }

private:
  void add(const plan::StepT &step, uint32_t number);

  const plan::ProgramT *planned;
  std::vector<PlannedLaunch> all;
};

/// Room for parameters, aligned as tensor maps must be.
struct alignas(64) ParameterBlock {
  std::byte bytes[64];
};

/// Bytes that a kernel takes for an argument.
uint32_t argumentBytes(const plan::Argument &argument);

/// Launches of the program, of all variants.
size_t countLaunches(const plan::ProgramT &program);

} // namespace smelt::runtime
