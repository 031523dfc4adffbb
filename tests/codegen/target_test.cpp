// Architectures: their names, and that what is selected for each fits its multiprocessors.
#include "codegen/target.h"

#include "codegen/kernel.h"
#include "codegen/kernels/gemm/gemm_choice.h"
#include "runtime/verify_metadata.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

std::vector<Target> allTargets() {
  std::vector<Target> targets;
  llvm::SmallVector<llvm::StringRef> names;
  std::string joined = Target::names();
  llvm::StringRef(joined).split(names, ", ");
  for (llvm::StringRef name : names)
    targets.push_back(*Target::named(name));
  return targets;
}

TEST(Target, IsFoundByItsName) {
  ASSERT_EQ(allTargets().size(), 9u);
  for (const Target &target : allTargets()) {
    Result<Architecture> parsed = parseArchitecture(target.arch);
    ASSERT_TRUE(parsed.isOk()) << target.arch;
    EXPECT_EQ(parsed->number, target.capability);
    EXPECT_EQ(parsed->specific, target.instructions.wgmma) << target.arch;
    EXPECT_EQ(parsed->isPtx, Target::isPtx(target.arch)) << target.arch;
  }
  EXPECT_TRUE(mlir::succeeded(Target::named(kDefaultArchitecture)));
  EXPECT_TRUE(mlir::failed(Target::named("sm_75")));
}

TEST(Target, SuitsItsOwnGpuAndLaterOnesOfTheGeneration) {
  EXPECT_STREQ(Target::forCapability(80)->arch, "sm_80");
  EXPECT_STREQ(Target::forCapability(86)->arch, "sm_86");
  EXPECT_STREQ(Target::forCapability(88)->arch, "sm_87");
  EXPECT_STREQ(Target::forCapability(90)->arch, "sm_90a");
  EXPECT_STREQ(Target::forCapability(121)->arch, "sm_120");
  EXPECT_TRUE(mlir::failed(Target::forCapability(75)));
  EXPECT_STREQ(Target::forCapability(110)->arch, "compute_80"); // sm_103 is of another generation
  EXPECT_STREQ(Target::forCapability(130)->arch, "compute_80");
}

/// Some resident blocks' worth of what a multiprocessor has, no block more than a multiprocessor.
TEST(Target, LimitsAgreeWithEachOther) {
  for (const Target &target : allTargets()) {
    EXPECT_EQ(target.limits.sharedBytesPerMultiprocessor - target.limits.sharedBytesPerBlock, 1024)
        << target.arch; // what the driver keeps of every block
    EXPECT_EQ(target.limits.threadsPerMultiprocessor % 512, 0) << target.arch;
    EXPECT_TRUE(!target.instructions.wgmma || target.instructions.tensorMaps) << target.arch;
    EXPECT_GT(target.rate(plan::Arithmetic::half), target.rate(plan::Arithmetic::float32))
        << target.arch;
    EXPECT_GE(target.rate(plan::Arithmetic::half), target.rate(plan::Arithmetic::tf32))
        << target.arch;
  }
}

/// What is compiled once for GPUs that nobody knows yet must fit the smallest.
TEST(Target, PtxStaysWithinWhatEveryGpuHas) {
  Target ptx = *Target::named("compute_80");
  for (const Target &target : allTargets()) {
    EXPECT_LE(ptx.limits.sharedBytesPerBlock, target.limits.sharedBytesPerBlock) << target.arch;
    EXPECT_LE(ptx.limits.threadsPerMultiprocessor, target.limits.threadsPerMultiprocessor)
        << target.arch;
  }
  EXPECT_FALSE(ptx.instructions.programmaticLaunch || ptx.instructions.clusters ||
               ptx.instructions.tensorMaps || ptx.instructions.wgmma || ptx.instructions.float8);
}

TEST(Target, TilingsFitBesideTheEpilogue) {
  for (const Target &target : allTargets())
    for (GemmPrecision precision :
         {GemmPrecision::halfWidth, GemmPrecision::tf32, GemmPrecision::float32})
      for (int sharedBytesPerRow : {0, 8, 64})
        for (int64_t m : {1, 77, 512, 8192}) {
          std::vector<GemmChoice> ranked =
              rankGemmTilings({m, 768, 768, 1, sharedBytesPerRow}, precision, target);
          ASSERT_FALSE(ranked.empty()) << target.arch;
          for (const GemmChoice &choice : ranked) {
            EXPECT_LE(choice.allSharedBytes(sharedBytesPerRow), target.limits.sharedBytesPerBlock)
                << target.arch << " " << choice.name;
            EXPECT_TRUE(choice.clusterK == 1 || target.instructions.clusters) << target.arch;
            EXPECT_TRUE(choice.header != "gemm_wgmma" || target.instructions.wgmma) << target.arch;
          }
        }
}

} // namespace
} // namespace smelt::codegen
