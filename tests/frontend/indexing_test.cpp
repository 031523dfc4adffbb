#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder gather(const std::string &op, const std::string &data, const std::string &indices) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, data)
      .input("i", DataType::INT64, indices)
      .node(op, {"x", "i"})
      .output("y");
  return model;
}

TEST(Indexing, GatherReplacesItsAxis) {
  expectImports(gather("Gather", "30 768", "batch seq").import(),
                {"smelt.gather %arg0, %arg1 axis 0", "-> <[batch, seq, 768], f32>"});
  expectImports(gather("Gather", "a b c", "").attribute("axis", -2).import(),
                {"axis 1", "-> <[a, c], f32>"});
}

TEST(Indexing, RefusesConstantsOutOfRange) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "3").integer("i", -4).node("Gather", {"x", "i"}).output("y");
  expectFails(model.import(), {"index -4 is outside 'x'", "3 elements"});
}

TEST(Indexing, RefusesIndicesThatAreNoIntegers) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "3")
      .input("i", DataType::FLOAT, "2")
      .node("Gather", {"x", "i"})
      .output("y");
  expectFails(model.import(), {"is not defined for an input 1 of type float: 'i' (float [2])"});
}

TEST(Indexing, GatherElementsTakesTheIndicesShape) {
  expectImports(gather("GatherElements", "4 512", "2 seq").attribute("axis", 1).import(),
                {"axis 1", "-> <[2, seq], f32>"});
  expectFails(gather("GatherElements", "4 512", "5 seq").attribute("axis", 1).import(),
              {"needs 5 <= 4"});
  expectFails(gather("GatherElements", "4", "5 6").import(), {"same rank"});
}

TEST(Indexing, GatherNdWithBatches) {
  expectImports(gather("GatherND", "b 3 4 5", "b 7 2").attribute("batch_dims", 1).import(),
                {"batch_dims 1", "-> <[b, 7, 5], f32>"});
  expectFails(gather("GatherND", "b 3", "b n").import(), {"do not fit"});
  expectFails(gather("GatherND", "b 3", "b 1").attribute("batch_dims", 2).import(),
              {"2 batch dimensions"});
}

TEST(Indexing, TriluComparesPositions) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "s t")
      .integer("k", 1)
      .node("Trilu", {"x", "k"})
      .attribute("upper", 0)
      .output("y");
  expectImports(model.import(), {"smelt.iota", "smelt.iota", "smelt.add", "smelt.less_equal",
                                 "-> <[s, t], i1>", "smelt.select"});
}

} // namespace
} // namespace smelt::test
