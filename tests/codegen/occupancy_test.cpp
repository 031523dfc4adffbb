// Blocks on a multiprocessor: known cases, by hand from the limits of the CUDA programming guide.
#include "codegen/occupancy.h"

#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

Occupancy on(const char *arch, BlockNeeds needs) {
  return occupancyOf(needs, *Target::named(arch));
}

TEST(Occupancy, OfThreads) {
  Occupancy hopper = on("sm_90a", {.threads = 256, .registers = 32});
  EXPECT_EQ(hopper.blocks, 8u);
  EXPECT_EQ(hopper.threads, 1);
  EXPECT_EQ(hopper.limitedBy,
            "registers, threads"); // 65536 registers are 32 for each of 2048 threads
  Occupancy ampere = on("sm_86", {.threads = 1024, .registers = 20}); // 1536 threads
  EXPECT_EQ(ampere.blocks, 1u);
  EXPECT_EQ(ampere.limitedBy, "threads");
  EXPECT_NEAR(ampere.threads, 2. / 3, 1e-9);
}

TEST(Occupancy, OfRegisters) {
  // A warp takes 168 * 32 = 5376 registers, a quarter of the multiprocessor has 16384: 3 warps each.
  Occupancy three = on("sm_90a", {.threads = 128, .registers = 168});
  EXPECT_EQ(three.blocks, 3u);
  EXPECT_EQ(three.limitedBy, "registers");
  EXPECT_EQ(three.threads, 384. / 2048);
  EXPECT_EQ(on("sm_90a", {.threads = 384, .registers = 168}).blocks, 1u);
  // Registers are handed out to a warp by 256: 33 a thread are 1280 instead of 1056, 12 warps a quarter.
  EXPECT_EQ(on("sm_80", {.threads = 128, .registers = 33}).blocks, 12u);
  // Blocks of one warp lie in any quarter.
  EXPECT_EQ(on("sm_90a", {.threads = 32, .registers = 128}).blocks, 16u);
  EXPECT_EQ(on("sm_90a", {.threads = 1024, .registers = 128}).blocks, 0u);
}

TEST(Occupancy, OfSharedMemory) {
  // 228 KiB, of which each block has 1 KiB more than it asks for.
  Occupancy two = on("sm_90a", {.threads = 128, .registers = 64, .dynamicSharedBytes = 113 << 10});
  EXPECT_EQ(two.blocks, 2u);
  EXPECT_EQ(two.limitedBy, "shared memory");
  EXPECT_EQ(
      on("sm_90a", {.threads = 128, .registers = 64, .dynamicSharedBytes = (113 << 10) + 1}).blocks,
      1u);
  BlockNeeds split{.threads = 128,
                   .registers = 64,
                   .staticSharedBytes = 13 << 10,
                   .dynamicSharedBytes = 100 << 10};
  EXPECT_EQ(on("sm_90a", split).blocks, 2u);
  EXPECT_EQ(on("sm_120", split).blocks, 0u); // 99 KiB for a block
}

TEST(Occupancy, OfBlocks) {
  EXPECT_EQ(on("sm_90a", {.threads = 32, .registers = 16}).limitedBy, "blocks");
  EXPECT_EQ(on("sm_90a", {.threads = 32, .registers = 16}).blocks, 32u);
  EXPECT_EQ(on("sm_86", {.threads = 32, .registers = 16}).blocks, 16u);
  EXPECT_EQ(on("sm_90a", {.threads = 1056, .registers = 16}).blocks, 0u);
  EXPECT_EQ(on("sm_90a", {.threads = 0, .registers = 16}).blocks, 0u);
}

TEST(Occupancy, EveryArchitectureIsKnown) {
  for (const char *arch :
       {"sm_80", "sm_86", "sm_87", "sm_89", "sm_90a", "sm_100", "sm_103", "sm_120"})
    EXPECT_EQ(on(arch, {.threads = 512, .registers = 64}).blocks, 2u) << arch;
}

} // namespace
} // namespace smelt::codegen
