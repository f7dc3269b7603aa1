#include "privd/audit/audit_log.h"

#include "tests/unit/privd/audit/logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

unsigned modeOf(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

int errorOfOpening(const LogDirectory& dir) {
  const auto opened = dir.tryOpen();
  return opened ? 0 : opened.error().error;
}

TEST(AuditLogTest, I7_AnIntentIsInTheFileWhenItsNumberIsKnown) {
  const LogDirectory dir;
  AuditLog log = dir.open();
  EXPECT_EQ(log.head().sequence, 0U);
  EXPECT_EQ(*log.append(bindCard()), 1U);
  EXPECT_THAT(textOf(dir.path()), HasSubstr("bus/pci/drivers/nvidia/unbind"));
  EXPECT_EQ(*log.append(doneOf(1)), 2U);
  const ChainReport report = verifyText(textOf(dir.path()));
  EXPECT_EQ(faultOf(report), "");
  EXPECT_EQ(report.good, 2U);
  EXPECT_THAT(textOf(dir.path()), HasSubstr("\"hash\":\"" + log.head().hash + "\"}\n"));
}

TEST(AuditLogTest, OnlyRootMayReadIt) {
  const LogDirectory dir;
  const std::string path = dir / "log/audit.jsonl";
  const mode_t before = umask(0);
  ASSERT_TRUE(AuditLog::open(path, "7a1c"));
  umask(before);
  EXPECT_EQ(modeOf(path), 0600U);
  EXPECT_EQ(modeOf(dir / "log"), 0700U);
  EXPECT_EQ(AuditLog::open(dir / "no/where/audit.jsonl", "7a1c").error().error, ENOENT);
}

TEST(AuditLogTest, I7_TheChainGoesOnOverRestarts) {
  const LogDirectory dir;
  for (std::uint64_t start = 1; start <= 3; ++start) {
    AuditLog log = dir.open();
    EXPECT_EQ(log.head().sequence, start - 1);
    EXPECT_EQ(*log.append(noteOf("again")), start);
  }
  EXPECT_EQ(faultOf(verifyText(textOf(dir.path()))), "");
  EXPECT_THAT(textOf(dir.path()), testing::Not(HasSubstr("recovered")));
}

TEST(AuditLogTest, WhatIsNoFileOfItsOwnIsRefusedAndLeftAlone) {
  {
    const LogDirectory dir;
    fs::create_directory(dir.path());
    EXPECT_NE(errorOfOpening(dir), 0);
  }
  {
    const LogDirectory dir;
    putText(dir / "victim", "mine");
    fs::create_symlink(dir / "victim", dir.path());
    EXPECT_EQ(errorOfOpening(dir), ELOOP);
    EXPECT_EQ(textOf(dir / "victim"), "mine");
  }
  {
    const LogDirectory dir;
    fs::create_symlink(dir / "nobody", dir.path());
    EXPECT_EQ(errorOfOpening(dir), ELOOP);
    EXPECT_FALSE(fs::exists(dir / "nobody"));
  }
  {
    const LogDirectory dir;
    ASSERT_EQ(mkfifo(dir.path().c_str(), 0600), 0);
    EXPECT_EQ(errorOfOpening(dir), EINVAL) << "and it did not wait for a reader";
  }
  {
    const LogDirectory dir;
    putText(dir.path(), "127.0.0.1 localhost\n");
    EXPECT_EQ(dir.tryOpen().error().step, "audit.jsonl is no audit log");
    EXPECT_EQ(textOf(dir.path()), "127.0.0.1 localhost\n");
  }
}

TEST(AuditLogTest, I7_WhatOthersMayWriteIsRefused) {
  const LogDirectory dir;
  putText(dir.path(), "");
  fs::permissions(dir.path(), fs::perms(0620));
  EXPECT_THAT(dir.tryOpen().error().step, HasSubstr("others than root may write it"));
  fs::permissions(dir.path(), fs::perms(0640));
  EXPECT_TRUE(dir.tryOpen());
  fs::permissions(fs::path(dir.path()).parent_path(), fs::perms(0777));
  EXPECT_THAT(dir.tryOpen().error().step, HasSubstr("write in its directory"));
}

TEST(AuditLogTest, ARecordAboveItsBoundIsRefusedWholeAndTheLogGoesOn) {
  const LogDirectory dir;
  AuditLog log = dir.open();
  AuditIntent intent = bindCard();
  intent.writes.assign(400, {kCard, std::string(4000, 'a'), "x"});
  EXPECT_EQ(log.append(intent).error().error, EMSGSIZE);
  EXPECT_EQ(*log.append(noteOf("goes on")), 1U);
  EXPECT_EQ(faultOf(verifyText(textOf(dir.path()))), "");
}

TEST(AuditLogTest, I7_ATornLastRecordIsClosedAndNotLost) {
  const LogDirectory dir;
  {
    AuditLog log = dir.open();
    ASSERT_TRUE(log.append(bindCard()));
    ASSERT_TRUE(log.append(doneOf(1)));
  }
  const std::string whole = textOf(dir.path());
  putText(dir.path(), whole.substr(0, whole.size() - 40));
  {
    AuditLog log = dir.open();
    EXPECT_EQ(log.head().sequence, 2U) << "the record that says so is in the log";
    EXPECT_EQ(*log.append(noteOf("goes on")), 3U);
  }
  const std::string after = textOf(dir.path());
  EXPECT_EQ(after.substr(0, whole.size() - 40), whole.substr(0, whole.size() - 40));
  EXPECT_THAT(after, HasSubstr("\"kind\":\"recovered\",\"reason\":\"torn\",\"bytes\":"));
  EXPECT_EQ(faultOf(verifyText(after)), "");
  EXPECT_EQ(verifyText(after).remarks.size(), 1U);
}

TEST(AuditLogTest, I7_AnEditOfTheLastRecordDoesNotPassForATear) {
  const LogDirectory dir;
  { ASSERT_TRUE(dir.open().append(bindCard())); }
  std::string edited = textOf(dir.path());
  edited.replace(edited.find("nvidia"), 6, "amdgpu");
  putText(dir.path(), edited);
  { ASSERT_TRUE(dir.open().append(noteOf("goes on"))); }
  const ChainReport report = verifyText(textOf(dir.path()));
  EXPECT_EQ(faultOf(report), "edited 1: its hash is not its own");
}

TEST(AuditLogTest, I7_AFileCutMeanwhileIsToldAndTheMissingRecordsAreNamed) {
  const LogDirectory dir;
  AuditLog log = dir.open();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(log.append(noteOf("before")));
  const auto lines = linesOf(textOf(dir.path()));
  fs::resize_file(dir.path(), lines[0].size() + lines[1].size() + 2);
  const auto failed = log.append(bindCard());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().error, 0);
  EXPECT_THAT(failed.error().step, HasSubstr("cut"));
  EXPECT_EQ(*log.append(noteOf("after")), 6U) << "5 is the recovered one";
  EXPECT_EQ(faultOf(verifyText(textOf(dir.path()))), "removed 3: records 3 to 4 are missing");
}

TEST(AuditLogTest, I7_AFileReplacedOrTakenAwayIsToldAndTheChainGoesOn) {
  for (const bool another : {true, false}) {
    const LogDirectory dir;
    AuditLog log = dir.open();
    ASSERT_TRUE(log.append(noteOf("before")));
    fs::rename(dir.path(), dir / "elsewhere");
    if (another) putText(dir.path(), "");
    const auto failed = log.append(bindCard());
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().step, HasSubstr("replaced"));
    EXPECT_EQ(*log.append(noteOf("after")), 3U);
    EXPECT_EQ(faultOf(verifyText(textOf(dir.path()))), "removed 1: record 1 is missing");
    EXPECT_EQ(faultOf(verifyText(textOf(dir / "elsewhere") + textOf(dir.path()))), "")
        << "put back, nothing is missing";
  }
}

TEST(AuditLogTest, I7_WhatSomebodyAddsIsKeptAndNamed) {
  const LogDirectory dir;
  AuditLog log = dir.open();
  ASSERT_TRUE(log.append(noteOf("before")));
  std::ofstream(dir.path(), std::ios::app) << "a line of somebody's\n";
  EXPECT_EQ(log.append(bindCard()).error().error, 0);
  ASSERT_TRUE(log.append(noteOf("after")));
  EXPECT_THAT(textOf(dir.path()), HasSubstr("somebody's"));
  EXPECT_THAT(faultOf(verifyText(textOf(dir.path()))), HasSubstr("inserted 2: it is no record"));
}

// A tear within the first bytes of a log, and another one in the record that says so.
TEST(AuditLogTest, I7_ALogThatWasTornTwiceAtItsBeginningIsALog) {
  for (const char* text : {"{\"s", "{\"s\n{\"seq\":1,\"ti", "\n", "{\"seq\":1,\n{"}) {
    SCOPED_TRACE(text);
    const LogDirectory dir;
    putText(dir.path(), text);
    auto opened = dir.tryOpen();
    ASSERT_TRUE(opened) << opened.error().step;
    EXPECT_TRUE(std::move(opened).value().append(noteOf("first")));
    const ChainReport report = verifyText(textOf(dir.path()));
    EXPECT_TRUE(!report.bad || report.bad->fault == ChainFault::kTorn) << faultOf(report);
  }
}

TEST(AuditLogTest, RotatesAndKeepsEight) {
  const LogDirectory dir;
  std::vector<std::uint64_t> told;
  AuditLog log = dir.open({.rotateAt = 4000, .rotated = [&told](const AuditHead& head) {
                             told.push_back(head.sequence);
                           }});
  while (told.size() < 3) ASSERT_TRUE(log.append(noteOf(std::string(500, 'x'))));
  EXPECT_TRUE(fs::exists(dir.rotated(3)));
  EXPECT_FALSE(fs::exists(dir.rotated(4)));
  EXPECT_EQ(modeOf(dir.path()), 0600U);
  EXPECT_EQ(faultOf(verifyText(wholeLog(dir.path()))), "") << "I7: the chain goes on over files";
  EXPECT_EQ(verifyText(wholeLog(dir.path())).first, 1U);
  EXPECT_THAT(linesOf(textOf(dir.path())).front(), HasSubstr("\"kind\":\"rotated\""));
  while (told.size() < 12) ASSERT_TRUE(log.append(noteOf(std::string(500, 'x'))));
  EXPECT_TRUE(fs::exists(dir.rotated(8)));
  EXPECT_FALSE(fs::exists(dir.rotated(9)));
  const ChainReport report = verifyText(wholeLog(dir.path()));
  EXPECT_EQ(faultOf(report), "");
  EXPECT_GT(report.first, 1U);
  EXPECT_EQ(report.remarks.size(), 1U) << "that older records were rotated away";
}

TEST(AuditLogTest, I7_ARotationThatFailsAgainAndAgainLosesNoMoreThanOne) {
  const LogDirectory dir;
  unsigned rotations = 0;
  AuditLog log =
      dir.open({.rotateAt = 4000, .rotated = [&rotations](const AuditHead&) { ++rotations; }});
  const auto more = [&log]() { return log.append(noteOf(std::string(500, 'x'))); };
  while (rotations < 8) ASSERT_TRUE(more());
  const std::string second = textOf(dir.rotated(7));
  // Nobody can rename what something is mounted on.
  const std::string path = dir.path();
  if (mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    GTEST_SKIP() << "needs the right to mount";
  }
  {
    KJ_DEFER(umount2(path.c_str(), MNT_DETACH));
    auto last = more();
    while (last) last = more();
    EXPECT_EQ(last.error().error, EBUSY);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(more().error().error, EBUSY);
    EXPECT_EQ(textOf(dir.rotated(8)), second);
    for (unsigned number = 2; number < 8; ++number) EXPECT_TRUE(fs::exists(dir.rotated(number)));
  }
  EXPECT_TRUE(more());
  EXPECT_EQ(rotations, 9U);
  EXPECT_TRUE(fs::exists(dir.rotated(1)));
  EXPECT_EQ(textOf(dir.rotated(8)), second);
  EXPECT_EQ(faultOf(verifyText(wholeLog(dir.path()))), "");
}

TEST(AuditLogTest, I7_ARotationThatEndedHalfwayIsFinishedByTheNextStart) {
  const LogDirectory dir;
  {
    AuditLog log = dir.open();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(log.append(noteOf("before")));
  }
  fs::rename(dir.path(), dir.rotated(1));
  for (const bool made : {false, true}) {
    if (made) putText(dir.path(), "");
    { ASSERT_TRUE(dir.open().append(noteOf("after"))); }
    EXPECT_EQ(faultOf(verifyText(wholeLog(dir.path()))), "");
    EXPECT_EQ(verifyText(wholeLog(dir.path())).good, 5U);
    fs::remove(dir.path());
  }
}

}  // namespace
}  // namespace vfiogate::test
