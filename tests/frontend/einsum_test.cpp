#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder einsum(const std::string &equation, const std::vector<std::string> &shapes) {
  ModelBuilder model;
  std::vector<std::string> names;
  for (const std::string &shape : shapes) {
    names.push_back("x" + std::to_string(names.size()));
    model.input(names.back(), DataType::FLOAT, shape);
  }
  model.node("Einsum", names).attribute("equation", equation).output("y");
  return model;
}

TEST(Einsum, EachPairIsOneProduct) {
  expectImports(einsum("bqhd,bkhd->bhqk", {"b q 4 64", "b k 4 64"}).import(),
                {"smelt.transpose", "-> <[b, 4, q, 64], f32>", "smelt.transpose",
                 "-> <[b, 4, 64, k], f32>", "smelt.matmul", "-> <[b, 4, q, k], f32>", "return"});
  expectImports(einsum("ab,bc,cd", {"2 3", "3 4", "4 5"}).import(),
                {"smelt.matmul", "-> <[2, 4], f32>", "smelt.matmul", "-> <[2, 5], f32>"});
  expectImports(einsum("bshd,hdo->bso", {"b s 4 8", "4 8 o"}).import(),
                {"-> <[32, o], f32>", "smelt.matmul", "-> <[b*s, o], f32>"});
}

TEST(Einsum, WithoutASharedSumItMultipliesElements) {
  expectImports(einsum("i,j->ij", {"n", "m"}).import(), {"smelt.mul", "-> <[n, m], f32>"});
  expectImports(einsum("ij,ij->ij", {"n m", "n m"}).import(), {"smelt.mul", "return"});
}

TEST(Einsum, SumsAndDiagonals) {
  expectImports(einsum("ij->j", {"n m"}).import(), {"smelt.reduce", "-> <[m], f32>"});
  expectImports(einsum("bii->bi", {"b n n"}).import(),
                {"smelt.gather_elements", "-> <[b, n], f32>"});
  expectImports(einsum("ii", {"n m"}).import(), {"smelt.gather_elements", "smelt.reduce"});
}

TEST(Einsum, EllipsesBroadcast) {
  expectImports(einsum("...ij, ...jk", {"a 1 3 4", "b 4 5"}).import(),
                {"smelt.matmul", "-> <[a, b, 3, 5], f32>"});
}

TEST(Einsum, RefusesEquationsThatDoNotFit) {
  expectFails(einsum("ij,jk->ik", {"2 3", "4 5"}).import(), {"needs 3 = 4", "one label"});
  expectFails(einsum("ij", {"2 3 4"}).import(), {"its equation gives", "2 axes"});
  expectFails(einsum("ij->ik", {"2 3"}).import(), {"names an axis that no operand has"});
  expectFails(einsum("ij->ii", {"2 3"}).import(), {"names an axis twice"});
  expectFails(einsum("i+j->i", {"2 3"}).import(), {"cannot read 'i+j'"});
  expectFails(einsum("i,j->i", {"2"}).import(), {"is one of 2 operands, not of 1"});
}

} // namespace
} // namespace smelt::test
