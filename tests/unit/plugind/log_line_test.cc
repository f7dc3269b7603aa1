#include "plugind/base/log_line.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

/// Without the time, which is another each time.
std::string lineOf(LogEvent event, LogFields fields) {
  const std::string line = logLine(LogLevel::kInfo, event, fields);
  EXPECT_EQ(line.find("level="), std::string_view("time=2026-11-23T21:55:01.250Z ").size());
  return line.substr(line.find("level="));
}

TEST(LogLine, IsOneEventWithItsFields) {
  EXPECT_EQ(
      lineOf(LogEvent::kRegistered, {{"resource", "vfiogate.dev/10de_2684"}, {"took_ms", 12}}),
      "level=info event=registered resource=vfiogate.dev/10de_2684 took_ms=12");
}

TEST(LogLine, QuotesWhatIsNotOneWord) {
  EXPECT_EQ(lineOf(LogEvent::kEnding, {{"why", "a b"}}), R"(level=info event=ending why="a b")");
  EXPECT_EQ(lineOf(LogEvent::kEnding, {{"why", ""}}), R"(level=info event=ending why="")");
  EXPECT_EQ(lineOf(LogEvent::kEnding, {{"why", "a=b"}}), R"(level=info event=ending why="a=b")");
}

TEST(LogLine, CannotBeBrokenByTextFromOutside) {
  EXPECT_EQ(lineOf(LogEvent::kEnding, {{"why", "x\"\nevent=started\\"}}),
            R"(level=info event=ending why="x\"\x0aevent=started\\")");
  EXPECT_EQ(lineOf(LogEvent::kEnding, {{"why", std::string("\x1b[0m\xff\0", 6)}}),
            R"(level=info event=ending why="\x1b[0m\xff\x00")");
}

TEST(LogLine, CutsLongText) {
  const std::string line = lineOf(LogEvent::kEnding, {{"why", std::string(10'000, 'x')}});
  EXPECT_LT(line.size(), 600U);
  EXPECT_EQ(line.substr(line.size() - 5), "x...\"");
}

}  // namespace
}  // namespace vfiogate
