#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

TEST(OneHot, ComparesWithPositionsOfANewAxis) {
  ModelBuilder model;
  model.input("i", DataType::INT32, "batch seq")
      .integer("depth", 10)
      .floats("values", {2}, {-1, 1})
      .node("OneHot", {"i", "depth", "values"})
      .attribute("axis", -2)
      .output("y");
  expectImports(model.import(), {"smelt.less", "smelt.equal", "-> <[batch, 10, seq], i1>",
                                 "smelt.select", "-> <[batch, 10, seq], f32>"});
}

TEST(OneHot, OfADepthThatIsASize) {
  ModelBuilder model(9);
  model.input("x", DataType::FLOAT, "n 4")
      .input("i", DataType::INT64, "")
      .floats("values", {2}, {0, 1})
      .node("Size", {"x"}, {"depth"})
      .node("OneHot", {"i", "depth", "values"})
      .output("y");
  expectImports(model.import(), {"smelt.equal", "-> <[4*n], f32>"});
}

TEST(OneHot, RefusesDepthsThatAreData) {
  ModelBuilder model;
  model.input("i", DataType::INT64, "n")
      .input("depth", DataType::INT64, "")
      .floats("values", {2}, {0, 1})
      .node("OneHot", {"i", "depth", "values"})
      .output("y");
  expectFails(model.import(), {"the depth", "depends on the data"});
}

TEST(OneHot, EyeLikeTakesTheShapeAndATypeOfItsOwn) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n m")
      .node("EyeLike", {"x"})
      .attribute("k", -1)
      .attribute("dtype", int64_t{DataType::FLOAT16})
      .output("y");
  expectImports(model.import(), {"smelt.equal", "smelt.cast", "-> <[n, m], f16>"});
  ModelBuilder strings;
  strings.input("x", DataType::FLOAT, "n m")
      .node("EyeLike", {"x"})
      .attribute("dtype", int64_t{DataType::STRING})
      .output("y");
  expectFails(strings.import(), {"results of string are not supported"});
}

} // namespace
} // namespace smelt::test
