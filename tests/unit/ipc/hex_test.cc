#include "ipc/base/hex.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

TEST(Hex, ReadsIdsWithAndWithoutPrefix) {
  EXPECT_EQ(parseHex("0x10de"), 0x10deU);
  EXPECT_EQ(parseHex("10DE"), 0x10deU);
  EXPECT_EQ(parseHex("ffffffff"), 0xffffffffU);
}

TEST(Hex, RefusesWhatIsNoNumber) {
  for (const char* text :
       {"", "0x", "0x10dg", " 10de", "10de ", "-1", "+1", "0x0x1", "123456789"}) {
    EXPECT_FALSE(parseHex(text)) << '"' << text << '"';
  }
}

TEST(Hex, CountsDigitsWhereTheyMustBeExact) {
  EXPECT_EQ(parseHexDigits("0e", 2), 0x0eU);
  EXPECT_FALSE(parseHexDigits("e", 2));
  EXPECT_FALSE(parseHexDigits("00e", 2));
}

TEST(Hex, ReadsDecimals) {
  EXPECT_EQ(parseDecimal("0"), 0U);
  EXPECT_EQ(parseDecimal("4294967295"), 4294967295U);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.0", "0x1", "4294967296"}) {
    EXPECT_FALSE(parseDecimal(text)) << '"' << text << '"';
  }
}

TEST(Hex, WritesExactlyTheDigitsAskedFor) {
  EXPECT_EQ(hexDigits(0x2684, 4), "2684");
  EXPECT_EQ(hexDigits(0xa, 2), "0a");
  EXPECT_EQ(hexDigits(0x12345, 4), "2345");
}

}  // namespace
}  // namespace vfiogate
