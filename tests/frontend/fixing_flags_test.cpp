#include "frontend/fixing_flags.h"

#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

TEST(FixingFlags, NameTheInputsOfAValue) {
  ModelBuilder model(18);
  model.input("x", DataType::FLOAT, "4 4").input("a", DataType::INT64, "1");
  model.input("b", DataType::INT64, "1").node("Add", {"a", "b"}, {"axes"});
  expectFails(model.node("ReduceSum", {"x", "axes"}).output("y").import(),
              {"; give it by --value a=@FILE.npy --value b=@FILE.npy"});
}

TEST(FixingFlags, NameTheSizesOfAValue) {
  ModelBuilder model(18);
  model.input("x", DataType::FLOAT, "n 4 batch").input("z", DataType::FLOAT, "batch");
  model.input("w", DataType::FLOAT, "4 4").node("Shape", {"x"}, {"sizes"});
  model.attribute("start", 0).attribute("end", 1);
  expectFails(model.node("ReduceSum", {"w", "sizes"}).output("y").output("z").import(),
              {"must be constant; give it by --shape x=<n>x4x?"});
}

TEST(FixingFlags, ThereAreNoneForWhatNoInputDecides) {
  ModelBuilder model(18);
  model.input("x", DataType::FLOAT, "600 1 4");
  model.floats("w", {1, 3, 4}, std::vector<float>(12, 0.5f));
  model.floats("r", {1, 3, 3}, std::vector<float>(9, 0.5f));
  model.node("RNN", {"x", "w", "r"}).attribute("hidden_size", 3).output("y");
  Imported imported = model.import();
  expectFails(imported, {"a sequence of 600 steps is not supported"});
  EXPECT_EQ(imported.diagnostics.find("give it by"), std::string::npos) << imported.diagnostics;
}

TEST(FixingFlags, ManyAreNotAllNamed) {
  ModelBuilder model(18);
  model.input("x", DataType::FLOAT, "4 4");
  std::vector<std::string> parts;
  for (int i = 0; i < 6; ++i) {
    parts.push_back("a" + std::to_string(i));
    model.input(parts.back(), DataType::INT64, "1");
  }
  model.node("Concat", parts, {"axes"}).attribute("axis", 0);
  Imported imported = model.node("ReduceSum", {"x", "axes"}).output("y").import();
  expectFails(imported, {"--value a3=@FILE.npy and so on"});
  EXPECT_EQ(imported.diagnostics.find("--value a4"), std::string::npos) << imported.diagnostics;
}

} // namespace
} // namespace smelt::test
