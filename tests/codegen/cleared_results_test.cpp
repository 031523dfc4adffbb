// Where a plan keeps the totals that kernels add to, and when it clears them.
#include "codegen/program_builder.h"

#include "codegen/printer.h"
#include "ir/weights.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

// A pointwise step, two products that count, and who reads both counts.
constexpr char kTwoProducts[] = R"(
func.func @main(%x: !smelt.tensor<[n, 64], f16>, %w: !smelt.tensor<[64, 64], f16>) -> (!smelt.tensor<[n, 64], f16>, !smelt.tensor<[1, 1], i64>$outputTypes$) {
  %0 = smelt.fusion pointwise(%x) : (!smelt.tensor<[n, 64], f16>) -> !smelt.tensor<[n, 64], f16> {
  ^bb0(%a: !smelt.tensor<[n, 64], f16>):
    %10 = smelt.exp %a : <[n, 64], f16>
    smelt.yield %10 : !smelt.tensor<[n, 64], f16>
  }
  %1:2 = smelt.fusion gemm(%0, %w) : (!smelt.tensor<[n, 64], f16>, !smelt.tensor<[64, 64], f16>) -> (!smelt.tensor<[n, 64], f16>, !smelt.tensor<[1, 1], i64>) {
  ^bb0(%a: !smelt.tensor<[n, 64], f16>, %b: !smelt.tensor<[64, 64], f16>):
    %10 = smelt.matmul %a, %b : <[n, 64], f16>, <[64, 64], f16> -> <[n, 64], f16>
    %11 = smelt.is_inf %10 : <[n, 64], f16> -> <[n, 64], i1>
    %12 = smelt.cast %11 : <[n, 64], i1> -> <[n, 64], i64>
    %13 = smelt.reduce sum %12 axes [0, 1] : <[n, 64], i64> -> <[1, 1], i64>
    smelt.yield %10, %13 : !smelt.tensor<[n, 64], f16>, !smelt.tensor<[1, 1], i64>
  }
  %2:2 = smelt.fusion gemm(%1#0, %w) : (!smelt.tensor<[n, 64], f16>, !smelt.tensor<[64, 64], f16>) -> (!smelt.tensor<[n, 64], f16>, !smelt.tensor<[1, 1], i64>) {
  ^bb0(%a: !smelt.tensor<[n, 64], f16>, %b: !smelt.tensor<[64, 64], f16>):
    %10 = smelt.matmul %a, %b : <[n, 64], f16>, <[64, 64], f16> -> <[n, 64], f16>
    %11 = smelt.is_inf %10 : <[n, 64], f16> -> <[n, 64], i1>
    %12 = smelt.cast %11 : <[n, 64], i1> -> <[n, 64], i64>
    %13 = smelt.reduce sum %12 axes [0, 1] : <[n, 64], i64> -> <[1, 1], i64>
    smelt.yield %10, %13 : !smelt.tensor<[n, 64], f16>, !smelt.tensor<[1, 1], i64>
  }
  %3 = smelt.fusion pointwise(%1#1, %2#1) : (!smelt.tensor<[1, 1], i64>, !smelt.tensor<[1, 1], i64>) -> !smelt.tensor<[1, 1], i64> {
  ^bb0(%a: !smelt.tensor<[1, 1], i64>, %b: !smelt.tensor<[1, 1], i64>):
    %10 = smelt.add %a, %b : <[1, 1], i64>, <[1, 1], i64> -> <[1, 1], i64>
    smelt.yield %10 : !smelt.tensor<[1, 1], i64>
  }
  return %2#0, %3$outputs$ : !smelt.tensor<[n, 64], f16>, !smelt.tensor<[1, 1], i64>$outputTypes$
})";

class ClearedResultsTest : public testing::Test {
protected:
  void SetUp() override { context.loadDialect<SmeltDialect, mlir::func::FuncDialect>(); }

  /// With the second count as an output of the model, too.
  void build(bool isOutput) {
    module = mlir::parseSourceString<mlir::ModuleOp>(
        format(kTwoProducts, {{"outputs", isOutput ? ", %2#1" : ""},
                              {"outputTypes", isOutput ? ", !smelt.tensor<[1, 1], i64>" : ""}}),
        &context);
    ASSERT_TRUE(module);
    auto function = module->lookupSymbol<mlir::func::FuncOp>("main");
    WeightStore store;
    PlanWeights weights(store);
    DimTable dims(metadata);
    std::optional<Target> target = Target::named("sm_90a");
    ProgramBuilder builder(function, *target, dims, weights);
    ASSERT_TRUE(succeeded(builder.select({})));
    std::vector<size_t> firstUse;
    program = builder.build(firstUse);
  }

  /// The sets of one variant of a step, which stand in front of its kernels.
  static std::vector<const plan::SetNodeT *> setsOf(const plan::VariantT &variant) {
    std::vector<const plan::SetNodeT *> sets;
    for (const auto &launch : variant.launches)
      if (const plan::SetNodeT *set = launch->node.AsSetNode()) {
        EXPECT_EQ(&launch, &variant.launches[sets.size()]);
        sets.push_back(set);
      }
    return sets;
  }

  /// Where a step's kernels are given `buffer`: offsets in bytes, of all variants.
  std::set<int64_t> offsetsIn(size_t step, uint32_t buffer) const {
    std::set<int64_t> offsets;
    for (const auto &variant : program->steps[step]->variants)
      for (const auto &launch : variant->launches)
        if (const plan::KernelNodeT *kernel = launch->node.AsKernelNode())
          for (const plan::Argument &argument : kernel->arguments)
            if (argument.kind() == plan::ArgumentKind::pointer && argument.index() == buffer)
              offsets.insert(argument.detail() == plan::kNone ? 0 : constant(argument.detail()));
    return offsets;
  }

  int64_t constant(uint32_t dim) const {
    EXPECT_EQ(metadata.dims[dim]->program.size(), 1u);
    return metadata.dims[dim]->program[0].operand();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  plan::MetadataT metadata;
  std::unique_ptr<plan::ProgramT> program;
};

TEST_F(ClearedResultsTest, OneSetInFrontOfAllStepsClearsAllTotals) {
  build(/*isOutput=*/false);
  ASSERT_EQ(program->steps.size(), 4u);
  for (size_t step = 0; step < 4; ++step)
    for (const auto &variant : program->steps[step]->variants)
      EXPECT_EQ(setsOf(*variant).size(), step == 0 ? 1u : 0u);
  const plan::SetNodeT &set = *setsOf(*program->steps[0]->variants[0])[0];
  uint32_t buffer = set.target.buffer();
  EXPECT_EQ(set.value, 0);
  EXPECT_EQ(set.target.offset(), plan::kNone);
  EXPECT_EQ(constant(set.size_bytes), 32);
  EXPECT_EQ(constant(program->buffers[buffer]->size_bytes), 32);
  EXPECT_EQ(offsetsIn(1, buffer), (std::set<int64_t>{0}));
  EXPECT_EQ(offsetsIn(2, buffer), (std::set<int64_t>{16}));
  EXPECT_EQ(offsetsIn(3, buffer), (std::set<int64_t>{0, 16}));
}

TEST_F(ClearedResultsTest, TotalsShareTheirMemoryWithNothing) {
  build(/*isOutput=*/false);
  uint32_t cleared = setsOf(*program->steps[0]->variants[0])[0]->target.buffer();
  for (size_t i = 0; i < program->buffers.size(); ++i)
    if (i != cleared && program->buffers[i]->kind == plan::BufferKind::arena)
      EXPECT_NE(program->buffers[i]->index, program->buffers[cleared]->index);
  EXPECT_LT(program->buffers[cleared]->index, program->arena_slots);
}

// The second product waits for the first, not for who reads the first's total.
TEST_F(ClearedResultsTest, ATotalOrdersOnlyWhoTouchesIt) {
  build(/*isOutput=*/false);
  EXPECT_EQ(program->steps[1]->depends_on, (std::vector<uint32_t>{0}));
  EXPECT_EQ(program->steps[2]->depends_on, (std::vector<uint32_t>{1}));
  EXPECT_EQ(program->steps[3]->depends_on, (std::vector<uint32_t>{2}));
}

TEST_F(ClearedResultsTest, AnOutputOfTheModelIsClearedWhereItLies) {
  build(/*isOutput=*/true);
  std::vector<const plan::SetNodeT *> sets = setsOf(*program->steps[0]->variants[0]);
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(constant(sets[0]->size_bytes), 16);
  EXPECT_EQ(program->buffers[sets[1]->target.buffer()]->kind, plan::BufferKind::output);
  EXPECT_EQ(constant(sets[1]->size_bytes), 8);
  EXPECT_EQ(offsetsIn(2, sets[1]->target.buffer()), (std::set<int64_t>{0}));
}

} // namespace
} // namespace smelt::codegen
