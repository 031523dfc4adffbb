#include "frontend/constant_value.h"

#include "frontend/graph_builder.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace smelt::test {
namespace {

class ConstantValue : public testing::Test {
protected:
  ConstantValue() {
    context.loadDialect<SmeltDialect, func::FuncDialect>();
    module = ModuleOp::create(UnknownLoc::get(&context));
    OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
    auto type = TensorType::get({Dim::constant(&context, 1)}, builder.getF32Type());
    function = func::FuncOp::create(builder, builder.getUnknownLoc(), "main",
                                    builder.getFunctionType({type}, {}));
    function.addEntryBlock();
    facts.emplace(function);
    build.emplace(function, *facts);
  }
  ~ConstantValue() override { build->finish({}); }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::optional<frontend::ShapeFacts> facts;
  std::optional<frontend::GraphBuilder> build;
};

TEST_F(ConstantValue, OfWhatFollowsFromConstants) {
  Type f32 = Float32Type::get(&context);
  Value two = build->scalar(2, f32), four = build->create<MulOp>({two, two});
  ASSERT_TRUE(frontend::constantValue(four));
  EXPECT_EQ(frontend::constantValue(four)->getDouble(0), 4);
  EXPECT_EQ(frontend::constantBool(build->create<LessOp>({two, four})), true);
  EXPECT_TRUE(isa<ConstantOp>(frontend::CarriedConstants(*build).fold(four).getDefiningOp()));
}

TEST_F(ConstantValue, OfAnInputThereIsNone) {
  Value input = function.getArgument(0), twice = build->create<AddOp>({input, input});
  EXPECT_FALSE(frontend::constantValue(twice));
  EXPECT_FALSE(frontend::constantBool(build->create<LessOp>({input, twice})));
  EXPECT_EQ(frontend::CarriedConstants(*build).fold(twice), twice);
}

TEST_F(ConstantValue, IsNotSearchedBeyondWhatVaries) {
  Value two = build->scalar(2, Float32Type::get(&context)), four = build->create<MulOp>({two, two}),
        eight = build->create<MulOp>({four, two});
  EXPECT_TRUE(frontend::constantValue(eight));
  EXPECT_FALSE(frontend::constantValue(eight, nullptr, frontend::kFewElements, {four}));
}

TEST_F(ConstantValue, OfWhatLoopsCarryIsFoundAgainAfterSomethingThatVaries) {
  Type f32 = Float32Type::get(&context);
  Value varying = build->create<AddOp>({function.getArgument(0), function.getArgument(0)});
  frontend::CarriedConstants carried(*build);
  for (int iteration = 0; iteration < 3; ++iteration) {
    EXPECT_EQ(carried.fold(varying), varying);
    Value two = build->scalar(2, f32);
    EXPECT_TRUE(isa<ConstantOp>(carried.fold(build->create<MulOp>({two, two})).getDefiningOp()));
    carried.endIteration();
    varying = build->create<AddOp>({varying, two});
  }
  EXPECT_EQ(carried.fold(varying), varying);
}

} // namespace
} // namespace smelt::test
