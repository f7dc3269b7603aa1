#include "ipc/base/log_format.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <vector>

namespace vfiogate {
namespace {

using std::chrono::milliseconds;
using Time = std::chrono::system_clock::time_point;

struct FormRow {
  const char* name;
  std::int64_t sinceEpochMs;
  LogLevel level;
  std::vector<LogEntry> entries;
  const char* logfmt;
  const char* json;
};
class LogFormat : public testing::TestWithParam<FormRow> {};

TEST_P(LogFormat, IsTheSameLineInBothForms) {
  const FormRow& row = GetParam();
  const Time time{milliseconds(row.sinceEpochMs)};
  EXPECT_EQ(logLineOf(LogForm::kLogfmt, time, row.level, "ended", row.entries), row.logfmt);
  const std::string json = logLineOf(LogForm::kJson, time, row.level, "ended", row.entries);
  EXPECT_EQ(json, row.json);
  EXPECT_TRUE(nlohmann::json::accept(json));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LogFormat,
    testing::Values(
        FormRow{"Bare",
                0,
                LogLevel::kInfo,
                {},
                "time=1970-01-01T00:00:00.000Z level=info event=ended",
                R"({"time":"1970-01-01T00:00:00.000Z","level":"info","event":"ended"})"},
        FormRow{"Words",
                1'795'470'901'250,
                LogLevel::kWarning,
                {{"uid", "0"}, {"at", "/run/x.sock"}},
                "time=2026-11-23T21:55:01.250Z level=warning event=ended uid=0 at=/run/x.sock",
                R"({"time":"2026-11-23T21:55:01.250Z","level":"warning","event":"ended",)"
                R"("uid":"0","at":"/run/x.sock"})"},
        FormRow{
            "LeapDay",
            951'868'799'999,
            LogLevel::kError,
            {{"why", "a b"}},
            R"(time=2000-02-29T23:59:59.999Z level=error event=ended why="a b")",
            R"({"time":"2000-02-29T23:59:59.999Z","level":"error","event":"ended","why":"a b"})"},
        FormRow{
            "FromOutside",
            0,
            LogLevel::kCritical,
            {{"why", "x\"\n\\\xff"}, {"of", ""}},
            R"(time=1970-01-01T00:00:00.000Z level=critical event=ended why="x\"\x0a\\\xff" of="")",
            R"({"time":"1970-01-01T00:00:00.000Z","level":"critical","event":"ended",)"
            R"("why":"x\"\u000a\\\u00ff","of":""})"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(LogFormat, CutsLongValuesAndLongLines) {
  const std::string value(10'000, '\n');
  for (const LogForm form : {LogForm::kLogfmt, LogForm::kJson}) {
    const std::vector<LogEntry> entries(20, {"k", value});
    const std::string one = logLineOf(form, Time(), LogLevel::kInfo, "e", {entries.data(), 1});
    EXPECT_LT(one.size(), kLongestLogLine);
    EXPECT_NE(one.find("...\""), std::string::npos);
    const std::string many = logLineOf(form, Time(), LogLevel::kInfo, "e", entries);
    EXPECT_LT(many.size(), kLongestLogLine);
    EXPECT_NE(many.find("cut"), std::string::npos) << many;
    if (form == LogForm::kJson) {
      EXPECT_TRUE(nlohmann::json::accept(many)) << many;
      EXPECT_TRUE(nlohmann::json::accept(one)) << one;
    }
  }
}

TEST(LogFormat, ALineGetsAnotherTimeInPlace) {
  for (const LogForm form : {LogForm::kLogfmt, LogForm::kJson}) {
    std::string line = logLineOf(form, Time(), LogLevel::kInfo, "e", {});
    const Time later{milliseconds(1'795'470'901'250)};
    restampLogLine(line, later);
    EXPECT_EQ(line, logLineOf(form, later, LogLevel::kInfo, "e", {}));
  }
}

TEST(LogFormat, HasTwoForms) {
  EXPECT_EQ(logFormOf("logfmt"), LogForm::kLogfmt);
  EXPECT_EQ(logFormOf("json"), LogForm::kJson);
  EXPECT_EQ(logFormOf("JSON"), std::nullopt);
}

}  // namespace
}  // namespace vfiogate
