// Whatever ends a writer, or takes the end of its file: the log says that it is whole, or names the
// loss.

#include "tests/unit/privd/audit/logs.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

TEST(AuditDamage, I7_CutAtAnyByteItIsClosedAndGoodUpToThere) {
  const LogDirectory dir;
  {
    AuditLog log = dir.open();
    ASSERT_TRUE(log.append(noteOf("a")));
    ASSERT_TRUE(log.append(noteOf("b")));
    ASSERT_TRUE(log.append(noteOf("c")));
  }
  const std::string whole = textOf(dir.path());
  const auto lines = linesOf(whole);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    putText(dir.path(), whole.substr(0, size));
    std::uint64_t left = 0;
    for (std::size_t end = 0; left < lines.size() && end + lines[left].size() <= size; ++left) {
      end += lines[left].size() + 1;
    }
    { ASSERT_TRUE(dir.open().append(bindCard())) << size; }
    const std::string after = textOf(dir.path());
    ASSERT_EQ(after.substr(0, size), whole.substr(0, size)) << "nothing is lost";
    const ChainReport report = verifyText(after);
    ASSERT_EQ(faultOf(report), "") << size;
    ASSERT_EQ(report.good, left + 1 + report.remarks.size()) << size;
    ASSERT_LE(report.remarks.size(), 1U) << size;
  }
}

/// What the parent knows: numbers of records that the child had confirmed.
std::uint64_t confirmedBefore(int fd, std::uint64_t wanted) {
  std::uint64_t last = 0;
  while (last < wanted && read(fd, &last, sizeof(last)) == sizeof(last)) {
  }
  return last;
}

TEST(AuditDamage, I7_KilledAtAnyTimeEveryConfirmedRecordIsThere) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const LogDirectory dir;
  const AuditSettings small{.rotateAt = 20'000};
  std::uint64_t confirmed = 0;
  for (int life = 0; life < 30; ++life) {
    int pipes[2];
    ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto log = dir.open(small);
      for (;;) {
        const auto number = log.append(bindCard());
        if (!number || write(pipes[1], &*number, sizeof(*number)) < 0) _exit(1);
      }
    }
    close(pipes[1]);
    confirmed = confirmedBefore(pipes[0], confirmed + 1 + random() % 40);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it gave up by itself: " << status;
    close(pipes[0]);
    const ChainReport report = verifyText(wholeLog(dir.path()));
    if (report.bad) {
      ASSERT_EQ(report.bad->fault, ChainFault::kTorn) << faultOf(report);
    }
    ASSERT_GE(report.last, confirmed) << faultOf(report);
  }
  { ASSERT_TRUE(dir.open(small).append(noteOf("the last"))); }
  EXPECT_EQ(faultOf(verifyText(wholeLog(dir.path()))), "");
}

/// One random thing that happens to a log.
class RandomLife {
public:
  explicit RandomLife(unsigned seed) : random_(seed) {}

  void step() {
    switch (random_() % 8) {
      case 0:
        log_.reset();
        break;
      case 1:  // it ended in the middle of a record
        log_.reset();
        cut(1 + random_() % 60);
        break;
      case 2:  // somebody cut it while it was open
        mayBeShort_ = cut(1 + random_() % 900) || mayBeShort_;
        break;
      default:
        write();
    }
  }
  std::string text() const { return wholeLog(dir_.path()); }
  bool mayBeShort() const { return mayBeShort_; }

private:
  bool cut(std::size_t bytes) {
    const std::string whole = textOf(dir_.path());
    if (whole.size() <= bytes) return false;
    fs::resize_file(dir_.path(), whole.size() - bytes);
    return true;
  }
  void write() {
    if (!log_) log_.emplace(dir_.open({.rotateAt = 3000}));
    const auto first = log_->append(noteOf(std::string(random_() % 300, 'x')));
    if (first) return;
    EXPECT_EQ(first.error().error, 0) << first.error().step;
    EXPECT_TRUE(log_->append(noteOf("again")));
  }

  std::mt19937 random_;
  LogDirectory dir_;
  std::optional<AuditLog> log_;
  bool mayBeShort_ = false;
};

TEST(AuditDamage, I7_RandomLivesAreWholeOrNameTheirLoss) {
  const auto seed = std::random_device{}();
  int losses = 0;
  for (unsigned life = 0; life < 60; ++life) {
    SCOPED_TRACE("seed " + std::to_string(seed + life));
    RandomLife log(seed + life);
    for (int step = 0; step < 40; ++step) {
      log.step();
      const ChainReport report = verifyText(log.text());
      if (!report.bad) continue;
      const bool isTorn = report.bad->fault == ChainFault::kTorn;
      ASSERT_TRUE(isTorn || log.mayBeShort()) << faultOf(report) << "\n" << log.text();
      ASSERT_TRUE(isTorn || report.bad->fault == ChainFault::kRemoved) << faultOf(report);
      ++losses;
    }
  }
  EXPECT_GT(losses, 0) << "nothing was ever lost: this shows little";
}

}  // namespace
}  // namespace vfiogate::test
