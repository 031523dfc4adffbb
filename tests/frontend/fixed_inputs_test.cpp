// Inputs that the structure of a graph depends on: constants where a value is given, else refused.
#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

TensorValue integers(const std::vector<int64_t> &values) {
  return {DataType::INT64,
          {static_cast<int64_t>(values.size())},
          std::string(reinterpret_cast<const char *>(values.data()), values.size() * 8)};
}

ModelBuilder sumOver(const std::string &axes) {
  ModelBuilder model(18);
  model.input("x", DataType::FLOAT, "batch 3 5").input("axes", DataType::INT64, "n").output("y");
  return model.node("ReduceSum", {"x", axes});
}

TEST(FixedInputs, TheImportAsksForWhatItNeeds) {
  std::vector<std::pair<std::string, size_t>> asked;
  ImportOptions options;
  options.valueOf = [&](const std::string &name, size_t number) {
    asked.emplace_back(name, number);
    return std::optional(integers({2}));
  };
  Imported imported = sumOver("axes").import(options);
  expectImports(imported, {"main(%arg0: !smelt.tensor<[batch, 3, 5], f32>", "axes [2]"});
  EXPECT_EQ(imported.diagnostics, "");
  EXPECT_EQ(imported.text.find("%arg1"), std::string::npos) << imported.text;
  EXPECT_EQ(asked, (std::vector<std::pair<std::string, size_t>>{{"axes", 1}}));
}

TEST(FixedInputs, ThroughWhatIsComputedFromThem) {
  ModelBuilder model(18);
  model.input("x", DataType::FLOAT, "batch 6").input("shape", DataType::INT64, "2").output("y");
  model.integers("one", {1}).node("Mul", {"shape", "one"}, {"scaled"});
  model.node("Cast", {"scaled"}, {"wide"}).attribute("to", 7).node("Reshape", {"x", "wide"});
  ImportOptions options;
  options.valueOf = [](const std::string &, size_t) { return std::optional(integers({-1, 3})); };
  expectImports(model.import(options), {"-> <[2*batch, 3], f32>"});
}

TEST(FixedInputs, NeedNoShapeBesideTheirValue) {
  ImportOptions options;
  options.inputShapes = {{"x", {2, 3, 5}}, {"axes", {1}}};
  options.valueOf = [](const std::string &, size_t) { return std::optional(integers({2})); };
  expectImports(sumOver("axes").import(options), {"<[2, 3, 5], f32>", "axes [2]"});
  options.inputShapes.back().second = {3};
  expectFails(sumOver("axes").import(options), {"a shape is given for 'axes'"});
}

TEST(FixedInputs, AnInputThatNobodyNeedsStaysOne) {
  ModelBuilder model(18);
  model.input("x", DataType::INT64, "2").output("y").node("Neg", {"x"});
  ImportOptions options;
  options.valueOf = [](const std::string &, size_t) -> std::optional<TensorValue> {
    ADD_FAILURE() << "nothing depends on the value";
    return std::nullopt;
  };
  expectImports(model.import(options), {"smelt.neg %arg0"});
}

TEST(FixedInputs, WithoutAValueTheModelIsRefused) {
  expectFails(sumOver("axes").import(), {"the list of axes, 'axes' (int64 [n]), must be constant"});
  ImportOptions options;
  options.valueOf = [](const std::string &, size_t) { return std::optional<TensorValue>(); };
  expectFails(sumOver("axes").import(options), {"'axes' (int64 [n]), must be constant"});
}

TEST(FixedInputs, AWrongValueIsReportedOnce) {
  ImportOptions options;
  options.valueOf = [](const std::string &, size_t) { return std::optional(integers({7})); };
  Imported imported = sumOver("axes").import(options);
  expectFails(imported, {"axis 7 is outside rank 3"});
  EXPECT_EQ(imported.diagnostics.find("must be constant"), std::string::npos);
}

} // namespace
} // namespace smelt::test
