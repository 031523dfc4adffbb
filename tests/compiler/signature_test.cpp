// compiler/signature: the shapes of a run, defaults, and the refusals.
#include "compiler/signature.h"

#include <gtest/gtest.h>

using namespace smelt;
using namespace smelt::compiler;

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

void expectRefused(const Result<Shapes> &result, const char *part) {
  ASSERT_FALSE(result.isOk());
  EXPECT_EQ(result.status().code(), StatusCode::kUsage);
  EXPECT_NE(result.status().message().find(part), std::string::npos) << result.status().message();
}

} // namespace

TEST(ResolveShapes, TakesSymbolsFromAnyInput) {
  Signature signature = bertSignature();
  signature.inputs.pop_back();
  Result<Shapes> shapes = resolveShapes(signature, {{"attention_mask", {3, 77}}});
  ASSERT_TRUE(shapes.isOk()) << shapes.status().message();
  EXPECT_EQ(*shapes, (Shapes{{3, 77}, {3, 77}}));
}

TEST(ResolveShapes, DefaultsToBatchOneAndLength128) {
  Signature signature = bertSignature();
  signature.inputs.pop_back();
  Result<Shapes> shapes = resolveShapes(signature, {});
  ASSERT_TRUE(shapes.isOk());
  EXPECT_EQ(*shapes, (Shapes{{1, 128}, {1, 128}}));
}

TEST(ResolveShapes, AsksForExpressions) {
  expectRefused(resolveShapes(bertSignature(), {}), "give the input a shape");
  Result<Shapes> shapes =
      resolveShapes(bertSignature(), {{"input_ids", {2, 5}}, {"bias", {2, 12, 10}}});
  ASSERT_TRUE(shapes.isOk()) << shapes.status().message();
  EXPECT_EQ(*shapes, (Shapes{{2, 5}, {2, 5}, {2, 12, 10}}));
}

TEST(ResolveShapes, RefusesWhatTheModelDoesNotTake) {
  expectRefused(resolveShapes(bertSignature(), {{"ids", {1, 2}}}),
                "it has 'input_ids', 'attention_mask', 'bias'");
  expectRefused(resolveShapes(bertSignature(), {{"input_ids", {1, 2, 3}}}), "it has 2 dimensions");
  expectRefused(resolveShapes(bertSignature(), {{"bias", {1, 11, 4}}}), "dimension 1 must be 12");
  expectRefused(resolveShapes(bertSignature(), {{"input_ids", {1, 2}}, {"attention_mask", {1, 3}}}),
                "'seq' is 2 by another");
  expectRefused(resolveShapes(bertSignature(), {{"input_ids", {0, 2}}}),
                "size 'batch' must be at least 1");
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
