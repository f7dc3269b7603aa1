// The server itself, spoken to over its socket. Each test has one of its own, a real process.

#include "privd/writer/fork_server.h"

#include "tests/unit/privd/writer/write_target.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfiogate {
namespace {

using test::childrenOf;
using test::childrenWhen;
using test::ReadSource;
using test::WriteTarget;
using testing::IsEmpty;
using testing::SizeIs;

class ForkServerAlone : public testing::Test {
protected:
  ForkServerAlone() = default;
  ~ForkServerAlone() noexcept override = default;

  void SetUp() override {
    const auto before = childrenOf(getpid());
    auto started = ForkServer::start();
    ASSERT_TRUE(started) << started.error();
    server_.emplace(std::move(started).value());
    for (const pid_t child : childrenOf(getpid())) {
      if (std::ranges::find(before, child) == before.end()) pid_ = child;
    }
    ASSERT_GT(pid_, 0);
  }
  void TearDown() override {
    server_.reset();
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }

  /// How the server ended, once it has.
  int ending() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }

  std::optional<int> answerTo(std::string_view text, WriteTarget& target) {
    WriteTarget answers;
    EXPECT_EQ(server_->ask(text, target.open(), answers.open(), -1), 0);
    const auto answer = answerFrom(answers);
    EXPECT_EQ(answers.written(), "") << "said more than its answer";  // and let go of all
    return answer;
  }
  /// None if the child died.
  static std::optional<int> answerFrom(WriteTarget& answers) {
    const std::string bytes = answers.written();
    int error = 0;
    if (bytes.size() != sizeof(error)) return std::nullopt;
    memcpy(&error, bytes.data(), sizeof(error));
    return error;
  }

  /// A message as privd would never send it.
  void send(std::string_view text, const std::vector<int>& fds) {
    std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
    iovec part = {const_cast<char*>(text.data()), text.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    }
    ASSERT_GE(sendmsg(server_->socketFd(), &message, MSG_NOSIGNAL), 0) << strerror(errno);
  }

  std::optional<ForkServer> server_;
  pid_t pid_ = -1;
};

TEST_F(ForkServerAlone, WritesOnceAndSaysSo) {
  WriteTarget target;
  EXPECT_EQ(answerTo("vfio-pci", target), 0);
  EXPECT_EQ(target.written(), "vfio-pci");
}

TEST_F(ForkServerAlone, WritesTheLongestTextWhole) {
  WriteTarget target;
  const std::string text(ForkServer::kLongestText, 'a');
  EXPECT_EQ(answerTo(text, target), 0);
  EXPECT_EQ(target.written(), text);
}

TEST_F(ForkServerAlone, SaysWhyAWriteFailed) {
  WriteTarget target;
  target.close();
  EXPECT_EQ(answerTo("vfio-pci", target), EPIPE);
}

TEST_F(ForkServerAlone, ReadsASerialNumberAndSaysIt) {
  ReadSource card;
  card.saySerial(" MT2112X01234 ");
  WriteTarget answers;
  EXPECT_EQ(server_->askSerial(card.open(), answers.open()), 0);
  EXPECT_EQ(answers.written(), std::string(sizeof(int), '\0') + "MT2112X01234");
  EXPECT_EQ(answers.written(), "") << "it let go of all";
}

TEST_F(ForkServerAlone, SaysNothingOfACardThatHasNoSerialNumberOrBabbles) {
  for (const std::string& said :
       {std::string("\x78"), std::string(4096, '\xff'), std::string("\x90\x05\0SN\x02\x1b[", 8)}) {
    ReadSource card;
    card.say(said);
    WriteTarget answers;
    EXPECT_EQ(server_->askSerial(card.open(), answers.open()), 0);
    EXPECT_EQ(answers.written(), std::string(sizeof(int), '\0'));
  }
}

TEST_F(ForkServerAlone, SaysWhyAReadFailed) {
  WriteTarget notForReading;
  WriteTarget answers;
  EXPECT_EQ(server_->askSerial(notForReading.open(), answers.open()), 0);
  EXPECT_EQ(answerFrom(answers), EBADF);
}

TEST_F(ForkServerAlone, IsNotHeldUpByAReadThatIsStuck) {
  ReadSource card;
  WriteTarget late;
  EXPECT_EQ(server_->askSerial(card.open(), late.open()), 0);
  WriteTarget target;
  EXPECT_EQ(answerTo("vfio-pci", target), 0);
  card.saySerial("MT1");
  EXPECT_EQ(late.written(), std::string(sizeof(int), '\0') + "MT1");
}

TEST_F(ForkServerAlone, IsNotHeldUpByAWriteThatIsStuck) {
  WriteTarget stuck;
  stuck.fill();
  WriteTarget answers;
  ASSERT_EQ(server_->ask("a", stuck.open(), answers.open(), -1), 0);
  WriteTarget free;
  EXPECT_EQ(answerTo("b", free), 0);
  stuck.drain();
  EXPECT_EQ(answerFrom(answers), 0);
  EXPECT_EQ(stuck.written(), "a");
}

TEST_F(ForkServerAlone, LeavesNoChildBehindThatSomebodyWouldHaveToWaitFor) {
  for (int i = 0; i < 5; ++i) {
    WriteTarget target;
    EXPECT_EQ(answerTo("x", target), 0);
  }
  EXPECT_THAT(childrenWhen(pid_, 0), IsEmpty());
}

TEST_F(ForkServerAlone, HoldsItsSocketAndStderrOnly) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to look";
  WriteTarget half;
  send("half a request", {half.open().get()});
  WriteTarget whole;
  EXPECT_EQ(answerTo("x", whole), 0);
  EXPECT_EQ(half.written(), "") << "somebody still has it open";
  EXPECT_THAT(childrenWhen(pid_, 0), IsEmpty());
  const auto own = test::openDescriptors(getpid());
  const auto ours = std::ranges::find(own, STDERR_FILENO, &test::OpenDescriptor::fd)->target;
  const auto descriptors = test::openDescriptors(pid_);
  ASSERT_THAT(descriptors, SizeIs(3));
  EXPECT_EQ(descriptors[0].kind, mode_t{S_IFSOCK});
  EXPECT_EQ(descriptors[1].target, ours);
  EXPECT_EQ(descriptors[2].target, ours);
}

// I1: whoever died meanwhile, nobody else has the device before the kernel came back.
TEST_F(ForkServerAlone, I1_AStuckChildHoldsItsLock) {
  const kj::AutoCloseFd file(memfd_create("lock", MFD_CLOEXEC));
  const auto opened = [&file]() {
    return kj::AutoCloseFd(
        open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), O_RDWR | O_CLOEXEC));
  };
  WriteTarget stuck;
  stuck.fill();
  WriteTarget answers;
  {
    const kj::AutoCloseFd lock = opened();
    ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
    ASSERT_EQ(server_->ask("a", stuck.open(), answers.open(), lock), 0);
    ASSERT_THAT(childrenWhen(pid_, 1), SizeIs(1));
  }
  const kj::AutoCloseFd other = opened();
  EXPECT_EQ(flock(other, LOCK_EX | LOCK_NB), -1);
  stuck.drain();
  EXPECT_EQ(answerFrom(answers), 0);
  ASSERT_THAT(childrenWhen(pid_, 0), IsEmpty());
  // The server itself has the lock until it goes on after it has made the child.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (flock(other, LOCK_EX | LOCK_NB) != 0 && std::chrono::steady_clock::now() < end) {
    sched_yield();
  }
  EXPECT_EQ(flock(other, LOCK_EX | LOCK_NB), 0);
}

TEST_F(ForkServerAlone, AStuckChildHoldsNothingButItsAttributeAndItsAnswer) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to look";
  WriteTarget stuck;
  stuck.fill();
  WriteTarget answers;
  ASSERT_EQ(server_->ask("a", stuck.open(), answers.open(), -1), 0);
  const auto children = childrenWhen(pid_, 1);
  ASSERT_THAT(children, SizeIs(1));
  // Its first act is to let go of the rest.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (test::openDescriptors(children[0]).size() != 2 && std::chrono::steady_clock::now() < end) {
    sched_yield();
  }
  std::vector<mode_t> kinds;
  for (const auto& descriptor : test::openDescriptors(children[0])) {
    kinds.push_back(descriptor.kind);
  }
  EXPECT_THAT(kinds, testing::ElementsAre(S_IFIFO, S_IFIFO));
  stuck.drain();
}

TEST_F(ForkServerAlone, RefusesTextsOfAnotherLengthBeforeTheyAreSent) {
  WriteTarget target;
  WriteTarget answers;
  EXPECT_EQ(server_->ask("", target.open(), answers.open(), -1), EMSGSIZE);
  const std::string tooLong(ForkServer::kLongestText + 1, 'a');
  EXPECT_EQ(server_->ask(tooLong, target.open(), answers.open(), -1), EMSGSIZE);
}

TEST_F(ForkServerAlone, DropsMessagesOfAnotherFormAndGoesOn) {
  WriteTarget target;
  WriteTarget answers;
  kj::AutoCloseFd in = target.open();
  kj::AutoCloseFd out = answers.open();
  const std::vector<std::pair<std::string, std::vector<int>>> malformed{
      {"no descriptor", {}},
      {"one descriptor", {in}},
      {"four descriptors", {in, out, out, out}},
      {std::string(ForkServer::kLongestText + 1, 'a'), {in, out}},
  };
  for (const auto& [text, fds] : malformed) send(text, fds);
  in = nullptr;
  out = nullptr;
  EXPECT_EQ(answerFrom(answers), std::nullopt);
  EXPECT_EQ(target.written(), "");
  WriteTarget next;
  EXPECT_EQ(answerTo("well-formed", next), 0);
}

TEST_F(ForkServerAlone, ADeadChildIsTheEndOfItsAnswer) {
  WriteTarget stuck;
  stuck.fill();
  WriteTarget answers;
  ASSERT_EQ(server_->ask("a", stuck.open(), answers.open(), -1), 0);
  const auto children = childrenWhen(pid_, 1);
  ASSERT_THAT(children, SizeIs(1));
  kill(children[0], SIGKILL);
  EXPECT_EQ(answerFrom(answers), std::nullopt);
}

TEST_F(ForkServerAlone, EndsWithTheOtherEndEvenWhileAWriteIsStuck) {
  WriteTarget stuck;
  stuck.fill();
  WriteTarget answers;
  ASSERT_EQ(server_->ask("a", stuck.open(), answers.open(), -1), 0);
  server_.reset();
  const int status = ending();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  stuck.drain();
  EXPECT_EQ(answerFrom(answers), 0) << "the write that was under way is not undone";
}

TEST_F(ForkServerAlone, IsNotEndedByWhatEndsPrivd) {
  ASSERT_GT(pid_, 0);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) kill(pid_, number);
  WriteTarget target;
  EXPECT_EQ(answerTo("x", target), 0);
}

TEST_F(ForkServerAlone, SaysThatItIsGone) {
  kill(pid_, SIGKILL);
  ending();
  WriteTarget target;
  WriteTarget answers;
  EXPECT_EQ(server_->ask("x", target.open(), answers.open(), -1), EPIPE);
}

}  // namespace
}  // namespace vfiogate
