#include "privd/base/log_line.h"

#include <gtest/gtest.h>

#include <string>

namespace vfiogate {
namespace {

std::string lineOf(std::initializer_list<LogField> fields) {
  return formatLine(LogEvent::kPeerRefused, kj::arrayPtr(fields.begin(), fields.size())).cStr();
}

TEST(LogLine, WritesPlainWordsAsTheyAre) {
  EXPECT_EQ(lineOf({{"uid", kj::str(64532)}, {"socket", kj::str("/run/x.sock")}}),
            "event=peer_refused uid=64532 socket=/run/x.sock");
}

TEST(LogLine, QuotesTextFromOutsideSoThatItCannotEndTheLine) {
  EXPECT_EQ(lineOf({{"reason", kj::str("a b\nevent=forged \"x\" \\ \xff\x7f")}}),
            R"(event=peer_refused reason="a b\x0aevent=forged \x22x\x22 \x5c \xff\x7f")");
}

TEST(LogLine, QuotesTheEmptyValue) {
  EXPECT_EQ(lineOf({{"name", kj::str("")}}), R"(event=peer_refused name="")");
}

TEST(LogLine, CutsLongValues) {
  const std::string line = lineOf({{"name", kj::str(std::string(5000, 'x').c_str())}});
  EXPECT_EQ(line, "event=peer_refused name=\"" + std::string(200, 'x') + "...\"");
}

TEST(LogLine, KeepsANulByteVisible) {
  EXPECT_EQ(lineOf({{"name", kj::heapString("a\0b", 3)}}), R"(event=peer_refused name="a\x00b")");
}

}  // namespace
}  // namespace vfiogate
