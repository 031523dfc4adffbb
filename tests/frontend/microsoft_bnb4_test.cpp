#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder bnb4(int64_t rows, int64_t depth, const std::string &bytes, const std::string &scales,
                  int64_t kind = 1) {
  ModelBuilder model(20);
  model.input("a", DataType::FLOAT, "batch seq " + std::to_string(depth));
  model.input("b", DataType::UINT8, bytes).input("s", DataType::FLOAT, scales);
  model.node("MatMulBnb4", {"a", "b", "s"}).output("y");
  model.attribute("N", rows).attribute("K", depth).attribute("block_size", 16);
  model.attribute("quant_type", kind);
  model.lastNode().set_domain("com.microsoft");
  return model;
}

TEST(MicrosoftBnb4, CodesAreEntriesOfATable) {
  expectImports(bnb4(3, 24, "36", "5").import(),
                {"smelt.shift_right", "smelt.bit_and", "-0.69619", "smelt.gather", "smelt.matmul",
                 "<[batch, seq, 3], f32>"});
  expectImports(bnb4(3, 24, "36", "5", 0).import(), {"0.00520833349", "smelt.gather"});
}

TEST(MicrosoftBnb4, WhatDoesNotFitIsRefused) {
  expectFails(bnb4(3, 24, "35", "5").import(), {"'b' (uint8 [35]) must have 36 elements"});
  expectFails(bnb4(3, 24, "36", "4").import(), {"'s' (float [4]) must have 5 elements"});
  expectFails(bnb4(3, 24, "36", "5", 2).import(), {"quant_type 2 is neither 0 nor 1"});
  expectFails(bnb4(0, 24, "36", "5").import(), {"its weight of 0 rows"});
}

} // namespace
} // namespace smelt::test
