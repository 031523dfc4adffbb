// A folder of its own for every test: they run side by side.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

namespace smelt::compiler {

class FolderTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/smelt_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string folder;
};

} // namespace smelt::compiler
