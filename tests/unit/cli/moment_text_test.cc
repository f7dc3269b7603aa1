#include "cli/table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace vfiogate {
namespace {

class MomentText : public testing::Test {
protected:
  MomentText() {
    setenv("TZ", "XYZ-2", 1);  // two hours east
    tzset();
  }
  ~MomentText() noexcept override {
    unsetenv("TZ");
    tzset();
  }
};

TEST_F(MomentText, IsATimeOfTodayOrADateInTheZoneOfWhoeverAsks) {
  constexpr std::int64_t kThen = 1'700'000'000;  // 2023-11-14T22:13:20Z
  EXPECT_EQ(momentText(kThen, kThen), "00:13:20");
  EXPECT_EQ(momentText(kThen, kThen + 86'399), "00:13:20");
  EXPECT_EQ(momentText(kThen, kThen + 86'400), "2023-11-15 00:13");
  EXPECT_EQ(momentText(kThen + 60, kThen), "2023-11-15 00:14") << "what is to come has its date";
}

TEST_F(MomentText, ReadsWhatProgramsWrite) {
  constexpr std::int64_t kNow = 1'700'000'100;
  EXPECT_EQ(momentText("2023-11-14T22:13:20Z", kNow), "00:13:20");
  EXPECT_EQ(momentText("2023-11-14T22:13:20.123456Z", kNow), "00:13:20");
  EXPECT_EQ(momentText("2023-11-01T22:13:20Z", kNow), "2023-11-02 00:13");
  EXPECT_EQ(datedText("2023-11-14T22:13:20Z"), "2023-11-15 00:13");
  EXPECT_EQ(datedText("unknown"), "unknown");
  for (const char* text : {"", "-", "yesterday", "2023-11-14T22:13:20+02:00"}) {
    EXPECT_EQ(momentText(text, kNow), text);
  }
}

TEST_F(MomentText, IsFoundInATextForPeople) {
  constexpr std::int64_t kNow = 1'700'000'100;
  EXPECT_EQ(
      momentsIn("to pod a/b since 2023-11-14T22:13:20Z, ref=1; c since 2023-11-01T22:13:20Z", kNow),
      "to pod a/b since 00:13:20, ref=1; c since 2023-11-02 00:13");
  EXPECT_EQ(momentsIn("group 12: 0000:01:00.0, 13:03:57Z", kNow),
            "group 12: 0000:01:00.0, 13:03:57Z");
}

}  // namespace
}  // namespace vfiogate
