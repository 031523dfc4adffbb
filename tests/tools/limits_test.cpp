// tools/smelt/limits: sizes as a person writes them. What limits do is in tests/cli/limits_test.py, for they end a process.
#include "tools/smelt/limits.h"

#include <gtest/gtest.h>

using namespace smelt::tools;

TEST(ParseSize, ReadsBytesAndUnits) {
  EXPECT_EQ(parseSize("1"), 1u);
  EXPECT_EQ(parseSize("1048577"), 1048577u);
  EXPECT_EQ(parseSize("64K"), 64u << 10);
  EXPECT_EQ(parseSize("512M"), 512u << 20);
  EXPECT_EQ(parseSize("4G"), uint64_t{4} << 30);
  EXPECT_EQ(parseSize("2T"), uint64_t{2} << 40);
  EXPECT_EQ(parseSize("9223372036854775808"), uint64_t{1} << 63);
  EXPECT_EQ(parseSize("8388608T"), uint64_t{1} << 63);
}

TEST(ParseSize, RefusesWhatIsNoSize) {
  for (const char *text :
       {"", "0", "0G", "-1", "+1", " 1", "1 G", "G", "1GB", "1KM", "1g", "1.5G", "0x10", "1e9",
        "9223372036854775809", "8388609T", "18446744073709551616", "99999999999999999999T"})
    EXPECT_FALSE(parseSize(text)) << text;
}
