// Templates with named variables: blocks, indentation, and mistakes that end the process.
#include "codegen/printer.h"

#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

TEST(Printer, ReplacesVariablesWithinLines) {
  EXPECT_EQ(format("float $name$[$count$];\n", {{"name", "v"}, {"count", "8"}}), "float v[8];\n");
  EXPECT_EQ(format("$a$$a$", {{"a", "x"}}), "xx");
}

TEST(Printer, DropsTheFirstLineBreak) { EXPECT_EQ(format("\nint x;\n"), "int x;\n"); }

TEST(Printer, IndentsBlocksAndDropsEmptyOnes) {
  EXPECT_EQ(format("{\n  $body$\n  $nothing$\n}\n", {{"body", "a;\n\nb;\n"}, {"nothing", ""}}),
            "{\n  a;\n\n  b;\n}\n");
  EXPECT_EQ(format("  $last$", {{"last", "a;"}}), "  a;\n");
}

TEST(Printer, ValuesAreNotTemplates) { EXPECT_EQ(format("<$x$>", {{"x", "$y$"}}), "<$y$>"); }

TEST(PrinterDeathTest, EndsOnMistakes) {
  EXPECT_DEATH(format("$missing$", {}), "no value for the template's variable \\$missing\\$");
  EXPECT_DEATH(format("text", {{"unused", "x"}}), "does not use \\$unused\\$");
  EXPECT_DEATH(format("a $open", {{"open", "x"}}), "closing");
}

} // namespace
} // namespace smelt::codegen
