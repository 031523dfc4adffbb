#include "ir/parse_text.h"

#include "ir/dialect.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace smelt {
namespace {

std::string repeat(StringRef piece, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += piece;
  return text;
}

class ParseText : public testing::Test {
protected:
  ParseText() { context.loadDialect<SmeltDialect, func::FuncDialect>(); }

  /// "": the text is read.
  std::string errorOf(StringRef text) {
    std::string error;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      error += diagnostic.str();
      return success();
    });
    OwningOpRef<ModuleOp> module = parseText(text, &context);
    EXPECT_EQ(bool(module), error.empty());
    return error;
  }
  /// Of a module with an attribute.
  std::string errorWith(StringRef attribute) {
    return errorOf(("module attributes {func.a = " + attribute + "} {}").str());
  }
  static bool isTooDeep(StringRef error) { return error.contains("nest more than 256 deep"); }

  MLIRContext context;
};

/// What is written before and behind something to put it one level down.
struct Level {
  const char *before, *behind;
};
constexpr Level kAttributes[] = {
    {"[", "]"},       {"{a = ", "}"},          {"tuple<", ">"},
    {"() -> (", ")"}, {"[{a = tuple<", ">}]"}, {"!smelt.tensor<[min(", ", 1)], f32>"}};

TEST_F(ParseText, RefusesDeepBracketsBeforeTheParserMeetsThem) {
  for (const Level &level : kAttributes) {
    std::string error =
        errorWith(repeat(level.before, 100000) + "i1" + repeat(level.behind, 100000));
    EXPECT_TRUE(isTooDeep(error)) << level.before << ": " << error;
  }
  EXPECT_TRUE(isTooDeep(errorOf(repeat("module {\n", 100000) + repeat("}", 100000))));
  EXPECT_TRUE(isTooDeep(errorOf(repeat("\"builtin.module\"() ({\n", 100000))));
  EXPECT_TRUE(isTooDeep(errorOf("module {} loc(" + repeat("callsite(", 100000))));
}

TEST_F(ParseText, TheLimitIsWhatItSays) {
  auto array = [](size_t depth) { return repeat("[", depth) + repeat("]", depth); };
  EXPECT_EQ(errorWith(array(kMaxTextDepth - 1)), ""); // in the module's dictionary
  EXPECT_EQ(errorWith(array(kMaxTextDepth)),
            "line 1: brackets nest more than 256 deep, which no text that smelt writes does; "
            "compile the model again");
  EXPECT_TRUE(isTooDeep(errorOf("\n\n" + array(300)))) << "no module either";
  EXPECT_TRUE(StringRef(errorOf("\n\n" + array(300))).starts_with("line 3: "));
}

TEST_F(ParseText, CountsBracketsThatAreOpenAlone) {
  EXPECT_EQ(errorWith("[" + repeat("[{a = tuple<i1, () -> i1>}], ", 1000) + "1]"), "");
  EXPECT_EQ(errorWith("\"" + repeat("([{<", 1000) + "\\\"" + repeat("[", 1000) + "\""), "");
  EXPECT_EQ(errorOf("// " + repeat("[", 1000) + "\nmodule {} // " + repeat("{", 1000)), "");
}

TEST_F(ParseText, ClosersOfNothingDoNotHideDepth) {
  for (const char *closers : {">", ")", "}", "->", ">>>"})
    EXPECT_NE(errorWith(repeat(("[" + std::string(closers)).c_str(), 100000)), "") << closers;
}

TEST_F(ParseText, RefusesAliasesAndAffineMaps) {
  EXPECT_EQ(errorOf("#a0 = []\nmodule {}"),
            "line 1: '#a0' is an alias, of which smelt writes and reads none; smelt-opt leaves "
            "them out with --mlir-print-local-scope");
  for (const char *alias : {"!a = i1", "#0 = []", "#a-b$c.d = []", "#a // [\n  = []", "#a\t=[]"}) {
    std::string error = errorOf(std::string(alias) + "\nmodule {}");
    EXPECT_TRUE(StringRef(error).contains("is an alias")) << alias << ": " << error;
  }
  EXPECT_TRUE(StringRef(errorWith("affine_map<(d0) -> (" + repeat("-", 100000) + "d0)>"))
                  .contains("affine_map is in no text"));
  EXPECT_TRUE(StringRef(errorWith("affine_set<(d0) : (d0 >= 0)>")).contains("affine_set is in no"));
  EXPECT_EQ(errorWith("\"#a = affine_map\""), "");
}

TEST_F(ParseText, RefusesBytecode) {
  OwningOpRef<ModuleOp> module = parseText("module {}", &context);
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  ASSERT_TRUE(succeeded(writeBytecodeToFile(*module, stream)));
  EXPECT_TRUE(StringRef(errorOf(stream.str())).contains("is MLIR's bytecode"));
}

TEST_F(ParseText, SaysWhatTheParserSays) {
  EXPECT_TRUE(StringRef(errorOf("module {")).contains("expected"));
  EXPECT_NE(errorOf("\"no end"), "");
  EXPECT_NE(errorOf("module {} \"\\"), "");
  EXPECT_EQ(errorOf(""), "");
}

} // namespace
} // namespace smelt
