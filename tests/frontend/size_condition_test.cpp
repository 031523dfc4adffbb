#include "frontend/size_condition.h"

#include "frontend/graph_builder.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace smelt::test {
namespace {

using frontend::SizeCondition;

class SizeConditions : public testing::Test {
protected:
  SizeConditions() {
    context.loadDialect<SmeltDialect, func::FuncDialect>();
    module = ModuleOp::create(UnknownLoc::get(&context));
    OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
    auto type = TensorType::get({}, builder.getI64Type());
    function = func::FuncOp::create(builder, builder.getUnknownLoc(), "main",
                                    builder.getFunctionType({type}, {}));
    function.addEntryBlock();
    facts.emplace(function);
    build.emplace(function, *facts);
    n = Dim::symbol(&context, "n");
    size = build->dim(n, builder.getI64Type());
    eight = build->scalar(8, builder.getI64Type());
  }
  ~SizeConditions() override { build->finish({}); }

  static std::string text(const std::optional<SizeRelation> &relation) {
    if (!relation)
      return "none";
    return relation->left.toString() + (relation->isEquality ? " = " : " <= ") +
           relation->right.toString();
  }
  static void expectCondition(Value value, const std::string &whenTrue,
                              const std::string &whenFalse, bool likely) {
    std::optional<SizeCondition> condition = frontend::sizeCondition(value);
    ASSERT_TRUE(condition);
    EXPECT_EQ(text(condition->whenTrue), whenTrue);
    EXPECT_EQ(text(condition->whenFalse), whenFalse);
    EXPECT_EQ(condition->likely(), likely);
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::optional<frontend::ShapeFacts> facts;
  std::optional<frontend::GraphBuilder> build;
  Dim n;
  Value size, eight;
};

TEST_F(SizeConditions, Comparisons) {
  expectCondition(build->create<EqualOp>({size, eight}), "n = 8", "none", true);
  expectCondition(build->create<LessOp>({size, eight}), "n + 1 <= 8", "8 <= n", true);
  expectCondition(build->create<LessOp>({eight, size}), "9 <= n", "n <= 8", false);
  expectCondition(build->create<LessEqualOp>({size, eight}), "n <= 8", "9 <= n", true);
}

TEST_F(SizeConditions, ThroughWhatKeepsTheTruth) {
  Value isEight = build->create<EqualOp>({size, eight});
  expectCondition(build->unary<NotOp>(isEight), "none", "n = 8", false);
  expectCondition(build->reshape(isEight, {build->size(1)}), "n = 8", "none", true);
}

TEST_F(SizeConditions, ASizeIsTrueUnlessZero) {
  expectCondition(build->cast(size, IntegerType::get(&context, 1)), "1 <= n", "n = 0", true);
}

TEST_F(SizeConditions, NotOfValuesNorOfWhatIsKnown) {
  Value argument = function.getArgument(0);
  EXPECT_FALSE(frontend::sizeCondition(argument));
  EXPECT_FALSE(frontend::sizeCondition(build->create<EqualOp>({size, argument})));
  EXPECT_FALSE(frontend::sizeCondition(build->create<EqualOp>({size, size})));
  EXPECT_FALSE(
      frontend::sizeCondition(build->cast(build->dim(n - 3, tensorType(eight).getElementType()),
                                          IntegerType::get(&context, 1)))); // n - 3 may be negative
}

} // namespace
} // namespace smelt::test
