// Which shared memory spreads a kernel's blocks, against blocks that are placed one by one.
#include "runtime/block_placement.h"

#include "tests/runtime/fake_model.h"

#include <gtest/gtest.h>

#include <random>

namespace smelt::runtime {
namespace {

constexpr Multiprocessors kHopper{132, 228 * 1024, 1024};

/// The policy word by word: each block where most further ones fit, of equals where fewest of its kernel are.
BlockPlacement placedOneByOne(KernelBlocks before, KernelBlocks blocks) {
  struct Multiprocessor {
    int64_t room;
    uint64_t placed = 0;
  };
  auto taken = [](uint32_t bytes) { return int64_t(bytes + 127) / 128 * 128 + 1024; };
  std::vector<Multiprocessor> all;
  for (uint64_t i = 0; i < 132; ++i) {
    int64_t others = int64_t(before.count / 132 + (i < before.count % 132 ? 1 : 0));
    all.push_back({std::max<int64_t>(0, 228 * 1024 - others * taken(before.sharedBytes)) /
                   taken(blocks.sharedBytes)});
  }
  BlockPlacement result;
  for (result.late = blocks.count; result.late > 0; --result.late) {
    Multiprocessor &next = *std::max_element(all.begin(), all.end(), [](auto &a, auto &b) {
      return std::pair(a.room, -int64_t(a.placed)) < std::pair(b.room, -int64_t(b.placed));
    });
    if (next.room == 0)
      break;
    --next.room;
    result.most = std::max(result.most, ++next.placed);
  }
  return result;
}

TEST(BlockPlacement, IsThatOfBlocksOneByOne) {
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    KernelBlocks before = {random() % 500, uint32_t(random() % 232448)},
                 blocks = {1 + random() % 500, uint32_t(8192 + random() % 224256)};
    BlockPlacement found = placeBlocks(kHopper, before, blocks),
                   expected = placedOneByOne(before, blocks);
    ASSERT_EQ(found.most, expected.most) << before.count << " " << before.sharedBytes << " "
                                         << blocks.count << " " << blocks.sharedBytes;
    ASSERT_EQ(found.late, expected.late);
  }
}

TEST(BlockPlacement, SpreadsBlocksBehindOnesThatFillMultiprocessors) {
  // BERT at 1x128: the second product of an MLP behind the first, attention behind Q, K and V.
  EXPECT_EQ(placeBlocks(kHopper, {96, 216288}, {96, 100864}).most, 2u);
  EXPECT_EQ(spreadingBytes(kHopper, {96, 216288}, {96, 100864}), 115840u);
  EXPECT_EQ(placeBlocks(kHopper, {96, 216288}, {96, 115840}).most, 1u);
  EXPECT_EQ(spreadingBytes(kHopper, {72, 216288}, {96, 67584}), 115840u);
}

TEST(BlockPlacement, LetsBlocksStartBesideThoseOfTheKernelBefore) {
  // ResNet-50: of a multiprocessor each, 124 would wait.
  uint32_t bytes = spreadingBytes(kHopper, {128, 83968}, {128, 73728});
  EXPECT_EQ(bytes, 76928u);
  EXPECT_EQ(placeBlocks(kHopper, {128, 83968}, {128, bytes}).late, 0u);
}

TEST(BlockPlacement, LeavesAloneWhatLiesWell) {
  EXPECT_EQ(spreadingBytes(kHopper, {0, 0}, {96, 100864}), 100864u);       // nothing before it
  EXPECT_EQ(spreadingBytes(kHopper, {96, 216288}, {32, 100864}), 100864u); // enough are free
  EXPECT_EQ(spreadingBytes(kHopper, {96, 216288}, {1000, 49152}), 49152u); // enough for all
  EXPECT_EQ(spreadingBytes(kHopper, {96, 216288}, {96, 2048}), 2048u);     // light
  EXPECT_EQ(spreadingBytes(kHopper, {96, 216288}, {0, 100864}), 100864u);
}

TEST(BlockPlacement, NeverLiesWorseAndStaysWithinWhatIsGranted) {
  std::mt19937 random(8);
  int raised = 0;
  for (int i = 0; i < 3000; ++i) {
    KernelBlocks before = {random() % 500, uint32_t(random() % 232448)},
                 blocks = {1 + random() % 500, uint32_t(random() % 232448)};
    uint32_t bytes = spreadingBytes(kHopper, before, blocks);
    ASSERT_GE(bytes, blocks.sharedBytes);
    if (bytes == blocks.sharedBytes)
      continue;
    ++raised;
    ASSERT_LE(bytes, mostSpreadingBytes(kHopper));
    ASSERT_LT(placeBlocks(kHopper, before, {blocks.count, bytes}).most,
              placeBlocks(kHopper, before, blocks).most);
  }
  EXPECT_GT(raised, 100);
}

} // namespace
} // namespace smelt::runtime
