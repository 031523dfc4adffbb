// Windows as convolutions and pools share them: attributes, and padding that follows from sizes.
#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder pool(const std::string &shape = "1 1 7") {
  ModelBuilder model(22);
  model.input("x", DataType::FLOAT, shape).output("y").node("MaxPool", {"x"});
  return model.attribute("kernel_shape", std::vector<int64_t>{4});
}

ModelBuilder padded(const std::string &automatic, int64_t stride) {
  return pool().attribute("auto_pad", automatic).attribute("strides", std::vector<int64_t>{stride});
}

TEST(Window, SamePadsTheOddElementAtTheEndOrTheStart) {
  expectImports(padded("SAME_UPPER", 1).import(), {"<[1, 1, 1], f32>", "<[1, 1, 2], f32>",
                                                   "<[1, 1, 10], f32> -> <[1, 1, 7, 4], f32>"});
  expectImports(padded("SAME_LOWER", 1).import(), {"<[1, 1, 2], f32>", "<[1, 1, 1], f32>",
                                                   "<[1, 1, 10], f32> -> <[1, 1, 7, 4], f32>"});
  expectImports(padded("SAME_UPPER", 3).import(), {"<[1, 1, 10], f32> -> <[1, 1, 3, 4], f32>"});
}

TEST(Window, ValidPadsNothing) {
  expectImports(padded("VALID", 2).attribute("pads", std::vector<int64_t>{3, 3}).import(),
                {"<[1, 1, 7], f32> -> <[1, 1, 2, 4], f32>"});
}

TEST(Window, RefusesListsOfAnotherLength) {
  expectFails(pool().attribute("strides", std::vector<int64_t>{1, 1}).import(),
              {"'strides' must hold 1 values of at least 1"});
  expectFails(pool().attribute("pads", std::vector<int64_t>{-1, 0}).import(),
              {"'pads' must hold 2 values of at least 0"});
  expectFails(padded("ALWAYS", 1).import(), {"auto_pad 'ALWAYS' is unknown"});
}

} // namespace
} // namespace smelt::test
