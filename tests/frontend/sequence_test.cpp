#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

/// A sequence s of x and twice x.
ModelBuilder twoTensors() {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "batch 4").node("Add", {"x", "x"}, {"twice"});
  return model.node("SequenceConstruct", {"x", "twice"}, {"s"}).integer("last", -1).output("y");
}

TEST(Sequence, ElementsAreTakenByPosition) {
  expectImports(twoTensors().node("SequenceAt", {"s", "last"}).import(),
                {"%0 = smelt.add", "return %0"});
  expectFails(twoTensors().integer("far", 2).node("SequenceAt", {"s", "far"}).import(),
              {"its position 'far' (int64 []) lies outside a sequence of 2"});
  expectFails(twoTensors().input("i", DataType::INT64, "").node("SequenceAt", {"s", "i"}).import(),
              {"a position in a sequence, 'i' (int64 []), must be constant"});
}

TEST(Sequence, ElementsComeAndGo) {
  ModelBuilder model = twoTensors().integer("first", 0);
  model.node("SequenceErase", {"s", "first"}, {"one"}).node("Neg", {"x"}, {"neg"});
  model.node("SequenceInsert", {"one", "neg", "first"}, {"two"});
  model.node("ConcatFromSequence", {"two"}).attribute("axis", 1);
  expectImports(model.import(), {"%0 = smelt.add", "%1 = smelt.neg", "smelt.concat %1, %0 axis 1",
                                 "-> <[batch, 8], f32>"});
}

TEST(Sequence, LengthsAreConstants) {
  expectImports(twoTensors().node("SequenceLength", {"s"}).import(), {"dense<2>"});
  ModelBuilder empty;
  empty.node("SequenceEmpty", {}, {"s"}).node("SequenceLength", {"s"}).output("y");
  expectImports(empty.import(), {"dense<0>"});
}

TEST(Sequence, StacksAlongANewAxis) {
  ModelBuilder model = twoTensors().node("ConcatFromSequence", {"s"});
  expectImports(model.attribute("axis", 0).attribute("new_axis", 1).import(),
                {"-> <[2, batch, 4], f32>"});
}

TEST(Sequence, SplitsAnAxis) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "5 n").integer("two", 2).integer("last", -1).output("y");
  model.node("SplitToSequence", {"x", "two"}, {"s"}).node("SequenceAt", {"s", "last"});
  expectImports(model.import(), {"smelt.slice %arg0 starts [#smelt.dim<4>", "<[1, n], f32>"});
  ModelBuilder single;
  single.input("x", DataType::FLOAT, "5 n").integer("last", -1).output("y");
  single.node("SplitToSequence", {"x"}, {"s"}).attribute("keepdims", 0);
  expectImports(single.node("SequenceAt", {"s", "last"}).import(), {"return %", "<[n], f32>"});
}

TEST(Sequence, MapsABody) {
  ModelBuilder body;
  body.input("a", DataType::FLOAT, "n").input("b", DataType::FLOAT, "n");
  body.node("Mul", {"a", "b"}, {"c"}).output("c");
  ModelBuilder model = twoTensors().node("SequenceMap", {"s", "x"}, {"t"}).attribute("body", body);
  expectImports(model.node("ConcatFromSequence", {"t"}).attribute("axis", 0).import(),
                {"smelt.mul %arg0, %arg0", "smelt.mul %0, %arg0", "smelt.concat"});
}

TEST(Sequence, OptionalsHoldWhatTheyAreGiven) {
  ModelBuilder full;
  full.input("x", DataType::FLOAT, "n").node("Optional", {"x"}, {"o"}).output("y").output("has");
  full.node("OptionalHasElement", {"o"}, {"has"}).node("OptionalGetElement", {"o"});
  expectImports(full.import(), {"dense<true>", "return %arg0"});
  ModelBuilder empty;
  empty.node("Optional", {}, {"o"}).node("OptionalHasElement", {"o"}).output("y");
  expectImports(empty.import(), {"dense<false>"});
}

TEST(Sequence, OtherOpsAndOutputsTakeTensors) {
  expectFails(twoTensors().node("Exp", {"s"}).import(),
              {"Exp: its input 's' is a sequence, but must be a tensor"});
  expectFails(twoTensors().node("Identity", {"s"}).import(),
              {"the output 'y' is a sequence, which is not supported: outputs are tensors"});
}

} // namespace
} // namespace smelt::test
