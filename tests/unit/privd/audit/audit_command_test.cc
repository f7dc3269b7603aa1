#include "cli/common_options.h"
#include "privd/cli/audit/log_files.h"
#include "privd/cli/audit/record_view.h"
#include "privd/cli/audit/since.h"
#include "privd/cli/commands.h"
#include "tests/unit/privd/audit/logs.h"

#include <CLI/CLI.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>

namespace vfiogate::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Said {
  int code;
  std::string out;
  std::string error;
};

Said audit(std::vector<std::string> arguments) {
  CLI::App app;
  int code = 0;
  addAuditCommand(app, code);
  arguments.insert(arguments.begin(), "audit");
  std::reverse(arguments.begin(), arguments.end());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    code = 2;
    std::cerr << error.what();
  }
  std::string out = testing::internal::GetCapturedStdout();
  return {code, std::move(out), testing::internal::GetCapturedStderr()};
}

class AuditCommand : public testing::Test {
protected:
  void SetUp() override {
    AuditLog log = dir_.open({.rotateAt = 3000});
    ASSERT_TRUE(log.append(bindCard()));
    ASSERT_TRUE(log.append(doneOf(1)));
    AuditNote other = noteOf("a\n\x1b[31mb");
    other.devices = {Bdf::parse("0000:02:00.0").value()};
    ASSERT_TRUE(log.append(other));
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(log.append(noteOf("more")));
    head_ = std::to_string(log.head().sequence) + ":" + log.head().hash;
    ASSERT_TRUE(std::filesystem::exists(dir_.rotated(1)));
  }
  LogDirectory dir_;
  std::string head_;
};

TEST_F(AuditCommand, ShowsTheRecordsOfAllFilesInTheirOrder) {
  const Said said = audit({"show", dir_.path()});
  EXPECT_EQ(said.code, 0) << said.error;
  EXPECT_THAT(said.out, AllOf(HasSubstr("0000:01:00.0 (nvidia)"), HasSubstr("root pid 4711"),
                              HasSubstr("bind: 3 writes, overrides boot-vga of 0000:01:00.0"),
                              HasSubstr("of 1: done"), HasSubstr("goes on from record 8")));
  EXPECT_LT(said.out.find("bind: 3"), said.out.find("rotated"));
  EXPECT_THAT(said.out, HasSubstr(R"(started: a\n\u001b[31mb)"))
      << "text from outside steers no terminal";
}

TEST_F(AuditCommand, ShowsJsonThatIsReadAgain) {
  const Said said = audit({"show", dir_.path(), "-o", "json"});
  const auto records = nlohmann::json::parse(said.out);
  ASSERT_GT(records.size(), 11U);
  for (std::size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i]["seq"], i + 1);
  EXPECT_EQ(nlohmann::json::parse(
                audit({"show", dir_.path(), "-o", "json", "--since", "2100-01-01"}).out),
            nlohmann::json::array());
}

TEST_F(AuditCommand, ShowsTheSameAsYaml) {
  const auto records =
      nlohmann::ordered_json::parse(audit({"show", dir_.path(), "-o", "json"}).out);
  EXPECT_EQ(audit({"show", dir_.path(), "-o", "yaml"}).out, documentText(records, "yaml"));
  EXPECT_EQ(audit({"show", dir_.path(), "-o", "yaml", "--since", "2100-01-01"}).out, "[]\n");
}

TEST_F(AuditCommand, ShowsTimesOfTheReadersZone) {
  setenv("TZ", "XYZ-2", 1);  // two hours east
  tzset();
  const auto record = parseRecord(R"({"seq":1,"time":"2026-11-22T05:35:09.25Z"})");
  constexpr std::int64_t kSoon = 1'795'340'000;  // 2026-11-22T09:33:20Z
  EXPECT_EQ(recordRow(*record, kSoon)[1].text, "07:35:09");
  EXPECT_EQ(recordRow(*record, kSoon + 86'400)[1].text, "2026-11-22 07:35");
  unsetenv("TZ");
  tzset();
}

TEST_F(AuditCommand, PicksByDeviceAndTime) {
  const Said card = audit({"show", dir_.path(), "--device", "01:00.0"});
  EXPECT_THAT(card.out, AllOf(HasSubstr("bind: 3"), HasSubstr("of 1: done")));
  EXPECT_THAT(card.out, Not(HasSubstr("more")));
  EXPECT_EQ(linesOf(audit({"show", dir_.path(), "--device", "0000:02:00.0"}).out).size(), 2U);
  EXPECT_THAT(audit({"show", dir_.path(), "--since", "2h"}).out, HasSubstr("bind: 3"));
  EXPECT_THAT(audit({"show", dir_.path(), "--since", "2100-01-01T00:00:00Z"}).out,
              Not(HasSubstr("bind")));
}

TEST_F(AuditCommand, HidesNoLineThatIsNoRecord) {
  std::ofstream(dir_.path(), std::ios::app) << "garbage\n";
  EXPECT_THAT(audit({"show", dir_.path(), "--device", "02:00.0"}).out,
              HasSubstr(dir_.path() + " line "));
  const auto records = nlohmann::json::parse(audit({"show", dir_.path(), "-o", "json"}).out);
  EXPECT_EQ(records.back()["kind"], "no record");
}

TEST_F(AuditCommand, PrintsTheHeadThatVerifyTakesAsAnAnchor) {
  EXPECT_EQ(audit({"head", dir_.path()}).out, head_ + "\n");
  const Said good = audit({"verify", dir_.path(), "--anchor", head_});
  EXPECT_EQ(good.code, 0);
  EXPECT_THAT(good.out, AllOf(StartsWith("good: "), HasSubstr("in 2 files"),
                              HasSubstr("up to it nothing was changed since")));
}

TEST_F(AuditCommand, VerifySaysWhatItCannotKnow) {
  const Said good = audit({"verify", dir_.path()});
  EXPECT_EQ(good.code, 0);
  EXPECT_THAT(good.out, HasSubstr("cannot know: whether records were cut off at the end"));
}

TEST_F(AuditCommand, I7_VerifyNamesFileLineAndRecord) {
  std::string text = textOf(dir_.rotated(1));
  text.replace(text.find("done"), 4, "fail");
  putText(dir_.rotated(1), text);
  const Said bad = audit({"verify", dir_.path()});
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.out, StartsWith("not good: " + dir_.rotated(1) + " line 2, record 2: edited: "));
  EXPECT_THAT(bad.out, HasSubstr("before that: 1 records, 1 to 1, in 2 files"));
}

TEST_F(AuditCommand, I7_VerifyNamesAWholeFileThatIsMissing) {
  std::filesystem::remove(dir_.path());
  EXPECT_EQ(audit({"verify", dir_.path()}).code, 0) << "its end is cut off: nobody can know";
  EXPECT_EQ(audit({"verify", dir_.path(), "--anchor", head_}).code, 1);
}

TEST_F(AuditCommand, ARotationWhileTheFilesAreOpenedLeavesNoneOut) {
  unsigned rotations = 0;
  const auto rotateAfterTheFirst = [&](const std::string& path) {
    auto file = openLogFile(path);
    if (path == dir_.rotated(1) && rotations++ == 0) {
      EXPECT_TRUE(dir_.open({.rotateAt = 1}).append(noteOf("more")));
    }
    return file;
  };
  const auto files = openLog(dir_.path(), rotateAfterTheFirst);
  ASSERT_TRUE(files) << files.error();
  std::vector<std::string> lines;
  for (const LogFile& file : *files) {
    ASSERT_TRUE(
        readLines(file, [&](std::uint64_t, std::string_view line) { lines.emplace_back(line); }));
  }
  EXPECT_EQ(faultOf(verifyLines(lines)), "");
  EXPECT_EQ(files->size(), 3U);
  EXPECT_EQ(verifyLines(lines).first, 1U);
  const auto rotateAlways = [&](const std::string& path) {
    auto file = openLogFile(path);
    if (path == dir_.rotated(1)) {
      EXPECT_TRUE(dir_.open({.rotateAt = 1}).append(noteOf("more")));
    }
    return file;
  };
  EXPECT_THAT(openLog(dir_.path(), rotateAlways).error(), HasSubstr("rotated"));
}

TEST_F(AuditCommand, WhatCannotBeReadIsSaidAndWrongUsageIsTwo) {
  const Said none = audit({"verify", dir_ / "none"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.error, HasSubstr("none: No such file or directory"));
  EXPECT_THAT(audit({"show", dir_ / ""}).error, HasSubstr("it is no regular file"));
  std::filesystem::create_symlink(dir_.path(), dir_ / "link");
  EXPECT_THAT(audit({"head", dir_ / "link"}).error, HasSubstr("it is a link"));
  ASSERT_EQ(mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(audit({"head", dir_ / "fifo"}).error, HasSubstr("it is no regular file"));
  putText(dir_ / "empty", "");
  EXPECT_THAT(audit({"head", dir_ / "empty"}).error, HasSubstr("no record"));
  EXPECT_EQ(audit({}).code, 2);
  EXPECT_EQ(audit({"verify", dir_.path(), "--anchor", "12"}).code, 2);
  EXPECT_EQ(audit({"show", dir_.path(), "--since", "yesterday"}).code, 2);
  EXPECT_EQ(audit({"show", dir_.path(), "--device", "no-such"}).code, 2);
}

TEST(TimeSince, ReadsTimesAndAges) {
  constexpr std::int64_t kNow = 1'763'789'709'000'000'000;  // 2025-11-22T05:35:09Z
  const auto since = [](std::string_view text) { return timeSince(text, kNow).value_or("none"); };
  EXPECT_EQ(since("2025-11-22T05:35:09Z"), "2025-11-22T05:35:09.000000000Z");
  EXPECT_EQ(since("2025-11-22T05:35:09.25+01:30"), "2025-11-22T04:05:09.250000000Z");
  EXPECT_EQ(since("2025-11-21T23:00:00-02:00"), "2025-11-22T01:00:00.000000000Z");
  EXPECT_EQ(since("2025-11-22"), "2025-11-22T00:00:00.000000000Z");
  EXPECT_EQ(since("30m"), "2025-11-22T05:05:09.000000000Z");
  EXPECT_EQ(since("2h"), "2025-11-22T03:35:09.000000000Z");
  EXPECT_EQ(since("1d"), "2025-11-21T05:35:09.000000000Z");
  EXPECT_EQ(since("99999d"), "1970-01-01T00:00:00.000000000Z");
  for (const char* text : {"", "h", "2", "2w", "-2h", "2025-13-01", "2025-02-30", "25-01-01",
                           "2025-11-22T05:35:09", "2025-11-22T5:35:09Z", "2025-11-22T05:35:09Zx",
                           "2025-11-22T24:00:00Z", "9999-01-01", "2025-11-22T05:35:09+0100"}) {
    EXPECT_EQ(since(text), "none") << text;
  }
}

// As a stranger may have written it.
TEST(RecordView, ShowsWhateverIsAnObject) {
  for (const char* text :
       {"{}", R"({"seq":"x","kind":7,"peer":[],"devices":{"a":1},"writes":3,"time":null})",
        R"({"kind":"intent","overridden":[1,{"guard":2}],"devices":[[1],{"driver":{}}]})",
        R"({"kind":"outcome","intent":-1,"outcome":{}})"}) {
    const auto record = parseRecord(text);
    ASSERT_TRUE(record) << text;
    EXPECT_EQ(recordRow(*record, 0).size(), recordColumns().size());
    RecordPicker({.since = "2", .device = kCard}).wants(*record);
  }
  EXPECT_FALSE(parseRecord("[]"));
  EXPECT_FALSE(parseRecord("{\"seq\":"));
  parseRecord("{\"a\":" + std::string(200'000, '[') + std::string(200'000, ']') + "}");
}

}  // namespace
}  // namespace vfiogate::test
