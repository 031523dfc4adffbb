#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

TEST(DataDependent, NonZeroOfWhatIsKnown) {
  ModelBuilder model;
  model.floats("x", {2, 3}, {1, 0, 2, 0, 0, 3}).node("NonZero", {"x"}).output("y");
  expectImports(model.import(), {"dense<[[0, 0, 1], [0, 2, 2]]>"});
  ModelBuilder scalar;
  scalar.floats("x", {}, {1}).node("NonZero", {"x"}).output("y");
  expectImports(scalar.import(), {"<[0, 1], i64>"});
}

TEST(DataDependent, WhatIsNotKnownIsNamed) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n").node("NonZero", {"x"}).output("y");
  expectFails(model.import(), {"its input 'x' (float [n]) must be constant: the shape of the "
                               "result depends on its elements"});
}

TEST(DataDependent, CompressPicksByAKnownCondition) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "4 batch").floats("f", {3}, {0, 1, 1});
  model.node("Cast", {"f"}, {"c"}).attribute("to", int64_t{DataType::BOOL}).output("y");
  expectImports(model.node("Compress", {"x", "c"}).attribute("axis", 0).import(),
                {"dense<[1, 2]>", "smelt.gather %arg0", "-> <[2, batch], f32>"});
}

TEST(DataDependent, UniqueSortsAndCounts) {
  ModelBuilder model;
  model.floats("x", {6}, {2, 1, 1, 3, 4, 3});
  model.node("Unique", {"x"}, {"y", "first", "inverse", "counts"}).output("first");
  expectImports(model.output("inverse").output("counts").output("y").import(),
                {"dense<[1, 0, 3, 4]>", "dense<[1, 0, 0, 2, 3, 2]>", "dense<[2, 1, 2, 1]>"});
  ModelBuilder unsorted;
  unsorted.floats("x", {6}, {2, 1, 1, 3, 4, 3}).node("Unique", {"x"}, {"y", "first"});
  expectImports(unsorted.attribute("sorted", 0).output("first").import(), {"dense<[0, 1, 3, 4]>"});
}

TEST(DataDependent, UniqueSlices) {
  ModelBuilder model;
  model.floats("x", {3, 2}, {1, 0, 1, 0, 0, 5}).node("Unique", {"x"}, {"y", "first"});
  expectImports(model.attribute("axis", 0).output("first").output("y").import(),
                {"dense<[2, 0]>", "<[2, 2], f32>"});
}

TEST(DataDependent, BoxesThatOverlapABetterOneGo) {
  ModelBuilder model;
  model.floats("boxes", {1, 3, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 10, 1, 11});
  model.floats("scores", {1, 1, 3}, {0.6f, 0.9f, 0.7f}).integer("most", 3);
  model.floats("overlap", {}, {0.5f}).output("y");
  expectImports(model.node("NonMaxSuppression", {"boxes", "scores", "most", "overlap"}).import(),
                {"dense<[[0, 0, 1], [0, 0, 2]]>"});
}

} // namespace
} // namespace smelt::test
