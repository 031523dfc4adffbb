#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

constexpr int32_t kFloat = DataType::FLOAT, kByte = DataType::UINT8, kSigned = DataType::INT8;

TEST(MicrosoftQuantized, ProductsOfBytesBecomeFloats) {
  expectImports(microsoftNode("MatMulIntegerToFloat", {{"a", kByte, "m k"},
                                                       {"b", kSigned, "k n"},
                                                       {"sa", kFloat, ""},
                                                       {"sb", kFloat, "n"},
                                                       {"za", kByte, ""},
                                                       {"", 0, ""},
                                                       {"bias", kFloat, "n"}})
                    .import(),
                {"smelt.matmul %arg0, %arg1", "i32>", "smelt.reduce", "smelt.mul", "smelt.add",
                 "<[m, n], f32>"});
}

TEST(MicrosoftQuantized, DataAreQuantisedByTheirRange) {
  expectImports(
      microsoftNode("DynamicQuantizeMatMul",
                    {{"a", kFloat, "m k"}, {"b", kSigned, "k n"}, {"sb", kFloat, "1"}})
          .import(),
      {"smelt.reduce", "-> <[m, k], ui8>", "smelt.matmul", "-> <[m, n], i32>", "<[m, n], f32>"});
}

ModelBuilder fewBits(int64_t bits, const std::vector<InputPort> &more = {}) {
  std::string bytes = std::to_string(16 * bits / 8);
  std::string weight = "3 2 " + bytes;
  std::vector<InputPort> ports{{"a", kFloat, "m 20"}, {"b", kByte, weight}, {"s", kFloat, "6"}};
  ports.insert(ports.end(), more.begin(), more.end());
  ModelBuilder model = microsoftNode("MatMulNBits", ports);
  model.attribute("N", 3).attribute("K", 20).attribute("bits", bits).attribute("block_size", 16);
  return model;
}

TEST(MicrosoftQuantized, WeightsOfFewBits) {
  expectImports(fewBits(4).import(), {"smelt.shift_right", "smelt.bit_and", "<[3, 2, 16], ui8>",
                                      "smelt.sub", "smelt.mul", "<[3, 32], f32>", "<[3, 20], f32>",
                                      "<[20, 3], f32>", "smelt.matmul %arg0"});
  expectImports(fewBits(8).import(), {"dense<1.280000e+02>", "smelt.matmul"});
  expectImports(fewBits(2, {{"z", kByte, "3"}}).import(),
                {"<[3, 1], ui8>", "<[3, 2, 1], f32>", "smelt.matmul"});
  expectImports(fewBits(4, {{"z", kFloat, "3 2"}, {"", 0, ""}, {"bias", kFloat, "3"}}).import(),
                {"smelt.matmul", "smelt.add"});
}

TEST(MicrosoftQuantized, RefusesWeightsThatDoNotFit) {
  expectFails(fewBits(3).import(), {"a weight of 3 bits is not supported"});
  expectFails(fewBits(4, {{"z", kByte, "7"}}).import(),
              {"'z' (uint8 [7]) must have [3, 1] elements"});
  expectFails(fewBits(4, {{"", 0, ""}, {"g", DataType::INT32, "20"}}).import(),
              {"g_idx) is not supported"});
}

std::vector<InputPort> gemmPorts(const char *right) {
  return {{"a", kByte, "m k"},        {"sa", kFloat, ""},  {"za", kByte, ""},
          {"b", kSigned, right},      {"sb", kFloat, "n"}, {"zb", kSigned, "n"},
          {"c", DataType::INT32, "n"}};
}

TEST(MicrosoftQuantized, GemmGivesFloatsOrBytes) {
  expectImports(microsoftNode("QGemm", gemmPorts("k n")).import(),
                {"smelt.matmul %arg0, %arg3", "i32>", "smelt.add", "smelt.mul", "<[m, n], f32>"});
  std::vector<InputPort> ports = gemmPorts("n k");
  ports.insert(ports.end(), {{"sy", kFloat, ""}, {"zy", kByte, ""}});
  expectImports(microsoftNode("QGemm", ports).attribute("transB", 1).import(),
                {"smelt.transpose", "smelt.matmul", "smelt.div", "<[m, n], ui8>"});
  ports.pop_back();
  expectFails(microsoftNode("QGemm", ports).attribute("transB", 1).import(),
              {"needs one scale and one zero point for its result"});
}

} // namespace
} // namespace smelt::test
