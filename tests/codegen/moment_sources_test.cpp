// codegen/kernels/gemm/moment_sources.h: tensors of moments are told apart by where they are and by how they scale a row.
#include "codegen/kernels/gemm/moment_sources.h"

#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

TEST(MomentSources, MeanAndScaleOfOneTensorAreOneSource) {
  MomentSources sources;
  EXPECT_EQ(sources.mean("in2 + m * 48", 24), "rows[0].mean");
  EXPECT_EQ(sources.scale("in2 + m * 48", 24, "rsqrt(row.variance)"), "rows[0].scale");
  EXPECT_EQ(sources.mean("in2 + m * 48", 24), "rows[0].mean");
  EXPECT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources.moments(), "if constexpr (I == 0)\n  return in2 + m * 48;\nreturn nullptr;\n");
  EXPECT_EQ(sources.momentGroups(), "if constexpr (I == 0)\n  return 24;\nreturn 0;\n");
  EXPECT_EQ(sources.rowScales(),
            "if constexpr (I == 0)\n  return rsqrt(row.variance);\nreturn 1;\n");
}

/// As two norms of one tensor with epsilons of their own.
TEST(MomentSources, TwoScalesOfOneTensorAreTwoSources) {
  MomentSources sources;
  EXPECT_EQ(sources.scale("in2", 8, "rsqrt(row.variance + 1e-5f)"), "rows[0].scale");
  EXPECT_EQ(sources.scale("in2", 8, "rsqrt(row.variance + 1e-6f)"), "rows[1].scale");
  EXPECT_EQ(sources.scale("in2", 8, "rsqrt(row.variance + 1e-5f)"), "rows[0].scale");
  EXPECT_EQ(sources.mean("in2", 8), "rows[0].mean");
  EXPECT_EQ(sources.size(), 2u);
}

TEST(MomentSources, ATensorOfWhichTheMeanAloneIsReadScalesByOne) {
  MomentSources sources;
  EXPECT_EQ(sources.scale("in2", 8, "rsqrt(row.variance)"), "rows[0].scale");
  EXPECT_EQ(sources.mean("in5", 4), "rows[1].mean");
  EXPECT_EQ(sources.rowScales(), "if constexpr (I == 0)\n  return rsqrt(row.variance);\n"
                                 "if constexpr (I == 1)\n  return 1;\nreturn 1;\n");
}

} // namespace
} // namespace smelt::codegen
