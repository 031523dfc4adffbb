// What merges of products save, by numbers worked out by hand.
#include "passes/fuse/merge_cost.h"

#include <gtest/gtest.h>

using namespace smelt;
using namespace smelt::passes;

namespace {

// x [100, 10] in f16, weights of 20 and 30 columns.
const SharedProduct kTwo{100, 10, 2, {{20}, {30}}};

TEST(MergeCost, ApartEachProductReadsItsRowsAndStoresItsColumns) {
  // (1000 + 200 + 2000) + (1000 + 300 + 3000) elements of two bytes
  EXPECT_EQ(kTwo.apart().launches, 2);
  EXPECT_EQ(kTwo.apart().bytes, 2 * (3200 + 4300));
}

TEST(MergeCost, SideBySideReadsRowsOnce) {
  KernelCost saved = kTwo.apart() - kTwo.sideBySide();
  EXPECT_EQ(saved.launches, 1);
  EXPECT_EQ(saved.bytes, 2 * 1000);
  EXPECT_GT(saved.microseconds(), kMicrosecondsPerLaunch);
}

TEST(MergeCost, PartsThatAreNeededAsTensorsAreCopied) {
  SharedProduct shape = kTwo;
  shape.branches[1].isMaterialized = true;
  KernelCost saved = shape.apart() - shape.sideBySide();
  EXPECT_EQ(saved.launches, 0);
  EXPECT_EQ(saved.bytes, 2 * (1000 - 2 * 3000));
  EXPECT_LT(saved.microseconds(), 0);
}

TEST(MergeCost, ManyRowsToReadOutweighOneNarrowCopy) {
  // 20 products of a wide x: reading it once saves more than copying four columns out costs.
  SharedProduct shape{1000, 4096, 2, llvm::SmallVector<BranchShape>(20, BranchShape{64})};
  shape.branches.push_back({4, true});
  EXPECT_GT((shape.apart() - shape.sideBySide()).microseconds(), 0);
}

TEST(MergeCost, APairStoresOneResult) {
  // A gated MLP, N = 20 columns: merged side by side it stores 2 N, loads 2 N, stores N. Chained,
  // products store N, load N, store N. Combined they store N.
  SharedProduct shape{100, 10, 2, {{20}, {20}}};
  int64_t inputs = 1000 + 2 * 200, stored = 2000;
  EXPECT_EQ(shape.combined().bytes, 2 * (inputs + stored));
  EXPECT_EQ(shape.combined().launches, 1);
  EXPECT_EQ(shape.chained().bytes, 2 * (inputs + 1000 + 3 * stored));
  EXPECT_EQ(shape.chained().launches, 2);
}

TEST(MergeCost, TimeIsLaunchesAndBytes) {
  KernelCost cost{2, 8500000};
  EXPECT_DOUBLE_EQ(cost.microseconds(), 2 * 0.8 + 2.0);
  EXPECT_EQ(describeSaving(cost), "saves 2 launches and 8500.0 KB (3.6 us at typical sizes)");
}

TEST(MergeCost, SymbolsHaveATypicalSize) {
  mlir::MLIRContext context;
  context.loadDialect<SmeltDialect>();
  Dim batch = Dim::symbol(&context, "batch"), sequence = Dim::symbol(&context, "sequence");
  EXPECT_EQ(typicalSize(batch * sequence * 3), 16 * 16 * 3);
  EXPECT_EQ(typicalSize(Dim::constant(&context, 7)), 7);
}

} // namespace
