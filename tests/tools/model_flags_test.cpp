// tools/smelt/model_flags: shapes from flags, and the refusals.
#include "tools/smelt/model_flags.h"

#include <gtest/gtest.h>

using namespace smelt;
using namespace smelt::tools;

TEST(ParseShapes, ReadsNamesAndExtents) {
  Result<NamedShapes> shapes = parseShapes({"a=1x128", "b:0=7", "scalar=", "c=?x3"});
  ASSERT_TRUE(shapes.isOk());
  EXPECT_EQ((*shapes)["a"], (std::vector<int64_t>{1, 128}));
  EXPECT_EQ((*shapes)["b:0"], (std::vector<int64_t>{7}));
  EXPECT_TRUE((*shapes)["scalar"].empty());
  EXPECT_EQ((*shapes)["c"], (std::vector<int64_t>{-1, 3}));
}

TEST(ParseShapes, RefusesWhatIsNoShape) {
  for (const char *flag :
       {"a", "=1x2", "a=1x", "a=x1", "a=1x-2", "a=1,2", "a=99999999999999999999"})
    EXPECT_FALSE(parseShapes({flag}).isOk()) << flag;
  EXPECT_FALSE(parseShapes({"a=1", "a=1"}).isOk());
}
