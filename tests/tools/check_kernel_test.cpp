// tools/smelt/check_kernel: a right kernel is accepted, a wrong one is not, and what was wrong is told. The interpreter
// stands in for the GPU: it runs what the plan says that the kernel computes.
#include "tools/smelt/check_kernel.h"

#include "compiler/build_plan.h"
#include "ir/interpret/interpret.h"
#include "tools/smelt/cuda_session.h"
#include "tools/smelt/interpreter_array.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace smelt;
using namespace smelt::tools;

namespace {

/// The demo model's plan, in `bytes`.
runtime::Plan demoPlan(std::vector<std::byte> &bytes) {
  ModelOptions options;
  options.path = SMELT_DEMO_MODEL;
  auto model = Model::import(options);
  EXPECT_TRUE(model.isOk() && (*model)->fuse({}).isOk());
  codegen::ByteBuffer buffer;
  PlanOptions target;
  target.architectures = {"sm_90a"};
  EXPECT_TRUE(buildPlan(**model, target, buffer).isOk());
  bytes = buffer.take();
  auto plan = runtime::readPlan(bytes, "demo");
  EXPECT_TRUE(plan.isOk()) << plan.status().message();
  return std::move(*plan);
}

/// What the plan of one fusion computes, by the interpreter in float32.
Result<std::vector<Array>> interpret(const runtime::Plan &plan, const std::vector<Array> &inputs) {
  const plan::ModuleT &code = *plan.metadata().programs[0]->modules[0];
  mlir::MLIRContext context;
  context.loadDialect<SmeltDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(plan.fusion(code), &context);
  WeightStore weights;
  weights.drawMissing(0);
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  std::vector<HostTensor> arguments;
  for (unsigned i = 0; i < inputs.size(); ++i) {
    SMELT_ASSIGN_OR_RETURN(HostTensor tensor,
                           toInterpreter(inputs[i], main.getArgumentTypes()[i], Precision::f32));
    arguments.push_back(std::move(tensor));
  }
  auto results = Interpreter(*module, weights).run(arguments);
  EXPECT_TRUE(mlir::succeeded(results));
  std::vector<Array> outputs;
  for (size_t i = 0; i < results->size(); ++i)
    outputs.push_back(toArray((*results)[i], plan.metadata().outputs[i]->element_type));
  return outputs;
}

/// The kernel's own code, as if it were new.
KernelPatch unchanged(const runtime::Plan &plan, const std::string &entry) {
  const plan::ModuleT &module = *moduleOf(*plan.metadata().programs[0], entry);
  auto code = plan.code(module);
  std::string bytes(reinterpret_cast<const char *>(code.data()), code.size());
  return {entry, std::string(plan.source(module)), {{"sm_90a", {bytes, 0}}}};
}

class CheckKernel : public testing::Test {
protected:
  std::vector<std::byte> bytes;
  runtime::Plan plan = demoPlan(bytes);
  const plan::ProgramT &program = *plan.metadata().programs[0];
};

TEST_F(CheckKernel, AcceptsEveryRightKernel) {
  EXPECT_GT(program.kernels.size(), 10u);
  size_t inexact = 0;
  for (const auto &kernel : program.kernels) {
    auto verdict = checkKernel(plan, program, unchanged(plan, kernel->entry), interpret);
    ASSERT_TRUE(verdict.isOk()) << kernel->entry << ": " << verdict.status().message();
    EXPECT_TRUE(verdict->agrees() && verdict->agreedBefore()) << kernel->entry;
    for (const OutputVerdict &output : verdict->outputs) {
      EXPECT_EQ(output.error.nonFiniteReferences, 0u) << kernel->entry; // which would hide errors
      inexact += output.error.relativeNorm > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(inexact, 10u); // float32 was compared with double
}

TEST_F(CheckKernel, TellsWhatAWrongKernelGives) {
  std::string entry = *findKernel(plan, "rowwise_layer_norm");
  int runs = 0;
  auto run = [&](const runtime::Plan &lone,
                 const std::vector<Array> &inputs) -> Result<std::vector<Array>> {
    SMELT_ASSIGN_OR_RETURN(std::vector<Array> outputs, interpret(lone, inputs));
    if (++runs == 2) // the first is the kernel as it was
      outputs[0].set(5, 100);
    return outputs;
  };
  auto verdict = checkKernel(plan, program, unchanged(plan, entry), run);
  ASSERT_TRUE(verdict.isOk()) << verdict.status().message();
  EXPECT_EQ(runs, 2);
  EXPECT_FALSE(verdict->agrees());
  EXPECT_TRUE(verdict->agreedBefore());
  EXPECT_EQ(verdict->outputs[0].error.worstIndex, 5u);
  EXPECT_EQ(verdict->outputs[0].error.worstOutput, 100);
}

TEST_F(CheckKernel, RunsTheCodeOfThePatch) {
  std::string entry = *findKernel(plan, "rowwise_layer_norm");
  KernelPatch patch = unchanged(plan, entry);
  patch.compiled.at("sm_90a").code += std::string(64, '\0');
  std::vector<size_t> sizes;
  auto run = [&](const runtime::Plan &lone, const std::vector<Array> &inputs) {
    sizes.push_back(lone.code(*moduleOf(*lone.metadata().programs[0], entry)).size());
    return interpret(lone, inputs);
  };
  ASSERT_TRUE(checkKernel(plan, program, patch, run).isOk());
  EXPECT_EQ(sizes[1], sizes[0] + 64);
}

TEST_F(CheckKernel, PassesOnThatThereIsNoDevice) {
  auto verdict =
      checkKernel(plan, program, unchanged(plan, program.kernels[0]->entry),
                  [](const runtime::Plan &, const std::vector<Array> &) {
                    return Result<std::vector<Array>>(Status(StatusCode::kEnvironment, "no GPU"));
                  });
  EXPECT_EQ(verdict.status().code(), StatusCode::kEnvironment);
}

} // namespace
