#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder align(int64_t opset = 16, const std::string &rois = "r 4",
                   const std::string &batch = "r") {
  ModelBuilder model(opset);
  model.input("x", DataType::FLOAT, "n 3 h w").input("rois", DataType::FLOAT, rois);
  model.input("b", DataType::INT64, batch);
  model.node("RoiAlign", {"x", "rois", "b"}).output("y");
  model.attribute("output_height", 5).attribute("output_width", 7);
  return model;
}

TEST(Regions, SamplesAreGatheredAndAveraged) {
  expectImports(align().attribute("sampling_ratio", 2).import(),
                {"smelt.gather", "smelt.reduce", "<[r, 3, 5, 7], f32>"});
  expectImports(align().attribute("sampling_ratio", 2).attribute("mode", "max").import(),
                {"smelt.gather", "smelt.max", "smelt.reduce"});
  expectImports(align(10).attribute("sampling_ratio", 3).import(), {"<[r, 3, 5, 7], f32>"});
}

TEST(Regions, WhatDoesNotFitIsRefused) {
  expectFails(align().import(), {"sampling_ratio = 0", "depends on the data"});
  expectFails(align().attribute("sampling_ratio", -1).import(), {"cannot make 5 by 7 pixels"});
  expectFails(align(16, "r 5").attribute("sampling_ratio", 2).import(),
              {"a region has so many numbers"});
  expectFails(align(16, "r 4", "r 1").attribute("sampling_ratio", 2).import(),
              {"must number the image of each region"});
  expectFails(align().attribute("sampling_ratio", 2).attribute("mode", "min").import(),
              {"mode 'min' is neither"});
}

TEST(Regions, LargestOfEachPart) {
  ModelBuilder model(6);
  model.input("x", DataType::FLOAT, "n 3 h w").input("rois", DataType::FLOAT, "r 5");
  model.node("MaxRoiPool", {"x", "rois"}).output("y");
  model.attribute("pooled_shape", std::vector<int64_t>{2, 3});
  expectImports(model.import(), {"smelt.gather", "smelt.reduce", "<[r, 3, 2, 3], f32>"});
}

} // namespace
} // namespace smelt::test
