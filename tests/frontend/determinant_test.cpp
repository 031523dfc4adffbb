#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder determinant(const std::string &shape) {
  ModelBuilder model(22);
  model.input("x", DataType::FLOAT, shape).node("Det", {"x"}).output("y");
  return model;
}

TEST(Determinant, OfSmallMatrices) {
  expectImports(determinant("b 2 2").import(), {"-> (!smelt.tensor<[b], f32>", "smelt.slice",
                                                "smelt.mul", "smelt.sub", "-> <[b], f32>"});
  expectImports(determinant("b n 3").import(), {"%arg0: !smelt.tensor<[b, 3, 3], f32>"});
}

TEST(Determinant, OfLargerOnesIsRefused) {
  expectFails(determinant("5 5").import(), {"is not supported", "at most 4"});
  expectFails(determinant("n n").import(), {"is not supported"});
  expectFails(determinant("3").import(), {"needs matrices"});
}

} // namespace
} // namespace smelt::test
