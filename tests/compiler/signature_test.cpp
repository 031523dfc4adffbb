// compiler/signature: where a plan is not the model that it is said to be compiled from.
#include "compiler/signature.h"

#include <gtest/gtest.h>

using namespace smelt;
using namespace smelt::compiler;

namespace {

Extent symbol(const char *name) { return {name, std::nullopt}; }
Extent number(int64_t value) { return {std::to_string(value), value}; }

Signature bertSignature() {
  Port ids{"input_ids", ElementType::i64, {symbol("batch"), symbol("seq")}, 30522};
  Port mask{"attention_mask", ElementType::i64, {symbol("batch"), symbol("seq")}, std::nullopt};
  Port bias{"bias", ElementType::f32, {symbol("batch"), number(12), symbol("2*seq")}, std::nullopt};
  return {{ids, mask, bias}, {}, {}, {}, {}};
}

} // namespace

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
