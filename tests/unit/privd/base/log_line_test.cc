#include "privd/base/log_line.h"

#include <gtest/gtest.h>

#include <string>

namespace vfiogate {
namespace {

std::string lineOf(std::initializer_list<LogField> fields) {
  const std::string line = formatLine(LogForm::kLogfmt, LogEvent::kPlugindRefused,
                                      kj::arrayPtr(fields.begin(), fields.size()));
  EXPECT_EQ(line.substr(0, 7), "time=20");
  return line.substr(line.find("level="));
}

TEST(LogLine, WritesPlainWordsAsTheyAre) {
  EXPECT_EQ(lineOf({{"uid", kj::str(64532)}, {"socket", kj::str("/run/x.sock")}}),
            "level=warning event=plugind_refused uid=64532 socket=/run/x.sock");
}

TEST(LogLine, QuotesTextFromOutsideSoThatItCannotEndTheLine) {
  EXPECT_EQ(
      lineOf({{"reason", kj::str("a b\nevent=forged \"x\" \\ \xff\x7f")}}),
      R"(level=warning event=plugind_refused reason="a b\x0aevent=forged \"x\" \\ \xff\x7f")");
}

TEST(LogLine, QuotesTheEmptyValue) {
  EXPECT_EQ(lineOf({{"name", kj::str("")}}), R"(level=warning event=plugind_refused name="")");
}

TEST(LogLine, CutsLongValues) {
  const std::string line = lineOf({{"name", kj::str(std::string(5000, 'x').c_str())}});
  EXPECT_EQ(line, "level=warning event=plugind_refused name=\"" + std::string(512, 'x') + "...\"");
}

TEST(LogLine, KeepsANulByteVisible) {
  EXPECT_EQ(lineOf({{"name", kj::heapString("a\0b", 3)}}),
            R"(level=warning event=plugind_refused name="a\x00b")");
}

}  // namespace
}  // namespace vfiogate
