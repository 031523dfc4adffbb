// Which way a plan's kernels go through their rows.
#include "codegen/program_builder.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

/// A chain of fusions, each of the last one's result: 'p' pointwise, 'g' generic, which goes forward alone.
std::string chainOf(std::string_view kinds) {
  std::string text =
      "func.func @main(%0: !smelt.tensor<[n, 64], f32>) -> !smelt.tensor<[n, 64], f32> {\n";
  for (size_t i = 0; i < kinds.size(); ++i) {
    bool isPointwise = kinds[i] == 'p';
    text += "%" + std::to_string(i + 1) + " = smelt.fusion " +
            (isPointwise ? "pointwise" : "generic") + "(%" + std::to_string(i) +
            R"() : (!smelt.tensor<[n, 64], f32>) -> !smelt.tensor<[n, 64], f32> {
  ^bb0(%a: !smelt.tensor<[n, 64], f32>):
    )" +
            (isPointwise ? "%b = smelt.gelu %a : <[n, 64], f32>"
                         : "%b = smelt.cumsum %a axis 1 : <[n, 64], f32>") +
            R"(
    smelt.yield %b : !smelt.tensor<[n, 64], f32>
  }
)";
  }
  return text + "return %" + std::to_string(kinds.size()) + " : !smelt.tensor<[n, 64], f32>\n}";
}

/// Of every launch: its last argument, which is the direction where the kernel has one.
std::vector<std::optional<int64_t>> directionsOf(std::string_view kinds) {
  mlir::MLIRContext context;
  context.loadDialect<SmeltDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(chainOf(kinds), &context);
  EXPECT_TRUE(module);
  plan::MetadataT metadata;
  DimTable dims(metadata);
  WeightStore store;
  PlanWeights weights(store);
  ProgramBuilder builder(*module->getOps<mlir::func::FuncOp>().begin(), *Target::named("sm_90a"),
                         dims, weights);
  EXPECT_TRUE(succeeded(builder.select({})));
  std::vector<size_t> uses;
  std::unique_ptr<plan::ProgramT> program = builder.build(uses);
  std::vector<std::optional<int64_t>> directions;
  for (auto [kind, step] : llvm::zip_equal(kinds, program->steps)) {
    const plan::KernelNodeT &node = *step->variants.front()->launches.front()->node.AsKernelNode();
    const plan::DimExpressionT &last = *metadata.dims[node.arguments.back().index()];
    directions.push_back(kind == 'p' ? std::optional(last.program.front().operand())
                                     : std::nullopt);
  }
  return directions;
}

TEST(ProgramBuilder, NeighboursGoOppositeWays) {
  EXPECT_EQ(directionsOf("pppp"), (std::vector<std::optional<int64_t>>{0, 1, 0, 1}));
}

TEST(ProgramBuilder, KernelsBehindOneThatGoesForwardGoBack) {
  std::optional<int64_t> none;
  EXPECT_EQ(directionsOf("pgp"), (std::vector<std::optional<int64_t>>{0, none, 1}));
  EXPECT_EQ(directionsOf("ppgpp"), (std::vector<std::optional<int64_t>>{0, 1, none, 1, 0}));
}

} // namespace
} // namespace smelt::codegen
