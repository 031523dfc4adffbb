#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

/// A layer of 5 elements over 3 steps of 4.
ModelBuilder layer(const std::string &op, int64_t gates, int64_t directions = 1,
                   const std::string &steps = "3 batch 4") {
  ModelBuilder model(22);
  std::string count = std::to_string(directions), rows = std::to_string(gates * 5);
  model.input("x", DataType::FLOAT, steps).input("w", DataType::FLOAT, count + " " + rows + " 4");
  model.input("r", DataType::FLOAT, count + " " + rows + " 5").output("y");
  return model.node(op, {"x", "w", "r"});
}

TEST(Recurrent, TheInputsOfAllStepsAreOneProduct) {
  expectImports(layer("RNN", 1).import(),
                {"smelt.matmul %arg0", "<[3, batch, 5], f32>", "smelt.slice", "smelt.matmul",
                 "smelt.add", "smelt.tanh", "smelt.matmul", "smelt.tanh", "smelt.matmul",
                 "smelt.tanh", "smelt.concat", "-> <[3, 1, batch, 5], f32>"});
}

TEST(Recurrent, GatesOfGruAndLstm) {
  expectImports(layer("GRU", 3).import(),
                {"smelt.sigmoid", "smelt.sigmoid", "smelt.matmul", "smelt.tanh", "smelt.sub"});
  expectImports(layer("GRU", 3).attribute("linear_before_reset", 1).import(),
                {"smelt.sigmoid", "smelt.sigmoid", "smelt.mul", "smelt.tanh"});
  expectImports(layer("LSTM", 4).import(), {"smelt.sigmoid", "smelt.sigmoid", "smelt.tanh",
                                            "smelt.sigmoid", "smelt.tanh", "smelt.mul"});
}

TEST(Recurrent, BothDirectionsAndLastStates) {
  ModelBuilder model = layer("LSTM", 4, 2).attribute("direction", "bidirectional");
  model.lastNode().add_output("h");
  model.lastNode().add_output("c");
  expectImports(
      model.output("h").output("c").import(),
      {"smelt.concat", "<[2, batch, 5], f32>", "<[2, batch, 5], f32>", "<[3, 2, batch, 5], f32>"});
}

TEST(Recurrent, SequencesEndWhereTheyAreToldTo) {
  ModelBuilder model = layer("RNN", 1).input("lengths", DataType::INT32, "batch");
  model.lastNode().add_input("");
  model.lastNode().add_input("lengths");
  expectImports(model.import(), {"smelt.less", "<[batch, 1], i1>", "smelt.select"});
}

/// An LSTM with an initial state, and biases, of these shapes.
ModelBuilder layerFrom(const std::string &state, const std::string &biases = "1 40") {
  ModelBuilder model = layer("LSTM", 4);
  model.input("b", DataType::FLOAT, biases).input("h", DataType::FLOAT, state);
  for (std::string name : {"b", "", "h"})
    model.lastNode().add_input(name);
  return model;
}

TEST(Recurrent, AStateHasTheBatchOfTheInputs) {
  expectImports(layerFrom("1 other 5").import(), {"<[1, batch, 5], f32> {smelt.name = \"h\"}"});
  expectFails(layerFrom("1 batch 6").import(),
              {"needs 6 = 5: biases, lengths and states fit the inputs"});
  expectFails(layerFrom("batch 5").import(), {"needs [1, batch, 5], got 'h' (float [batch, 5])"});
  expectFails(layerFrom("1 batch 5", "1 20").import(), {"needs 20 = 40"});
}

TEST(Recurrent, RefusesWhatItCannotUnroll) {
  expectFails(layer("RNN", 1, 1, "steps batch 4").import(),
              {"a sequence of steps steps is not supported: its length must be constant",
               "give it by --shape x=<steps>x?x4"});
  expectFails(layer("GRU", 2).import(), {"the weights fit the inputs and the gates"});
  expectFails(layer("RNN", 1).attribute("direction", "up").import(), {"'up' is none of forward"});
}

} // namespace
} // namespace smelt::test
