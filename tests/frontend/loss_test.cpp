#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder loss(const std::string &op, bool isWeighted = false,
                  const std::string &targets = "n d") {
  ModelBuilder model(13);
  model.input("x", DataType::FLOAT16, "n 5 d").input("t", DataType::INT32, targets);
  if (isWeighted)
    model.input("w", DataType::FLOAT16, "5");
  model.node(op, isWeighted ? std::vector<std::string>{"x", "t", "w"}
                            : std::vector<std::string>{"x", "t"});
  model.output("y");
  return model;
}

TEST(Loss, MeanIsOneByWeights) {
  expectImports(loss("NegativeLogLikelihoodLoss").import(),
                {"smelt.gather_elements", "axis 1", "smelt.neg", "smelt.reduce mean", "smelt.cast",
                 "<[], f16>"});
  expectImports(loss("NegativeLogLikelihoodLoss", true).import(),
                {"smelt.gather_elements", "smelt.gather ", "smelt.mul", "smelt.reduce sum",
                 "smelt.reduce sum", "smelt.div"});
}

TEST(Loss, IgnoredTargetsNeitherCountNorAreRead) {
  expectImports(loss("NegativeLogLikelihoodLoss").attribute("ignore_index", -1).import(),
                {"smelt.equal", "smelt.select", "smelt.gather_elements", "smelt.select",
                 "smelt.reduce sum", "smelt.div"});
}

TEST(Loss, Reductions) {
  expectImports(loss("NegativeLogLikelihoodLoss").attribute("reduction", "none").import(),
                {"-> (!smelt.tensor<[n, d], f16>", "smelt.neg"});
  expectImports(loss("NegativeLogLikelihoodLoss").attribute("reduction", "sum").import(),
                {"smelt.reduce sum"});
  expectFails(loss("NegativeLogLikelihoodLoss").attribute("reduction", "most").import(),
              {"the reduction 'most'"});
}

TEST(Loss, CrossEntropyGivesItsLogProbabilities) {
  ModelBuilder model = loss("SoftmaxCrossEntropyLoss");
  *model.lastNode().add_output() = "log_prob";
  model.output("log_prob");
  expectImports(model.import(), {"smelt.cast %arg0", "smelt.reduce max", "smelt.exp", "smelt.log",
                                 "smelt.sub", "<[n, 5, d], f16>", "smelt.gather_elements"});
}

TEST(Loss, TargetsFitTheScores) {
  expectFails(loss("SoftmaxCrossEntropyLoss", false, "n 5 d").import(),
              {"its targets 't'", "do not fit 'x'"});
  expectImports(loss("SoftmaxCrossEntropyLoss", false, "n m").import(), {"<[n, 5, d], f16>"});
}

} // namespace
} // namespace smelt::test
