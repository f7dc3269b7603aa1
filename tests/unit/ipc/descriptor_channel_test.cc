#include "ipc/codec/descriptor_channel.h"

#include "ipc/codec/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kj/async-io.h>
#include <kj/debug.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

using testing::HasSubstr;
using Sent = DescriptorSender::Sent;

struct Pair {
  kj::AutoCloseFd one;
  kj::AutoCloseFd other;
};

Pair makePair(int type) {
  int pair[2];
  KJ_SYSCALL(socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
  return {kj::AutoCloseFd(pair[0]), kj::AutoCloseFd(pair[1])};
}

ino_t inodeOf(int fd) {
  struct stat found = {};
  KJ_SYSCALL(fstat(fd, &found));
  return found.st_ino;
}

auto openDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

/// Sends `size` bytes of `data` with `fds`, as a stranger might.
void sendRaw(int socketFd, const void* data, std::size_t size, const std::vector<int>& fds) {
  union {
    cmsghdr header;
    char room[CMSG_SPACE(8 * sizeof(int))];
  } control = {};
  iovec part = {const_cast<void*>(data), size};
  msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (!fds.empty()) {
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    memcpy(CMSG_DATA(&control.header), fds.data(), fds.size() * sizeof(int));
  }
  KJ_SYSCALL(sendmsg(socketFd, &message, MSG_NOSIGNAL));
}

std::string refusal(int fd) {
  const auto received = receiveOpening(fd);
  return received ? "accepted" : received.error();
}

TEST(Opening, HandsOverOneEndOfAChannel) {
  const Pair line = makePair(SOCK_STREAM);
  auto sender = sendOpening(line.one);
  ASSERT_TRUE(sender) << sender.error();
  auto received = receiveOpening(line.other);
  ASSERT_TRUE(received) << received.error();
  auto held = std::move(received).value();
  auto& end = KJ_REQUIRE_NONNULL(held, "the opening has not come");
  EXPECT_EQ(fcntl(end, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(fcntl(end, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  EXPECT_EQ(std::move(sender).value().send(1, DescriptorKind::kListener, line.one), Sent::kSent);
}

TEST(Opening, LeavesWhatFollowsItOnTheLine) {
  const Pair line = makePair(SOCK_STREAM);
  ASSERT_TRUE(sendOpening(line.one));
  KJ_SYSCALL(write(line.one, "rpc", 3));
  ASSERT_TRUE(receiveOpening(line.other));
  char rest[8] = {};
  EXPECT_EQ(read(line.other, rest, sizeof(rest)), 3);
}

TEST(Opening, IsWaitedFor) {
  const Pair line = makePair(SOCK_STREAM);
  const auto received = receiveOpening(line.other);
  ASSERT_TRUE(received) << received.error();
  EXPECT_TRUE(*received == nullptr);
}

TEST(Opening, FailsOnALineThatIsGone) {
  Pair line = makePair(SOCK_STREAM);
  line.other = nullptr;
  const auto sender = sendOpening(line.one);
  ASSERT_FALSE(sender);
  EXPECT_THAT(sender.error(), HasSubstr("sending the opening"));
}

class RefusesOpening : public testing::Test {
protected:
  std::string after(std::uint8_t version, const std::vector<int>& fds) {
    const Pair line = makePair(SOCK_STREAM);
    sendRaw(line.one, &version, 1, fds);
    return refusal(line.other);
  }
};

TEST_F(RefusesOpening, OfAnotherVersionAndSaysBoth) {
  const Pair channel = makePair(SOCK_SEQPACKET);
  EXPECT_EQ(after(9, {channel.one}), "speaks version 9, this is version " +
                                         std::to_string(kChannelVersion) +
                                         ": update both to the same release");
}

TEST_F(RefusesOpening, WithoutADescriptor) {
  EXPECT_EQ(after(kChannelVersion, {}), "opened without a descriptor channel: not privd");
}

TEST_F(RefusesOpening, WithADescriptorThatIsNoChannel) {
  const Pair stream = makePair(SOCK_STREAM);
  const Pair datagrams = makePair(SOCK_DGRAM);
  const kj::AutoCloseFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {stream.one.get(), datagrams.one.get(), file.get()}) {
    EXPECT_THAT(after(kChannelVersion, {fd}), HasSubstr("without a descriptor channel"));
  }
}

TEST_F(RefusesOpening, WithTwoDescriptorsAndKeepsNeither) {
  const Pair channel = makePair(SOCK_SEQPACKET);
  const auto before = openDescriptors();
  EXPECT_THAT(after(kChannelVersion, {channel.one, channel.other}),
              HasSubstr("without a descriptor channel"));
  EXPECT_EQ(openDescriptors(), before);
}

TEST_F(RefusesOpening, ByAPeerThatLeft) {
  Pair line = makePair(SOCK_STREAM);
  line.one = nullptr;
  EXPECT_EQ(refusal(line.other), "closed before it said its version");
}

class Channel : public testing::Test {
protected:
  // KJ's destructors may throw, GoogleTest's must not.
  ~Channel() noexcept override = default;

  Sent send(std::uint32_t ticket, DescriptorKind kind = DescriptorKind::kListener) {
    return sender_.send(ticket, kind, socket_.one);
  }
  kj::Promise<kj::AutoCloseFd> await(std::uint32_t ticket) {
    return receiver_.await(ticket, DescriptorKind::kListener);
  }
  std::string failureOf(kj::Promise<kj::AutoCloseFd> awaited) {
    auto caught = awaited.then([](kj::AutoCloseFd&& /*fd*/) { return kj::str("came"); },
                               [](kj::Exception&& e) { return kj::str(e.getDescription()); });
    return caught.wait(io_.waitScope).cStr();
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  Pair socket_ = makePair(SOCK_STREAM);
  Pair ends_ = makePair(SOCK_SEQPACKET);
  const int raw_ = ends_.one.get();
  DescriptorSender sender_{kj::mv(ends_.one)};
  DescriptorReceiver receiver_{io_.unixEventPort, kj::mv(ends_.other)};
};

TEST_F(Channel, GivesEachWaiterTheDescriptorOfItsTicket) {
  auto first = await(1);
  auto second = await(2);
  EXPECT_EQ(sender_.send(2, DescriptorKind::kListener, socket_.other), Sent::kSent);
  EXPECT_EQ(send(1), Sent::kSent);
  EXPECT_EQ(inodeOf(first.wait(io_.waitScope)), inodeOf(socket_.one));
  EXPECT_EQ(inodeOf(second.wait(io_.waitScope)), inodeOf(socket_.other));
}

TEST_F(Channel, RefusesADescriptorOfAnotherKind) {
  auto awaited = await(1);
  send(1, DescriptorKind::kConnection);
  EXPECT_THAT(failureOf(kj::mv(awaited)), HasSubstr("another kind"));
  auto next = await(2);
  send(2);
  EXPECT_EQ(inodeOf(next.wait(io_.waitScope)), inodeOf(socket_.one));
}

TEST_F(Channel, ClosesWhatNobodyAwaits) {
  const auto before = openDescriptors();
  send(77);
  { auto dropped = await(78); }
  send(78);
  auto forgotten = await(79);
  receiver_.forget(79);
  send(79);
  io_.waitScope.poll();
  EXPECT_EQ(openDescriptors(), before);
}

TEST_F(Channel, BreaksForAllWhenPrivdLeaves) {
  auto awaited = await(1);
  sender_ = DescriptorSender(kj::AutoCloseFd());
  EXPECT_EQ(failureOf(kj::mv(awaited)), "privd left");
  EXPECT_EQ(failureOf(await(2)), "privd left");
}

TEST_F(Channel, IsBrokenFromTheStartIfPrivdLeftBefore) {
  Pair ends = makePair(SOCK_SEQPACKET);
  ends.one = nullptr;
  DescriptorReceiver receiver(io_.unixEventPort, kj::mv(ends.other));
  EXPECT_EQ(failureOf(receiver.await(1, DescriptorKind::kListener)), "privd left");
}

TEST_F(Channel, BreaksOnWhatIsNoMessageOfIt) {
  const std::uint32_t wire[] = {1, 1, 1};
  struct Row {
    std::size_t size;
    std::vector<int> fds;
  };
  for (const Row& row : {Row{4, {raw_}}, Row{12, {raw_}}, Row{8, {}}, Row{8, {raw_, raw_}}}) {
    Pair ends = makePair(SOCK_SEQPACKET);
    DescriptorReceiver receiver(io_.unixEventPort, kj::mv(ends.other));
    auto awaited = receiver.await(1, DescriptorKind::kListener);
    const auto before = openDescriptors();
    sendRaw(ends.one, wire, row.size, row.fds);
    EXPECT_THAT(failureOf(kj::mv(awaited)), HasSubstr("descriptor"))
        << row.size << " bytes, " << row.fds.size() << " descriptors";
    EXPECT_EQ(openDescriptors(), before) << row.fds.size() << " descriptors";
  }
}

TEST(ChannelSender, StopsAtAsManyAsTheLimitSaysAndGoesOnWhenTheyAreTaken) {
  const Pair line = makePair(SOCK_STREAM);
  auto sender = sendOpening(line.one).value();
  auto end = KJ_REQUIRE_NONNULL(receiveOpening(line.other).value(), "no opening");
  std::uint32_t sent = 0;
  while (sender.send(sent, DescriptorKind::kListener, line.one) == Sent::kSent) {
    ASSERT_LE(++sent, kMaxOutstandingDescriptors);
  }
  EXPECT_EQ(sender.send(sent, DescriptorKind::kListener, line.one), Sent::kFull);
  EXPECT_GE(sent, kMaxOutstandingDescriptors / 2) << "the kernel charges more than it used to";
  auto io = kj::setupAsyncIo();
  DescriptorReceiver receiver(io.unixEventPort, kj::mv(end));
  EXPECT_EQ(sender.send(sent, DescriptorKind::kListener, line.one), Sent::kSent);
}

TEST(ChannelSender, SaysThatThePeerIsGone) {
  Pair ends = makePair(SOCK_SEQPACKET);
  ends.other = nullptr;
  DescriptorSender sender(kj::mv(ends.one));
  EXPECT_EQ(sender.send(1, DescriptorKind::kListener, STDERR_FILENO), Sent::kGone);
}

/// In a process of its own: the kernel counts by user, and spares the capable.
Sent sendBeyondTheUsersShare() {
  constexpr rlim_t kDescriptors = 16;
  const Pair ends = makePair(SOCK_SEQPACKET);
  DescriptorSender sender{kj::AutoCloseFd(fcntl(ends.one, F_DUPFD_CLOEXEC, 0))};
  const rlimit limit = {kDescriptors, kDescriptors};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return Sent::kGone;
  if (getuid() == 0 && setresuid(65'531, 65'531, 65'531) != 0) return Sent::kGone;
  for (std::uint32_t i = 0; i < 2 * kDescriptors; ++i) {
    const Sent sent = sender.send(i, DescriptorKind::kListener, STDERR_FILENO);
    if (sent != Sent::kSent) return sent;
  }
  return Sent::kSent;
}

TEST(ChannelSender, TellsTooManyReferencesApart) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(static_cast<int>(sendBeyondTheUsersShare()));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(static_cast<Sent>(WEXITSTATUS(status)), Sent::kTooManyRefs);
}

}  // namespace
}  // namespace vfiogate
