// Real processes, a clock of the test's own.

#include "privd/writer/writer.h"

#include "tests/unit/privd/writer/crowd_of_descriptors.h"
#include "tests/unit/privd/writer/write_target.h"

#include <gmock/gmock.h>
#include <kj/async-io.h>
#include <kj/debug.h>

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <deque>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate {

bool operator==(const WriteOutcome& one, const WriteOutcome& two) {
  return one.kind == two.kind && one.error == two.error && one.serial == two.serial;
}
void PrintTo(const WriteOutcome& outcome, std::ostream* out) {
  *out << "kind " << static_cast<int>(outcome.kind) << " error " << outcome.error;
}

namespace {

using test::childrenOf;
using test::childrenWhen;
using test::Crowd;
using test::ReadSource;
using test::WriteTarget;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using Kind = WriteOutcome::Kind;

class Writing : public testing::Test {
public:
  // KJ's members may throw at their end; gtest does not foresee it.
  ~Writing() noexcept override = default;

protected:
  void SetUp() override {
    const auto before = childrenOf(getpid());
    auto started = ForkServer::start();
    ASSERT_TRUE(started) << started.error();
    for (const pid_t child : childrenOf(getpid())) {
      if (std::ranges::find(before, child) == before.end()) server_ = child;
    }
    writer_.emplace(io_.unixEventPort, timer_, std::move(started).value(),
                    [this](kj::StringPtr name, WriteOutcome outcome) {
                      late_.emplace_back(name.cStr(), outcome);
                    });
    testing::internal::CaptureStderr();
  }
  void TearDown() override {
    if (!said_) said();
    writer_.reset();
    if (server_ > 0) waitpid(server_, nullptr, 0);
  }

  /// All that was logged.
  /// The log's events, without their times and levels.
  std::string said() {
    said_ = true;
    return std::regex_replace(testing::internal::GetCapturedStderr(),
                              std::regex("time=\\S+ level=\\S+ "), "");
  }

  kj::Promise<WriteOutcome> begin(WriteTarget& target, const std::string& text = "x") {
    return writer_->write("0000:01:00.0 unbind", target.open(), text).eagerlyEvaluate(nullptr);
  }
  WriteOutcome writeTo(WriteTarget& target, const std::string& text = "x") {
    return begin(target, text).wait(io_.waitScope);
  }

  kj::Promise<WriteOutcome> beginRead(ReadSource& card, const char* name = "0000:01:00.0 vpd") {
    return writer_->readSerial(name, card.open()).eagerlyEvaluate(nullptr);
  }

  /// A write that will not come back, and 5 s later.
  WriteOutcome stick(WriteTarget& target) {
    target.fill();
    auto outcome = begin(target, "stuck");
    passTime(Writer::kPatience);
    return outcome.wait(io_.waitScope);
  }
  void passTime(kj::Duration time) {
    now_ = now_ + time;
    timer_.advanceTo(now_);
  }

  /// Lets the loop turn until a late end was told; the test's timeout is the limit.
  void awaitLateEnd() {
    while (late_.empty()) io_.provider->getTimer().afterDelay(kMoment).wait(io_.waitScope);
  }

  bool childIsThere() { return childrenWhen(server_, 1).size() == 1; }
  void killChild() {
    const auto children = childrenWhen(server_, 1);
    ASSERT_THAT(children, SizeIs(1));
    kill(children.front(), SIGKILL);
  }

  static constexpr auto kTryPause = 50 * kj::MILLISECONDS;
  static constexpr auto kMoment = 1 * kj::MILLISECONDS;
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  kj::TimePoint now_ = kj::origin<kj::TimePoint>();
  kj::TimerImpl timer_{now_};
  std::optional<Writer> writer_;
  std::vector<std::pair<std::string, WriteOutcome>> late_;
  pid_t server_ = -1;
  bool said_ = false;
};

TEST_F(Writing, ArrivesAndIsAnswered) {
  WriteTarget target;
  EXPECT_EQ(writeTo(target, "vfio-pci"), WriteOutcome{Kind::kWritten});
  EXPECT_EQ(target.written(), "vfio-pci");
  EXPECT_EQ(said(), "");
}

// Any process of root's can make the kernel say ETOOMANYREFS for a while.
TEST_F(Writing, IsTriedAgainUntilTheKernelTakesItsDescriptors) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, whose descriptors under way are counted";
  const Crowd crowd;
  WriteTarget target;
  auto outcome = begin(target, "vfio-pci");
  for (int i = 0; i < 30; ++i) {
    EXPECT_FALSE(outcome.poll(io_.waitScope));
    passTime(kTryPause);
  }
  crowd.leave();
  passTime(kTryPause);
  EXPECT_EQ(outcome.wait(io_.waitScope), WriteOutcome{Kind::kWritten});
  EXPECT_EQ(target.written(), "vfio-pci");
}

TEST_F(Writing, IsGivenUpWhereTheKernelTakesNoDescriptorsFor2Seconds) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, whose descriptors under way are counted";
  const Crowd crowd;
  WriteTarget target;
  auto outcome = begin(target);
  for (int i = 0; i < 40; ++i) {
    EXPECT_FALSE(outcome.poll(io_.waitScope)) << i;
    passTime(kTryPause);
  }
  EXPECT_EQ(outcome.wait(io_.waitScope), (WriteOutcome{Kind::kRefused, ETOOMANYREFS}));
}

TEST_F(Writing, FailsWithTheKernelsErrno) {
  WriteTarget target;
  target.close();
  EXPECT_EQ(writeTo(target), (WriteOutcome{Kind::kFailed, EPIPE}));
}

TEST_F(Writing, OfWhatIsNotForWritingFails) {
  kj::AutoCloseFd file(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  auto outcome = writer_->write("status", kj::mv(file), "x");
  EXPECT_EQ(outcome.wait(io_.waitScope), (WriteOutcome{Kind::kFailed, EBADF}));
}

TEST_F(Writing, SeveralAtOnceAreAnsweredEachForItself) {
  std::deque<WriteTarget> targets(20);
  std::vector<kj::Promise<WriteOutcome>> outcomes;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (i % 2 == 1) targets[i].close();
    outcomes.push_back(begin(targets[i]));
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto want =
        i % 2 == 1 ? WriteOutcome{Kind::kFailed, EPIPE} : WriteOutcome{Kind::kWritten};
    EXPECT_EQ(outcomes[i].wait(io_.waitScope), want) << i;
  }
}

TEST_F(Writing, OfAKilledProcessIsOfUnknownOutcome) {
  WriteTarget target;
  target.fill();
  auto outcome = begin(target);
  killChild();
  EXPECT_EQ(outcome.wait(io_.waitScope), WriteOutcome{Kind::kDied});
}

TEST_F(Writing, IsNotStuckBeforeItsTimeIsUp) {
  WriteTarget target;
  target.fill();
  auto outcome = begin(target);
  ASSERT_TRUE(childIsThere());
  passTime(Writer::kPatience - kMoment);
  EXPECT_FALSE(outcome.poll(io_.waitScope));
  target.drain();
  EXPECT_EQ(outcome.wait(io_.waitScope), WriteOutcome{Kind::kWritten});
  passTime(Writer::kPatience);
  io_.waitScope.poll();
  EXPECT_EQ(writer_->stuck(), 0U);
  EXPECT_THAT(late_, IsEmpty());
}

TEST_F(Writing, ThatIsStuckIsToldAgainWhenItEnds) {
  WriteTarget target;
  EXPECT_EQ(stick(target), WriteOutcome{Kind::kStuck});
  EXPECT_EQ(writer_->stuck(), 1U);
  target.drain();
  awaitLateEnd();
  EXPECT_THAT(late_, ElementsAre(Pair("0000:01:00.0 unbind", WriteOutcome{Kind::kWritten})));
  EXPECT_EQ(writer_->stuck(), 0U);
  EXPECT_EQ(said(),
            "event=write_stuck write=\"0000:01:00.0 unbind\" stuck=1\n"
            "event=write_ended_late write=\"0000:01:00.0 unbind\" outcome=written\n");
}

TEST_F(Writing, ThatIsStuckMayEndByFailing) {
  WriteTarget target;
  stick(target);
  target.close();
  awaitLateEnd();
  EXPECT_EQ(late_.front().second, (WriteOutcome{Kind::kFailed, EPIPE}));
  EXPECT_THAT(said(), testing::EndsWith("outcome=\"Broken pipe\"\n"));
}

TEST_F(Writing, ThatIsStuckMayEndByDying) {
  WriteTarget target;
  stick(target);
  killChild();
  awaitLateEnd();
  EXPECT_EQ(late_.front().second, WriteOutcome{Kind::kDied});
  EXPECT_THAT(said(), testing::EndsWith("outcome=unknown\n"));
}

TEST_F(Writing, IsRefusedWhileEightAreStuck) {
  std::deque<WriteTarget> stuck(Writer::kMostStuck);
  for (WriteTarget& target : stuck) EXPECT_EQ(stick(target), WriteOutcome{Kind::kStuck});
  EXPECT_EQ(writer_->stuck(), Writer::kMostStuck);
  WriteTarget next;
  EXPECT_EQ(writeTo(next), (WriteOutcome{Kind::kRefused, EBUSY}));
  EXPECT_THAT(childrenWhen(server_, Writer::kMostStuck), SizeIs(Writer::kMostStuck));
  stuck.front().drain();
  awaitLateEnd();
  WriteTarget then;
  EXPECT_EQ(writeTo(then), WriteOutcome{Kind::kWritten});
}

TEST_F(Writing, OrReadingASerialNumberIsAnsweredWithIt) {
  ReadSource card;
  card.saySerial("MT2112X01234");
  EXPECT_EQ(beginRead(card).wait(io_.waitScope), (WriteOutcome{Kind::kWritten, 0, "MT2112X01234"}));
  ReadSource other;
  other.say("\x78");
  EXPECT_EQ(beginRead(other).wait(io_.waitScope), WriteOutcome{Kind::kWritten});
}

TEST_F(Writing, AReadThatIsStuckTakesNoPlaceOfAWrites) {
  std::deque<ReadSource> cards(Writer::kMostReads);
  std::vector<kj::Promise<WriteOutcome>> reads;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    reads.push_back(beginRead(cards[i], ("card " + std::to_string(i)).c_str()));
  }
  ReadSource next;
  EXPECT_EQ(beginRead(next).wait(io_.waitScope), (WriteOutcome{Kind::kRefused, EBUSY}));
  passTime(Writer::kReadPatience);
  for (auto& read : reads) EXPECT_EQ(read.wait(io_.waitScope), WriteOutcome{Kind::kStuck});
  EXPECT_EQ(writer_->stuck(), 0U);
  WriteTarget target;
  EXPECT_EQ(writeTo(target), WriteOutcome{Kind::kWritten});
  for (const ReadSource& card : cards) card.saySerial("MT1");
  while (true) {
    ReadSource again;
    again.saySerial("MT2");
    const WriteOutcome outcome = beginRead(again, "card 0").wait(io_.waitScope);
    if (outcome != WriteOutcome{Kind::kRefused, EBUSY}) {
      EXPECT_EQ(outcome, (WriteOutcome{Kind::kWritten, 0, "MT2"}));
      break;
    }
    io_.provider->getTimer().afterDelay(kMoment).wait(io_.waitScope);
  }
  EXPECT_THAT(late_, IsEmpty()) << "no change of drivers waits for it";
}

TEST_F(Writing, OneCardIsReadOnceAtATime) {
  ReadSource card;
  auto first = beginRead(card);
  ReadSource same;
  EXPECT_EQ(beginRead(same).wait(io_.waitScope), (WriteOutcome{Kind::kRefused, EBUSY}));
  card.saySerial("MT1");
  EXPECT_EQ(first.wait(io_.waitScope), (WriteOutcome{Kind::kWritten, 0, "MT1"}));
}

TEST_F(Writing, OfMoreThanTheServerTakesIsRefused) {
  WriteTarget target;
  EXPECT_EQ(writeTo(target, std::string(ForkServer::kLongestText + 1, 'x')),
            (WriteOutcome{Kind::kRefused, EMSGSIZE}));
  WriteTarget other;
  EXPECT_EQ(writeTo(other, ""), (WriteOutcome{Kind::kRefused, EMSGSIZE}));
  EXPECT_EQ(target.written(), "") << "the attribute is closed";
}

TEST_F(Writing, WithoutAServerIsRefusedAndSaidOnce) {
  kill(server_, SIGKILL);
  waitpid(std::exchange(server_, -1), nullptr, 0);
  for (int i = 0; i < 3; ++i) {
    WriteTarget target;
    EXPECT_EQ(writeTo(target), (WriteOutcome{Kind::kRefused, EPIPE}));
  }
  io_.waitScope.poll();
  EXPECT_EQ(said(), "event=fork_server_gone\n");
}

TEST_F(Writing, NobodyHasToWriteForTheLossToBeSaid) {
  kill(server_, SIGKILL);
  waitpid(std::exchange(server_, -1), nullptr, 0);
  io_.waitScope.poll();
  EXPECT_EQ(said(), "event=fork_server_gone\n");
}

TEST_F(Writing, ThatIsUnderWayOutlivesTheServer) {
  WriteTarget target;
  target.fill();
  auto outcome = begin(target);
  ASSERT_TRUE(childIsThere());
  kill(server_, SIGKILL);
  target.drain();
  EXPECT_EQ(outcome.wait(io_.waitScope), WriteOutcome{Kind::kWritten});
}

TEST_F(Writing, ThatWasNotTakenBeforeTheServerDiedIsOfUnknownOutcome) {
  kill(server_, SIGSTOP);
  int status = 0;
  waitpid(server_, &status, WUNTRACED);
  WriteTarget target;
  auto outcome = begin(target);
  kill(server_, SIGKILL);
  EXPECT_EQ(outcome.wait(io_.waitScope), WriteOutcome{Kind::kDied});
}

TEST_F(Writing, WhosePromiseIsDroppedIsCountedAllTheSame) {
  WriteTarget target;
  target.fill();
  { auto dropped = begin(target); }
  passTime(Writer::kPatience);
  io_.waitScope.poll();
  EXPECT_EQ(writer_->stuck(), 1U);
  target.drain();
  awaitLateEnd();
  EXPECT_EQ(writer_->stuck(), 0U);
}

TEST_F(Writing, ThatIsStuckHoldsUpNobodyWhoLeaves) {
  WriteTarget target;
  stick(target);
  writer_.reset();
  int status = 0;
  waitpid(std::exchange(server_, -1), &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  target.drain();
  EXPECT_EQ(target.written(), "stuck");
}

}  // namespace
}  // namespace vfiogate
