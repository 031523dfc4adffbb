// tools/smelt/compare_plan: plans that cannot be looked into say why, and what to do. What others tell is in
// tests/cli/compare_plan_test.py.
#include "tools/smelt/compare_plan.h"

#include "codegen/compile.h"
#include "tools/smelt/temporary_file.h"

#include <gtest/gtest.h>

using namespace smelt;
using namespace smelt::tools;

namespace {

/// The demo model's plan, which keeps `ir`.
class ComparePlan : public testing::Test {
protected:
  ComparePlan() { flags.path = SMELT_DEMO_MODEL; }

  Result<JudgedPlan> read(const std::string &ir) {
    auto model = importModel(flags);
    EXPECT_TRUE(model.isOk() && fuse(**model).isOk());
    codegen::CompileOptions options;
    options.architectures = {"sm_80"};
    options.ir = ir.empty() ? "" : ir == "its own" ? compiler::fusedIr((*model)->module()) : ir;
    EXPECT_TRUE(
        codegen::compileToPlan((*model)->module(), (*model)->weights(), options, file->path())
            .isOk());
    return JudgedPlan::read(file->path(), flags);
  }

  ModelFlags flags;
  Result<TemporaryFile> file = TemporaryFile::create("plan");
};

bool contains(const Status &status, const std::string &text) {
  return status.message().find(text) != std::string::npos;
}

TEST_F(ComparePlan, OneOfAnOlderSmeltHasNoIr) {
  auto plan = read("");
  ASSERT_TRUE(plan.isOk());
  for (const Status &status : {plan->inside(), plan->checkReducible()}) {
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_TRUE(contains(status, file->path() + " does not hold its fused IR")) << status.message();
    EXPECT_TRUE(contains(status, "compile the model again")) << status.message();
  }
  OpenFlags open;
  EXPECT_TRUE(plan->adjust(open).isOk()); // its outputs are judged as before
}

TEST_F(ComparePlan, AnIrThatCannotBeRead) {
  auto plan = read("module { \"smelt.unheard_of\"() : () -> () }");
  ASSERT_TRUE(plan.isOk());
  EXPECT_EQ(plan->inside().code(), StatusCode::kPlan);
  EXPECT_TRUE(contains(plan->inside(), file->path())) << plan->inside().message();
}

TEST_F(ComparePlan, KernelsThatThisSmeltWouldNotChoose) {
  auto plan = read("its own");
  ASSERT_TRUE(plan.isOk() && plan->inside().isOk()) << plan.status().message();
  plan::ProgramT other;
  other.arch = "sm_80";
  Status status = plan->run(other, plan->fused(), {}, 0).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_TRUE(contains(status, " has no kernel ")) << status.message();
  EXPECT_TRUE(contains(status, "compile the model again")) << status.message();
}

} // namespace
