// tools/smelt/signature: shapes from flags, defaults, and the refusals.
#include "tools/smelt/signature.h"

#include <gtest/gtest.h>

using namespace smelt;
using namespace smelt::tools;

namespace {

using Shapes = std::vector<std::vector<int64_t>>;

Extent symbol(const char *name) { return {name, std::nullopt}; }
Extent number(int64_t value) { return {std::to_string(value), value}; }

Signature bertSignature() {
  Port ids{"input_ids", ElementType::i64, {symbol("batch"), symbol("seq")}, 30522};
  Port mask{"attention_mask", ElementType::i64, {symbol("batch"), symbol("seq")}, std::nullopt};
  Port bias{"bias", ElementType::f32, {symbol("batch"), number(12), symbol("2*seq")}, std::nullopt};
  return {{ids, mask, bias}, {}, {}, {}};
}

Result<Shapes> resolve(const Signature &signature, const std::vector<std::string> &flags) {
  SMELT_ASSIGN_OR_RETURN(NamedShapes shapes, parseShapes(flags));
  return resolveShapes(signature, shapes);
}

void expectRefused(const Result<Shapes> &result, const char *part) {
  ASSERT_FALSE(result.isOk());
  EXPECT_EQ(result.status().code(), StatusCode::kUsage);
  EXPECT_NE(result.status().message().find(part), std::string::npos) << result.status().message();
}

} // namespace

TEST(ParseShapes, ReadsNamesAndExtents) {
  Result<NamedShapes> shapes = parseShapes({"a=1x128", "b:0=7", "scalar=", "c=?x3"});
  ASSERT_TRUE(shapes.isOk());
  EXPECT_EQ((*shapes)["a"], (std::vector<int64_t>{1, 128}));
  EXPECT_EQ((*shapes)["b:0"], (std::vector<int64_t>{7}));
  EXPECT_TRUE((*shapes)["scalar"].empty());
  EXPECT_EQ((*shapes)["c"], (std::vector<int64_t>{-1, 3}));
}

TEST(ParseShapes, RefusesWhatIsNoShape) {
  for (const char *flag :
       {"a", "=1x2", "a=1x", "a=x1", "a=1x-2", "a=1,2", "a=99999999999999999999"})
    EXPECT_FALSE(parseShapes({flag}).isOk()) << flag;
  EXPECT_FALSE(parseShapes({"a=1", "a=1"}).isOk());
}

TEST(ResolveShapes, TakesSymbolsFromAnyInput) {
  Signature signature = bertSignature();
  signature.inputs.pop_back();
  Result<Shapes> shapes = resolve(signature, {"attention_mask=3x77"});
  ASSERT_TRUE(shapes.isOk()) << shapes.status().message();
  EXPECT_EQ(*shapes, (Shapes{{3, 77}, {3, 77}}));
}

TEST(ResolveShapes, DefaultsToBatchOneAndLength128) {
  Signature signature = bertSignature();
  signature.inputs.pop_back();
  Result<Shapes> shapes = resolve(signature, {});
  ASSERT_TRUE(shapes.isOk());
  EXPECT_EQ(*shapes, (Shapes{{1, 128}, {1, 128}}));
}

TEST(ResolveShapes, AsksForExpressions) {
  expectRefused(resolve(bertSignature(), {}), "--shape bias=");
  Result<Shapes> shapes = resolve(bertSignature(), {"input_ids=2x5", "bias=2x12x10"});
  ASSERT_TRUE(shapes.isOk()) << shapes.status().message();
  EXPECT_EQ(*shapes, (Shapes{{2, 5}, {2, 5}, {2, 12, 10}}));
}

TEST(ResolveShapes, RefusesWhatTheModelDoesNotTake) {
  expectRefused(resolve(bertSignature(), {"ids=1x2"}),
                "it has 'input_ids', 'attention_mask', 'bias'");
  expectRefused(resolve(bertSignature(), {"input_ids=1x2x3"}), "it has 2 dimensions");
  expectRefused(resolve(bertSignature(), {"bias=1x11x4"}), "dimension 1 must be 12");
  expectRefused(resolve(bertSignature(), {"input_ids=1x2", "attention_mask=1x3"}),
                "'seq' is 2 by another");
  expectRefused(resolve(bertSignature(), {"input_ids=0x2"}), "size 'batch' must be at least 1");
}

TEST(FindDifference, TakesWhatACompilationFixes) {
  Signature model = bertSignature();
  model.outputs = {{"logits", ElementType::f16, {symbol("batch"), number(2)}, std::nullopt}};
  Signature plan = model;
  EXPECT_EQ(findDifference(model, plan), "");
  plan.inputs[0].shape = {number(8), symbol("batch*seq")};
  EXPECT_EQ(findDifference(model, plan), "");
}

TEST(FindDifference, NamesTheFirstThatDiffers) {
  Signature model = bertSignature();
  model.outputs = {{"logits", ElementType::f16, {symbol("batch"), number(2)}, std::nullopt}};
  auto expectFound = [&](auto change, const char *part) {
    Signature plan = model;
    change(plan);
    std::string found = findDifference(model, plan);
    EXPECT_NE(found.find(part), std::string::npos) << found;
  };
  expectFound([](Signature &plan) { plan.inputs.pop_back(); }, "has 2 inputs, the model has 3");
  expectFound([](Signature &plan) { plan.outputs.clear(); }, "has 0 outputs, the model has 1");
  expectFound([](Signature &plan) { plan.inputs[1].name = "mask"; }, "input 1 is 'mask'");
  expectFound([](Signature &plan) { plan.outputs[0].type = ElementType::f32; },
              "output 0 is 'logits' (float32 [batch, 2])");
  expectFound([](Signature &plan) { plan.inputs[0].shape.pop_back(); }, "int64 [batch]");
  expectFound([](Signature &plan) { plan.inputs[2].shape[1] = number(16); }, "[batch, 16, 2*seq]");
}
