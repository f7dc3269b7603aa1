// A daemon and commands write one audit log at the same time.

#include "privd/audit/record_end.h"
#include "tests/unit/privd/audit/logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

void add(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

/// The record that would come next, as its writer would have written it.
std::string nextRecord(const AuditHead& after) {
  return recordLine({after.sequence + 1, 0, 0, "7a1c", after.hash}, fieldsOf(noteOf("another's")));
}

TEST(AuditWriters, TakeTurnsInOneChain) {
  const LogDirectory dir;
  AuditLog daemon = dir.open();
  AuditLog command = dir.open();
  EXPECT_EQ(*daemon.append(bindCard()), 1U);
  EXPECT_EQ(*command.append(bindCard()), 2U);
  EXPECT_EQ(*command.append(doneOf(2)), 3U);
  EXPECT_EQ(*daemon.append(doneOf(1)), 4U);
  const ChainReport report = verifyText(textOf(dir.path()));
  EXPECT_EQ(faultOf(report), "");
  EXPECT_EQ(report.good, 4U);
  EXPECT_TRUE(report.remarks.empty());
}

TEST(AuditWriters, TheHeadIsThatOfWhoeverWroteLast) {
  const LogDirectory dir;
  AuditLog daemon = dir.open();
  AuditLog command = dir.open();
  ASSERT_TRUE(command.append(noteOf("only commands write")));
  EXPECT_EQ(daemon.head().sequence, 0U);
  EXPECT_EQ(daemon.reread()->hash, command.head().hash);
  EXPECT_EQ(textOf(dir.path()).find("recovered"), std::string::npos);
}

TEST(AuditWriters, OneThatDiedInTheMiddleOfARecordIsClosedByTheNext) {
  const LogDirectory dir;
  AuditLog daemon = dir.open();
  ASSERT_TRUE(daemon.append(noteOf("first")));
  const std::string half = nextRecord(daemon.head()).substr(0, 90);
  add(dir.path(), half);
  EXPECT_EQ(*daemon.append(noteOf("after")), 3U) << "2 says that it was torn";
  AuditLog command = dir.open();
  EXPECT_EQ(*command.append(noteOf("after that")), 4U);
  const std::string text = textOf(dir.path());
  EXPECT_THAT(text, HasSubstr(half + "\n"));
  EXPECT_THAT(text, HasSubstr("\"kind\":\"recovered\",\"reason\":\"torn\",\"bytes\":90,"));
  EXPECT_EQ(faultOf(verifyText(text)), "");
}

TEST(AuditWriters, ATearThatAnotherOneClosedIsNoNews) {
  const LogDirectory dir;
  AuditLog daemon = dir.open();
  ASSERT_TRUE(daemon.append(noteOf("first")));
  add(dir.path(), nextRecord(daemon.head()).substr(0, 90));
  { ASSERT_TRUE(dir.open().append(noteOf("a command's"))); }
  EXPECT_EQ(*daemon.append(noteOf("after")), 4U);
  EXPECT_EQ(faultOf(verifyText(textOf(dir.path()))), "");
}

TEST(AuditWriters, ARecordThatLacksItsNewlineStands) {
  const LogDirectory dir;
  AuditLog daemon = dir.open();
  ASSERT_TRUE(daemon.append(noteOf("first")));
  std::string record = nextRecord(daemon.head());
  record.pop_back();
  add(dir.path(), record);
  EXPECT_EQ(*daemon.append(noteOf("after")), 3U);
  EXPECT_EQ(verifyText(textOf(dir.path())).good, 3U);
}

TEST(AuditWriters, AForeignTailIsRefusedOnceWithWhatItIs) {
  const LogDirectory dir;
  AuditLog daemon = dir.open();
  ASSERT_TRUE(daemon.append(noteOf("first")));
  add(dir.path(), nextRecord({7, std::string(kNoHash)}));
  const auto refused = daemon.append(bindCard());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error, 0);
  EXPECT_THAT(refused.error().step, HasSubstr("grown"));
  EXPECT_THAT(refused.error().step, HasSubstr("behind record 1 do not continue it"));
  EXPECT_THAT(textOf(dir.path()), Not(HasSubstr("recovered")));
  EXPECT_EQ(*daemon.append(bindCard()), 3U);
  EXPECT_THAT(faultOf(verifyText(textOf(dir.path()))), HasSubstr("reordered 8"));
}

// Each knows records that the other does not, until one says that it went on.
TEST(AuditWriters, TwoThatDisagreeComeTogetherAgain) {
  const LogDirectory dir;
  AuditLog daemon = dir.open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(daemon.append(noteOf("before")));
  fs::resize_file(dir.path(), linesOf(textOf(dir.path())).front().size() + 1);
  AuditLog command = dir.open();
  ASSERT_TRUE(command.append(noteOf("knows one record")));
  EXPECT_FALSE(daemon.append(noteOf("knows three")));
  ASSERT_EQ(*daemon.append(noteOf("knows three")), 5U);
  EXPECT_EQ(*command.append(noteOf("goes on")), 6U);
  EXPECT_EQ(*daemon.append(noteOf("goes on")), 7U);
}

TEST(AuditWriters, FindTheirWayAfterTheOtherRotated) {
  for (const unsigned times : {1U, 3U}) {
    const LogDirectory dir;
    AuditLog slow = dir.open({.rotateAt = 4000});
    ASSERT_TRUE(slow.append(noteOf("slow")));
    unsigned rotated = 0;
    AuditLog quick =
        dir.open({.rotateAt = 4000, .rotated = [&rotated](const AuditHead&) { ++rotated; }});
    while (rotated < times) ASSERT_TRUE(quick.append(noteOf(std::string(500, 'x'))));
    EXPECT_TRUE(slow.append(noteOf("slow again")));
    EXPECT_EQ(slow.head().sequence, quick.head().sequence + 1);
    EXPECT_TRUE(quick.append(noteOf("quick again")));
    EXPECT_EQ(faultOf(verifyText(wholeLog(dir.path()))), "");
  }
}

TEST(AuditWriters, OneThatKeepsTheLockIsWaitedForAndThenNamed) {
  const LogDirectory dir;
  AuditLog log = dir.open();
  const kj::AutoCloseFd held(open(dir.path().c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  const auto refused = log.append(bindCard());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error, EWOULDBLOCK);
  EXPECT_THAT(refused.error().step, HasSubstr("another process"));
  EXPECT_EQ(textOf(dir.path()), "");
  EXPECT_EQ(dir.tryOpen().error().error, EWOULDBLOCK);
  ASSERT_EQ(flock(held, LOCK_UN), 0);
  EXPECT_EQ(*log.append(bindCard()), 1U);
}

/// Three writers, of whom each may come anew, or end in the middle of a record.
class Writers {
public:
  explicit Writers(unsigned seed) : random_(seed) {}

  void step() {
    auto& writer = writers_.at(random_() % writers_.size());
    switch (random_() % 8) {
      case 0:
        writer.reset();
        break;
      case 1: {
        writer.reset();
        const std::string record = nextRecord(dir_.open(kSmall).head());
        add(dir_.path(), record.substr(0, 1 + random_() % (record.size() - 2)));
        break;
      }
      default:
        if (!writer) writer.emplace(dir_.open(kSmall));
        const auto written = writer->append(noteOf(std::string(random_() % 300, 'x')));
        ASSERT_TRUE(written) << written.error().step;
        ++written_;
    }
  }
  /// Whoever comes last closes what is torn.
  std::string end() {
    EXPECT_TRUE(dir_.open(kSmall).append(noteOf("the last")));
    ++written_;
    return wholeLog(dir_.path());
  }
  std::uint64_t written() const { return written_; }

private:
  static inline const AuditSettings kSmall{.rotateAt = 6000};
  std::mt19937 random_;
  LogDirectory dir_;
  std::array<std::optional<AuditLog>, 3> writers_;
  std::uint64_t written_ = 0;
};

TEST(AuditWriters, I7_AThousandInterleavingsLeaveAWholeChain) {
  const auto seed = std::random_device{}();
  std::uint64_t recovered = 0;
  for (unsigned life = 0; life < 1000; ++life) {
    SCOPED_TRACE("seed " + std::to_string(seed + life));
    Writers writers(seed + life);
    for (int step = 0; step < 12 && !testing::Test::HasFatalFailure(); ++step) writers.step();
    const std::string text = writers.end();
    const ChainReport report = verifyText(text);
    ASSERT_EQ(faultOf(report), "") << text;
    ASSERT_GE(report.good, writers.written() + report.remarks.size());
    recovered += report.remarks.size();
  }
  EXPECT_GT(recovered, 0U) << "nobody ever ended in the middle: this shows little";
}

TEST(AuditWriters, I7_ProcessesThatAreKilledLeaveAWholeChain) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const LogDirectory dir;
  const AuditSettings small{.rotateAt = 20'000};
  int pipes[2];
  ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
  const auto begin = [&]() {
    const pid_t child = fork();
    if (child != 0) return child;
    auto log = dir.open(small);
    for (;;) {
      const auto number = log.append(bindCard());
      if (!number || write(pipes[1], &*number, sizeof(*number)) < 0) _exit(1);
    }
  };
  std::array<pid_t, 2> writers{begin(), begin()};
  std::uint64_t confirmed = 0;
  const auto end = [](pid_t writer) {
    kill(writer, SIGKILL);
    int status = 0;
    EXPECT_EQ(waitpid(writer, &status, 0), writer);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it gave up by itself: " << status;
  };
  for (int life = 0; life < 20; ++life) {
    for (auto more = 1 + random() % 40; more > 0; --more) {
      ASSERT_EQ(read(pipes[0], &confirmed, sizeof(confirmed)),
                static_cast<ssize_t>(sizeof(confirmed)));
    }
    pid_t& one = writers.at(random() % writers.size());
    end(one);
    one = begin();
  }
  for (const pid_t writer : writers) end(writer);
  { ASSERT_TRUE(dir.open(small).append(noteOf("the last"))); }
  const ChainReport report = verifyText(wholeLog(dir.path()));
  EXPECT_EQ(faultOf(report), "");
  EXPECT_GE(report.last, confirmed);
  close(pipes[0]);
  close(pipes[1]);
}

}  // namespace
}  // namespace vfiogate::test
