// A plan of one kernel whose output takes over an input and grows.
#pragma once

#include "tests/runtime/fake_model.h"

namespace smelt::test {

/// present [batch, past + fresh] takes over past [batch, past] and appends fresh [batch, fresh]:
///   append(past, fresh, present, int batch, int past, int fresh, int capacity)
struct GrowingPlan : TestPlan {
  GrowingPlan() {
    plan::MetadataT &metadata = contents.metadata;
    metadata.symbols.clear();
    metadata.dims.clear();
    metadata.guards.clear();
    DimBuilder dims(metadata);
    uint32_t batch = dims.symbol("batch"), past = dims.symbol("past"), fresh = dims.symbol("fresh");
    uint32_t capacity = dims.symbol("capacity"), one = dims.constant(1);
    name(*metadata.inputs[0], "past", {batch, past});
    name(*metadata.inputs[1], "fresh", {batch, fresh});
    name(*metadata.outputs[0], "present", {batch, dims.apply(plan::DimOpcode::add, past, fresh)});
    metadata.outputs[0]->alias = 0;
    metadata.outputs[0]->capacity = 3;
    metadata.outputs[0]->capacity_axis = 1;
    for (auto &program : metadata.programs) {
      program->steps.resize(1);
      program->kernels.resize(1);
      program->kernels[0]->entry = "append";
      program->buffers.resize(3);
      program->arena_slots = 0;
      launchOf(*program, 0).bytes = launchOf(*program, 0).flops = plan::kNone;
      plan::KernelNodeT &kernel = kernelOf(*program, 0);
      kernel.grid = plan::GridDims(one, one, one);
      kernel.arguments.resize(3);
      for (uint32_t index = 0; index < 3; ++index)
        kernel.arguments[index] = {plan::ArgumentKind::pointer, index, plan::kNone};
      for (uint32_t dim : {batch, past, fresh, capacity})
        kernel.arguments.emplace_back(plan::ArgumentKind::size32, dim, 0);
    }
  }

  static void name(plan::TensorT &tensor, const char *name, std::vector<uint32_t> dims) {
    tensor.name = name;
    tensor.dims = std::move(dims);
  }
};

/// Appends as the kernel does, and notes whether past and present were one.
inline void append(const runtime::FakeKernelCall &call, bool &wasInPlace) {
  auto *fresh = call.parameter<const float *>(1);
  auto *present = call.parameter<float *>(2);
  wasInPlace = call.parameter<float *>(0) == present;
  int past = call.parameter<int>(4), added = call.parameter<int>(5);
  for (int row = 0; row < call.parameter<int>(3); ++row)
    for (int i = 0; i < added; ++i)
      present[row * call.parameter<int>(6) + past + i] = fresh[row * added + i];
}

/// Makes the fake driver compute append.
inline void addAppend(runtime::FakeDriver &fake, bool &wasInPlace) {
  fake.addKernel(
      "append", {{8, 8, 8, 4, 4, 4, 4},
                 [&wasInPlace](const runtime::FakeKernelCall &call) { append(call, wasInPlace); }});
}

} // namespace smelt::test
