#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

TEST(Constant, ValueForms) {
  for (auto [name, kind] : {std::pair("value_int", "i64"), {"value_float", "f32"}}) {
    ModelBuilder model;
    model.node("Constant", {});
    std::string(kind) == "i64" ? model.attribute(name, 7) : model.attribute(name, 7.0f);
    model.output("y");
    expectImports(model.import(),
                  {"smelt.constant dense<7", std::string("!smelt.tensor<[], ") + kind + ">"});
  }
  ModelBuilder list;
  list.node("Constant", {}).attribute("value_ints", std::vector<int64_t>{1, 2}).output("y");
  expectImports(list.import(), {"dense<[1, 2]>"});
}

TEST(Constant, RefusesStrings) {
  ModelBuilder model;
  model.node("Constant", {}).attribute("value_string", "x").output("y");
  expectFails(model.import(), {"value_int(s)"});
}

TEST(Constant, OfASymbolicShape) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n 2")
      .node("Shape", {"x"}, {"s"})
      .node("ConstantOfShape", {"s"})
      .output("y");
  expectImports(model.import(), {"dense<0.000000e+00>", "smelt.expand", "-> <[n, 2], f32>"});
}

TEST(Constant, ShapeWithBoundsAndSize) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "a b c")
      .node("Shape", {"x"})
      .attribute("start", -2)
      .attribute("end", 99)
      .output("y");
  expectImports(model.import(), {"smelt.dims [b, c]"});
  ModelBuilder size;
  size.input("x", DataType::FLOAT, "a b 4").node("Size", {"x"}).output("y");
  expectImports(size.import(), {"smelt.dims [4*a*b]"});
}

TEST(Constant, RangesOverSizes) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n")
      .integer("start", 2)
      .integer("step", 3)
      .node("Size", {"x"}, {"end"})
      .node("Range", {"start", "end", "step"})
      .output("y");
  expectImports(model.import(),
                {"smelt.iota", "<[ceildiv(max(0, n - 2), 3)], i64>", "smelt.mul", "smelt.add"});
}

TEST(Constant, RangesOfFloats) {
  ModelBuilder model;
  model.floats("start", {}, {1})
      .floats("limit", {}, {2})
      .floats("step", {}, {0.3f})
      .node("Range", {"start", "limit", "step"});
  model.output("y");
  expectImports(model.import(), {"smelt.iota", "<[4], f32>"});
  model.graph().mutable_initializer(2)->set_float_data(0, 0);
  expectFails(model.import(), {"no finite length"});
}

TEST(Constant, RangesOfHalvesAreMadeInFloat) {
  auto range = [](int64_t stash) {
    ModelBuilder model(27);
    for (auto [name, bits] :
         {std::pair("start", 0x3c00), {"limit", 0x4900}, {"step", 0x4000}}) { // 1, 10, 2
      onnx_wire::Tensor &tensor = *model.graph().add_initializer();
      tensor.set_name(name);
      tensor.set_data_type(DataType::FLOAT16);
      tensor.add_int32_data(bits);
    }
    model.node("Range", {"start", "limit", "step"});
    return model.attribute("stash_type", stash).output("y").import();
  };
  expectImports(range(DataType::FLOAT),
                {"smelt.iota", "<[5], f32>", "smelt.cast", "-> <[5], f16>"});
  expectImports(range(DataType::DOUBLE), {"smelt.iota", "<[5], f64>", "-> <[5], f16>"});
  expectFails(range(DataType::FLOAT16), {"Range: stash_type 10 is not supported"});
}

TEST(Constant, RangesOfFloatsOverSizes) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n m")
      .floats("start", {}, {2})
      .floats("step", {}, {3})
      .node("Size", {"x"}, {"size"})
      .node("Cast", {"size"}, {"limit"})
      .attribute("to", DataType::FLOAT)
      .node("Range", {"start", "limit", "step"});
  model.output("y");
  // f32 counts to 2^24 without gaps.
  expectImports(model.import(), {"#smelt.guard<<m*n> less_equal <16777216>", "smelt.iota",
                                 "<[ceildiv(max(0, m*n - 2), 3)], f32>"});
  model.graph().mutable_initializer(1)->set_float_data(0, 0.5f);
  expectFails(model.import(), {"constants, or whole numbers made of sizes"});
}

TEST(Constant, RefusesRangesWithoutEnd) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min(),
                    kHighest = std::numeric_limits<int64_t>::max();
  auto range = [](int64_t start, int64_t limit, int64_t step) {
    ModelBuilder model;
    model.integer("start", start).integer("limit", limit).integer("step", step);
    model.node("Range", {"start", "limit", "step"}).output("y");
    return model.import();
  };
  expectFails(range(kLowest, kHighest, 1), {"more elements than a tensor can have"});
  expectFails(range(kHighest, kLowest, -3), {"more elements than a tensor can have"});
  expectFails(range(0, kHighest, 2), {"more elements than a tensor can have"});
  expectImports(range(kLowest, kLowest + 5, 2), {"<[3], i64>"});
  expectImports(range(kHighest, kLowest, 1), {"<[0], i64>"});
}

TEST(Constant, CountingTablesAreIotas) {
  std::vector<int64_t> values(512);
  for (size_t index = 0; index < values.size(); ++index)
    values[index] = static_cast<int64_t>(index);
  ModelBuilder model;
  model.input("x", DataType::INT64, "512")
      .integers("positions", values)
      .node("Add", {"x", "positions"})
      .output("y");
  expectImports(model.import(), {"smelt.iota : <[512], i64>"});
}

} // namespace
} // namespace smelt::test
