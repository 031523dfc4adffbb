// tools/smelt/temporary_file: temporary plans.
#include "tools/smelt/temporary_file.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace smelt;
using namespace smelt::tools;

TEST(TemporaryFile, GoesWithTheObject) {
  std::string path;
  {
    Result<TemporaryFile> file = TemporaryFile::create("plan");
    ASSERT_TRUE(file.isOk());
    TemporaryFile moved = std::move(*file);
    path = moved.path();
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}
