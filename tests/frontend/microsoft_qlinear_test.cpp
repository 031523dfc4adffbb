#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

struct QLinearPort {
  const char *name;
  int32_t type;
  const char *shape;
};

/// One op of com.microsoft with such inputs; one of no name is omitted.
ModelBuilder qlinearNode(const std::string &op, const std::vector<QLinearPort> &ports) {
  ModelBuilder model(20);
  model.opset("com.microsoft", 1);
  std::vector<std::string> names;
  for (const QLinearPort &port : ports) {
    names.push_back(port.name);
    if (!names.back().empty())
      model.input(port.name, port.type, port.shape);
  }
  model.node(op, names).output("y");
  model.lastNode().set_domain("com.microsoft");
  return model;
}

TEST(MicrosoftQLinear, ElementwiseOps) {
  std::vector<QLinearPort> x{
      {"x", DataType::UINT8, "n 4"}, {"sx", DataType::FLOAT, ""}, {"zx", DataType::UINT8, ""}};
  std::vector<QLinearPort> result{{"sy", DataType::FLOAT, ""}, {"zy", DataType::UINT8, ""}};
  std::vector<QLinearPort> unary = x, binary = x;
  unary.insert(unary.end(), result.begin(), result.end());
  binary.insert(binary.end(),
                {{"w", DataType::UINT8, "4"}, {"sw", DataType::FLOAT, ""}, {"", 0, ""}});
  binary.insert(binary.end(), result.begin(), result.end());
  expectImports(qlinearNode("QLinearSigmoid", unary).import(),
                {"smelt.sub", "smelt.mul", "smelt.sigmoid", "smelt.div", "<[n, 4], ui8>"});
  expectImports(qlinearNode("QLinearLeakyRelu", unary).import(), {"smelt.less", "smelt.select"});
  expectImports(qlinearNode("QLinearAdd", binary).import(), {"smelt.add", "<[n, 4], ui8>"});
  expectImports(qlinearNode("QLinearMul", binary).import(), {"smelt.mul", "<[n, 4], ui8>"});
}

TEST(MicrosoftQLinear, NamesTheInputThatIsMissing) {
  expectFails(
      qlinearNode("QLinearSigmoid", {{"x", DataType::UINT8, "n"}, {"sx", DataType::FLOAT, ""}})
          .import(),
      {"needs input 3, which is missing"});
}

TEST(MicrosoftQLinear, JoinsAndAverages) {
  expectImports(qlinearNode("QLinearConcat", {{"sy", DataType::FLOAT, ""},
                                              {"zy", DataType::UINT8, ""},
                                              {"a", DataType::UINT8, "2 n"},
                                              {"sa", DataType::FLOAT, ""},
                                              {"za", DataType::UINT8, ""},
                                              {"b", DataType::UINT8, "3 n"},
                                              {"sb", DataType::FLOAT, ""},
                                              {"zb", DataType::UINT8, ""}})
                    .import(),
                {"smelt.concat", "<[5, n], f32>", "smelt.div", "<[5, n], ui8>"});
  expectImports(qlinearNode("QLinearGlobalAveragePool", {{"x", DataType::INT8, "n 4 h w"},
                                                         {"sx", DataType::FLOAT, ""},
                                                         {"zx", DataType::INT8, ""},
                                                         {"sy", DataType::FLOAT, ""},
                                                         {"zy", DataType::INT8, ""}})
                    .import(),
                {"smelt.reduce mean", "<[n, 4, 1, 1], f32>", "<[n, 4, 1, 1], i8>"});
}

} // namespace
} // namespace smelt::test
