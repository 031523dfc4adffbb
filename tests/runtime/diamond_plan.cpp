#include "tests/runtime/diamond_plan.h"

#include <cstring>

namespace smelt::test {

namespace {

/// add(x, y, out, int n) and scale(in, gain, out, int n); @OVERLAP@ stands where sm_90 may
/// start dependent kernels and must wait for former ones.
constexpr const char *kKernels = R"(
.visible .entry add(.param .u64 x, .param .u64 y, .param .u64 out, .param .u32 n) {
  .reg .pred %outside;
  .reg .b32 %block, %size, %thread, %index, %count;
  .reg .b64 %base, %offset, %address;
  .reg .f32 %left, %right;
  @OVERLAP@
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %index, %block, %size, %thread;
  ld.param.u32 %count, [n];
  setp.ge.u32 %outside, %index, %count;
  @%outside bra done;
  mul.wide.u32 %offset, %index, 4;
  ld.param.u64 %base, [x];
  add.u64 %address, %base, %offset;
  ld.global.f32 %left, [%address];
  ld.param.u64 %base, [y];
  add.u64 %address, %base, %offset;
  ld.global.f32 %right, [%address];
  add.f32 %left, %left, %right;
  ld.param.u64 %base, [out];
  add.u64 %address, %base, %offset;
  st.global.f32 [%address], %left;
done:
  ret;
}

.visible .entry scale(.param .u64 in, .param .u64 gain, .param .u64 out, .param .u32 n) {
  .reg .pred %outside;
  .reg .b32 %block, %size, %thread, %index, %count;
  .reg .b64 %base, %offset, %address;
  .reg .f32 %left, %right;
  @OVERLAP@
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %index, %block, %size, %thread;
  ld.param.u32 %count, [n];
  setp.ge.u32 %outside, %index, %count;
  @%outside bra done;
  mul.wide.u32 %offset, %index, 4;
  ld.param.u64 %base, [in];
  add.u64 %address, %base, %offset;
  ld.global.f32 %left, [%address];
  ld.param.u64 %base, [gain];
  ld.global.f32 %right, [%base];
  mul.f32 %left, %left, %right;
  ld.param.u64 %base, [out];
  add.u64 %address, %base, %offset;
  st.global.f32 [%address], %left;
done:
  ret;
}
)";

std::string ptxFor(const char *target, const char *overlap) {
  std::string text = std::string(".version 7.8\n.target ") + target + "\n.address_size 64\n";
  text += kKernels;
  for (size_t at; (at = text.find("@OVERLAP@")) != std::string::npos;)
    text.replace(at, std::strlen("@OVERLAP@"), overlap);
  return text;
}

void setPointer(plan::StepT &step, size_t argument, uint32_t buffer) {
  step.variants[0]->launches[0]->node.AsKernelNode()->arguments[argument] = {
      plan::ArgumentKind::pointer, buffer, plan::kNone};
}

void makeDiamond(plan::ProgramT &program) {
  program.arena_slots = 3;
  for (uint32_t slot : {1, 2}) {
    program.buffers.push_back(std::make_unique<plan::BufferT>(*program.buffers[4]));
    program.buffers.back()->index = slot;
  }
  enum : uint32_t { kOut = 2, kLeft = 5, kRight = 6 };
  plan::StepT &add = *program.steps[0], &scale = *program.steps[1];
  auto otherScale = std::make_unique<plan::StepT>(scale);
  auto lastAdd = std::make_unique<plan::StepT>(add);
  setPointer(scale, 2, kLeft);
  setPointer(*otherScale, 2, kRight);
  setPointer(*lastAdd, 0, kLeft);
  setPointer(*lastAdd, 1, kRight);
  setPointer(*lastAdd, 2, kOut);
  lastAdd->depends_on = {1, 2};
  program.steps.push_back(std::move(otherScale));
  program.steps.push_back(std::move(lastAdd));
  kernelOf(program, 3).programmatic = true;
}

} // namespace

DiamondPlan::DiamondPlan() {
  sources[0] = ptxFor("sm_90", "griddepcontrol.launch_dependents; griddepcontrol.wait;");
  sources[1] = ptxFor("sm_80", "");
  program(0).arch = "sm_90";
  for (size_t i = 0; i < 2; ++i) {
    makeDiamond(program(i));
    setCubin(i, minimalCubin("diamond"));
  }
}

void DiamondPlan::setCubin(size_t program, std::string bytes) {
  cubins[program] = std::move(bytes);
  contents.codes[program] = std::as_bytes(std::span(cubins[program]));
}

} // namespace smelt::test
