// Positions through views: results and operands are each other's inverse, and what is affine is
// told from what is not. tests/codegen/iteration_space_test.cpp follows random chains of views.
#include "ir/view_index.h"

#include "mlir/IR/Builders.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace smelt::test {
namespace {

class ViewIndexTest : public ::testing::Test {
protected:
  ViewIndexTest() : builder(&context) { context.loadDialect<SmeltDialect>(); }

  Dim number(int64_t value) { return Dim::constant(&context, value); }
  Dim symbol(StringRef name) { return Dim::symbol(&context, name); }

  /// An input of `shape` for views to read.
  Value input(ArrayRef<Dim> shape) {
    return block.addArgument(TensorType::get(shape, builder.getF32Type()), location());
  }
  Location location() { return UnknownLoc::get(&context); }

  MLIRContext context;
  OpBuilder builder;
  Block block;
};

TEST_F(ViewIndexTest, OperandsAndResultsAreInverse) {
  builder.setInsertionPointToEnd(&block);
  SmallVector<Dim> shape{symbol("b"), symbol("s"), number(768)};
  auto split =
      TensorType::get({symbol("b"), symbol("s"), number(12), number(64)}, builder.getF32Type());
  Value heads = ReshapeOp::create(builder, location(), split, input(shape));
  Value swapped = TransposeOp::create(builder, location(), heads, ArrayRef<int64_t>{0, 2, 1, 3});
  Bounds bounds{{"%b", symbol("b")}, {"%h", number(12)}, {"%s", symbol("s")}, {"%d", number(64)}};
  Index position{symbol("%b"), symbol("%h"), symbol("%s"), symbol("%d")};

  Index inHeads = operandIndex(swapped.getDefiningOp(), position, bounds);
  Index inInput = operandIndex(heads.getDefiningOp(), inHeads, bounds);
  EXPECT_EQ(
      linearize(inInput, shape, &context).toString(),
      linearize({symbol("%b"), symbol("%s"), symbol("%h") * 64 + symbol("%d")}, shape, &context)
          .toString());
  EXPECT_EQ(resultIndex(heads.getDefiningOp(), inInput, bounds), inHeads);
  EXPECT_EQ(resultIndex(swapped.getDefiningOp(), inHeads, bounds), position);
}

TEST_F(ViewIndexTest, WindowsAreAffine) {
  builder.setInsertionPointToEnd(&block);
  Value image = input({symbol("b"), number(9), number(5)});
  auto type = TensorType::get({symbol("b"), number(3), number(2), number(5)}, builder.getF32Type());
  Value windows = WindowsOp::create(builder, location(), type, image, 1, /*stride=*/3,
                                    /*dilation=*/2);
  Index position{symbol("%b"), symbol("%w"), symbol("%k"), symbol("%c")};
  EXPECT_EQ(operandIndex(windows.getDefiningOp(), position, {}),
            (Index{symbol("%b"), symbol("%w") * 3 + symbol("%k") * 2, symbol("%c")}));
  EXPECT_EQ(resultIndex(windows.getDefiningOp(), position, {}), std::nullopt);
}

TEST_F(ViewIndexTest, SlicesHaveNoPositionForEveryElementOfTheirOperand) {
  builder.setInsertionPointToEnd(&block);
  Value whole = input({number(8)});
  Value slice =
      SliceOp::create(builder, location(), tensorType(whole).withShape({number(3)}), whole,
                      builder.getArrayAttr({number(6).getAttribute()}), ArrayRef<int64_t>{-2});
  Index position{symbol("%i")};
  EXPECT_EQ(operandIndex(slice.getDefiningOp(), position, {})[0], number(6) - symbol("%i") * 2);
  EXPECT_EQ(resultIndex(slice.getDefiningOp(), position, {}), std::nullopt);
}

TEST_F(ViewIndexTest, LinearFactors) {
  Dim i = symbol("%i"), j = symbol("%j"), seq = symbol("seq");
  EXPECT_EQ(linearFactor(i * seq * 4 + i + j * 3, "%i"), seq * 4 + 1);
  EXPECT_EQ(linearFactor(j * 3, "%i"), number(0));
  EXPECT_EQ(linearFactor(i * i, "%i"), std::nullopt);
  EXPECT_EQ(linearFactor(i.floorDiv(number(7)) + i, "%i"), std::nullopt);
  // The two halves of one division are affine again; swapped halves are not.
  EXPECT_EQ(linearFactor(i.floorDiv(number(7)) * 7 + i.mod(number(7)), "%i"), number(1));
  EXPECT_EQ(linearFactor(i.floorDiv(number(7)) + i.mod(number(7)) * 7, "%i"), std::nullopt);
}

} // namespace
} // namespace smelt::test
