#include "codegen/equal_fusions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace smelt;
using codegen::EqualFusions;

namespace {

class EqualFusionsTest : public testing::Test {
protected:
  EqualFusionsTest() { context.loadDialect<SmeltDialect, func::FuncDialect>(); }

  /// Which earlier fusion each fusion of the function equals; itself where none.
  std::vector<size_t> partners(const std::string &body) {
    module = parseSourceString<ModuleOp>(
        "func.func @main(%x: !smelt.tensor<[n], f32>, %y: !smelt.tensor<[n], f32>, "
        "%z: !smelt.tensor<[4], f32>) -> !smelt.tensor<[n], f32> {\n" +
            body + "\nreturn %x : !smelt.tensor<[n], f32>\n}",
        &context);
    std::vector<size_t> found;
    if (!module)
      return found;
    EqualFusions fusions;
    module->walk([&](FusionOp fusion) {
      size_t own = found.size();
      found.push_back(fusions.find(fusion).value_or(own));
      if (found.back() == own)
        fusions.add(fusion, own);
    });
    return found;
  }

  /// op(%a) + 1, as a fusion of `operand`.
  static std::string fusion(const std::string &op, const std::string &operand,
                            const std::string &type = "!smelt.tensor<[n], f32>",
                            const std::string &location = "a") {
    return "%r" + std::to_string(count++) + " = smelt.fusion pointwise(" + operand + ") : (" +
           type + ") -> " + type + " {\n^bb0(%a: " + type + "):\n%c = smelt." + op +
           " %a : " + type.substr(std::string("!smelt.tensor").size()) + " loc(\"" + location +
           "\")\nsmelt.yield %c : " + type + "\n}\n";
  }

  static inline int count = 0;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

using Partners = std::vector<size_t>;

TEST_F(EqualFusionsTest, InputsAndNodesMayDiffer) {
  EXPECT_EQ(partners(fusion("exp", "%x") + fusion("tanh", "%x") + fusion("exp", "%y") +
                     fusion("tanh", "%y", "!smelt.tensor<[n], f32>", "b")),
            (Partners{0, 1, 0, 1}));
}

TEST_F(EqualFusionsTest, TypesAndAttributesMayNot) {
  EXPECT_EQ(partners(fusion("exp", "%x") + fusion("exp", "%z", "!smelt.tensor<[4], f32>")),
            (Partners{0, 1}));
  auto slice = [](const char *name, const char *start) {
    return std::string("%") + name +
           " = smelt.fusion pointwise(%z) : (!smelt.tensor<[4], f32>) -> " +
           "!smelt.tensor<[2], f32> {\n^bb0(%a: !smelt.tensor<[4], f32>):\n" +
           "%c = smelt.slice %a starts [#smelt.dim<" + start +
           ">] steps [1] : <[4], f32> -> <[2], f32>\n" +
           "smelt.yield %c : !smelt.tensor<[2], f32>\n}\n";
  };
  EXPECT_EQ(partners(slice("s0", "0") + slice("s1", "1") + slice("s2", "0")), (Partners{0, 1, 0}));
}

/// Weights are read through another cache, and before earlier kernels have ended.
TEST_F(EqualFusionsTest, WeightsAreNoActivations) {
  std::string weight = "%w = smelt.weight \"w\" <\"w.bin\", 0, 16, \"\"> : <[4], f32>\n";
  EXPECT_EQ(partners(weight + fusion("exp", "%z", "!smelt.tensor<[4], f32>") +
                     fusion("exp", "%w", "!smelt.tensor<[4], f32>")),
            (Partners{0, 1}));
}

TEST_F(EqualFusionsTest, TheFlowOfDataCounts) {
  auto difference = [](const char *name, const char *operands) {
    return std::string("%") + name +
           " = smelt.fusion pointwise(%x, %y) : (!smelt.tensor<[n], f32>, " +
           "!smelt.tensor<[n], f32>) -> !smelt.tensor<[n], f32> {\n" +
           "^bb0(%a: !smelt.tensor<[n], f32>, %b: !smelt.tensor<[n], f32>):\n" + "%c = smelt.sub " +
           operands + " : <[n], f32>, <[n], f32> -> <[n], f32>\n" +
           "smelt.yield %c : !smelt.tensor<[n], f32>\n}\n";
  };
  EXPECT_EQ(partners(difference("d0", "%a, %b") + difference("d1", "%b, %a")), (Partners{0, 1}));
}

} // namespace
