// Which way a plan's kernels go through their rows.
#include "codegen/program_builder.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

constexpr int kMany = 1 << 24, kFew = 1 << 20; // elements of four bytes, read and written

/// A chain of fusions of so many elements, each of the last one's result: 'p' pointwise, 'g' generic, which goes forward
/// alone.
std::string chainOf(std::string_view kinds, int elements) {
  std::string shape = llvm::formatv("<[{0}, 64], f32>", elements / 64),
              type = "!smelt.tensor" + shape;
  std::string text = llvm::formatv("func.func @main(%0: {0}) -> {0} {{\n", type);
  for (size_t i = 0; i < kinds.size(); ++i) {
    bool isPointwise = kinds[i] == 'p';
    text += llvm::formatv(R"(%{0} = smelt.fusion {1}(%{2}) : ({3}) -> {3} {{
^bb0(%a: {3}):
  %b = smelt.{4} : {5}
  smelt.yield %b : {3}
}
)",
                          i + 1, isPointwise ? "pointwise" : "generic", i, type,
                          isPointwise ? "gelu %a" : "cumsum %a axis 1", shape);
  }
  return text + llvm::formatv("return %{0} : {1}\n}", kinds.size(), type).str();
}

/// Of every launch: its last argument, which is the direction where the kernel has one.
std::vector<std::optional<int64_t>> directionsOf(std::string_view kinds, int elements = kMany) {
  mlir::MLIRContext context;
  context.loadDialect<SmeltDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(chainOf(kinds, elements), &context);
  EXPECT_TRUE(module);
  plan::MetadataT metadata;
  DimTable dims(metadata);
  WeightStore store;
  PlanWeights weights(store);
  mlir::FailureOr<Target> target = Target::named("sm_90a");
  ProgramBuilder builder(*module->getOps<mlir::func::FuncOp>().begin(), *target, dims, weights);
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

TEST(ProgramBuilder, KernelsWhoseTensorsTheCacheHoldsGoForward) {
  EXPECT_EQ(directionsOf("ppp", kFew), (std::vector<std::optional<int64_t>>{0, 0, 0}));
}

} // namespace
} // namespace smelt::codegen
