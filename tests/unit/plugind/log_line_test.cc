#include "plugind/base/log_line.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

TEST(LogLine, IsOneEventWithItsFields) {
  EXPECT_EQ(
      logLine(LogEvent::kRegistered, {{"resource", "vfiogate.dev/10de_2684"}, {"took_ms", 12}}),
      "event=registered resource=vfiogate.dev/10de_2684 took_ms=12");
}

TEST(LogLine, QuotesWhatIsNotOneWord) {
  EXPECT_EQ(logLine(LogEvent::kEnding, {{"why", "a b"}}), R"(event=ending why="a b")");
  EXPECT_EQ(logLine(LogEvent::kEnding, {{"why", ""}}), R"(event=ending why="")");
  EXPECT_EQ(logLine(LogEvent::kEnding, {{"why", "a=b"}}), R"(event=ending why="a=b")");
}

TEST(LogLine, CannotBeBrokenByTextFromOutside) {
  EXPECT_EQ(logLine(LogEvent::kEnding, {{"why", "x\"\nevent=started\\"}}),
            R"(event=ending why="x\"\x0aevent=started\\")");
  EXPECT_EQ(logLine(LogEvent::kEnding, {{"why", std::string("\x1b[0m\xff\0", 6)}}),
            R"(event=ending why="\x1b[0m\xff\x00")");
}

TEST(LogLine, CutsLongText) {
  const std::string line = logLine(LogEvent::kEnding, {{"why", std::string(10'000, 'x')}});
  EXPECT_LT(line.size(), 600U);
  EXPECT_EQ(line.substr(line.size() - 5), "x...\"");
}

}  // namespace
}  // namespace vfiogate
