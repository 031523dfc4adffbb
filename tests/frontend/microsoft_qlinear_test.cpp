#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

TEST(MicrosoftQLinear, ElementwiseOps) {
  std::vector<InputPort> x{
      {"x", DataType::UINT8, "n 4"}, {"sx", DataType::FLOAT, ""}, {"zx", DataType::UINT8, ""}};
  std::vector<InputPort> result{{"sy", DataType::FLOAT, ""}, {"zy", DataType::UINT8, ""}};
  std::vector<InputPort> unary = x, binary = x;
  unary.insert(unary.end(), result.begin(), result.end());
  binary.insert(binary.end(),
                {{"w", DataType::UINT8, "4"}, {"sw", DataType::FLOAT, ""}, {"", 0, ""}});
  binary.insert(binary.end(), result.begin(), result.end());
  expectImports(microsoftNode("QLinearSigmoid", unary).import(),
                {"smelt.sub", "smelt.mul", "smelt.sigmoid", "smelt.div", "<[n, 4], ui8>"});
  expectImports(microsoftNode("QLinearLeakyRelu", unary).import(), {"smelt.less", "smelt.select"});
  expectImports(microsoftNode("QLinearAdd", binary).import(), {"smelt.add", "<[n, 4], ui8>"});
  expectImports(microsoftNode("QLinearMul", binary).import(), {"smelt.mul", "<[n, 4], ui8>"});
}

TEST(MicrosoftQLinear, NamesTheInputThatIsMissing) {
  expectFails(
      microsoftNode("QLinearSigmoid", {{"x", DataType::UINT8, "n"}, {"sx", DataType::FLOAT, ""}})
          .import(),
      {"needs input 3, which is missing"});
}

TEST(MicrosoftQLinear, JoinsAndAverages) {
  expectImports(microsoftNode("QLinearConcat", {{"sy", DataType::FLOAT, ""},
                                                {"zy", DataType::UINT8, ""},
                                                {"a", DataType::UINT8, "2 n"},
                                                {"sa", DataType::FLOAT, ""},
                                                {"za", DataType::UINT8, ""},
                                                {"b", DataType::UINT8, "3 n"},
                                                {"sb", DataType::FLOAT, ""},
                                                {"zb", DataType::UINT8, ""}})
                    .import(),
                {"smelt.concat", "<[5, n], f32>", "smelt.div", "<[5, n], ui8>"});
  expectImports(microsoftNode("QLinearGlobalAveragePool", {{"x", DataType::INT8, "n 4 h w"},
                                                           {"sx", DataType::FLOAT, ""},
                                                           {"zx", DataType::INT8, ""},
                                                           {"sy", DataType::FLOAT, ""},
                                                           {"zy", DataType::INT8, ""}})
                    .import(),
                {"smelt.reduce mean", "<[n, 4, 1, 1], f32>", "<[n, 4, 1, 1], i8>"});
}

TEST(MicrosoftQLinear, OpsOfOnnxOnTheNumbers) {
  std::vector<InputPort> ports{{"x", DataType::UINT8, "n 3 8 6"},
                               {"sx", DataType::FLOAT, ""},
                               {"zx", DataType::UINT8, ""},
                               {"sy", DataType::FLOAT, ""},
                               {"zy", DataType::UINT8, ""}};
  expectImports(microsoftNode("QLinearSoftmax", ports).attribute("opset", 13).import(),
                {"smelt.sub", "smelt.softmax", "axis 3", "smelt.div", "ui8>"});
  expectImports(microsoftNode("QLinearSoftmax", ports).attribute("opset", 11).import(),
                {"-> <[n, 144], f32>", "smelt.softmax", "axis 1"});
  expectFails(microsoftNode("QLinearSoftmax", ports).import(), {"its attribute 'opset' is 0"});
  expectImports(microsoftNode("QLinearReduceMean", ports)
                    .attribute("axes", std::vector<int64_t>{2})
                    .attribute("keepdims", 0)
                    .import(),
                {"smelt.reduce", "-> <[n, 3, 6], ui8>"});
  std::vector<int64_t> kernel{2, 2};
  expectImports(
      microsoftNode("QLinearAveragePool", ports).attribute("kernel_shape", kernel).import(),
      {"smelt.reduce", "<[n, 3, 7, 5], ui8>"});
  expectImports(microsoftNode("QLinearAveragePool", ports)
                    .attribute("kernel_shape", kernel)
                    .attribute("channels_last", 1)
                    .import(),
                {"smelt.transpose", "smelt.reduce", "<[n, 2, 7, 6], ui8>"});
}

TEST(MicrosoftQLinear, ChoosesNumbers) {
  expectImports(microsoftNode("QLinearWhere", {{"c", DataType::BOOL, "n 1"},
                                               {"x", DataType::INT8, "n 4"},
                                               {"sx", DataType::FLOAT, ""},
                                               {"zx", DataType::INT8, ""},
                                               {"w", DataType::INT8, "4"},
                                               {"sw", DataType::FLOAT, ""},
                                               {"zw", DataType::INT8, ""},
                                               {"sy", DataType::FLOAT, ""},
                                               {"zy", DataType::INT8, ""}})
                    .import(),
                {"smelt.select", "smelt.div", "<[n, 4], i8>"});
}

} // namespace
} // namespace smelt::test
