// What two texts may differ in and still be one kernel.
#include "codegen/kernel_text.h"

#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

TEST(CanonicalText, LeavesOutCommentsAndEmptyLines) {
  EXPECT_EQ(canonicalText("// gemm (node_1)\n\nint x; // [batch, seq]\n"), "int x;\n");
}

TEST(CanonicalText, NumbersSizesAsTheyOccur) {
  EXPECT_EQ(canonicalText("int size_seq;\nint size_batch;\nx = p.size_batch * size_seq;\n"),
            "int size_0;\nint size_1;\nx = p.size_1 * size_0;\n");
  EXPECT_EQ(canonicalText("int size_a;\nint size_b;\nx = size_a;\n"),
            canonicalText("int size_tokens;\nint size_a;\nx = size_tokens;\n"));
}

TEST(CanonicalText, KeepsWhichSizeIsWhich) {
  EXPECT_NE(canonicalText("f(int size_a, int size_b) { return size_a; }\n"),
            canonicalText("f(int size_a, int size_b) { return size_b; }\n"));
  EXPECT_NE(canonicalText("size_a + size_b\n"), canonicalText("size_a + size_a\n"));
  // Names that are already those of numbered sizes.
  EXPECT_NE(canonicalText("size_1 + size_0 + size_0\n"),
            canonicalText("size_a + size_b + size_a\n"));
  EXPECT_NE(canonicalText("size0 + size_a\n"), canonicalText("size_a + size_a\n"));
}

TEST(CanonicalText, LeavesOtherNamesAlone) {
  const char *text = "size_t resize_x = my_size_a + kernel_size;\n";
  EXPECT_EQ(canonicalText(text), text);
}

} // namespace
} // namespace smelt::codegen
