// compiler/signature: where a plan is not the model that it is said to be compiled from.
#include "compiler/signature.h"

#include "tests/compiler/bert_signature.h"

#include <gtest/gtest.h>

using namespace smelt;
using namespace smelt::compiler;

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
