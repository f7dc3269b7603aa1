#include "ipc/gate/opening.h"

#include "ipc/gate/packet_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kj/debug.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

using testing::HasSubstr;

constexpr std::uint8_t kVersion = 7;

struct Pair {
  kj::AutoCloseFd one;
  kj::AutoCloseFd other;
};

Pair makePair(int type) {
  int pair[2];
  KJ_SYSCALL(socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
  return {kj::AutoCloseFd(pair[0]), kj::AutoCloseFd(pair[1])};
}

auto openDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

/// One byte with `fds`, as a stranger might send them.
void sendRaw(int socketFd, std::uint8_t byte, const std::vector<int>& fds) {
  union {
    cmsghdr header;
    char room[CMSG_SPACE(8 * sizeof(int))];
  } control = {};
  iovec part = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
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
  const auto received = receiveOpening(fd, kVersion);
  return received ? "accepted" : received.error();
}

TEST(Opening, HandsOverOneEndOfAChannel) {
  const Pair line = makePair(SOCK_STREAM);
  const auto ours = sendOpening(line.one, kVersion);
  ASSERT_TRUE(ours) << ours.error();
  auto received = receiveOpening(line.other, kVersion);
  ASSERT_TRUE(received) << received.error();
  auto held = kj::mv(received).value();
  auto& theirs = KJ_REQUIRE_NONNULL(held, "the opening has not come");
  EXPECT_EQ(fcntl(theirs, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(fcntl(theirs, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  ASSERT_EQ(sendPacket(*ours, "packet"), PacketSent::kSent);
  auto packet = receivePacket(theirs, 64).value();
  EXPECT_EQ(KJ_REQUIRE_NONNULL(packet).bytes, "packet");
}

TEST(Opening, LeavesWhatFollowsItOnTheConnection) {
  const Pair line = makePair(SOCK_STREAM);
  ASSERT_TRUE(sendOpening(line.one, kVersion));
  KJ_SYSCALL(write(line.one, "rpc", 3));
  ASSERT_TRUE(receiveOpening(line.other, kVersion));
  char rest[8] = {};
  EXPECT_EQ(read(line.other, rest, sizeof(rest)), 3);
}

TEST(Opening, IsWaitedFor) {
  const Pair line = makePair(SOCK_STREAM);
  const auto received = receiveOpening(line.other, kVersion);
  ASSERT_TRUE(received) << received.error();
  EXPECT_TRUE(*received == nullptr);
}

TEST(Opening, FailsOnAConnectionThatIsGone) {
  Pair line = makePair(SOCK_STREAM);
  line.other = nullptr;
  const auto sent = sendOpening(line.one, kVersion);
  ASSERT_FALSE(sent);
  EXPECT_THAT(sent.error(), HasSubstr("could not be sent"));
}

class RefusesOpening : public testing::Test {
protected:
  static std::string after(std::uint8_t version, const std::vector<int>& fds) {
    const Pair line = makePair(SOCK_STREAM);
    sendRaw(line.one, version, fds);
    return refusal(line.other);
  }
};

TEST_F(RefusesOpening, OfAnotherVersionAndSaysBoth) {
  const Pair channel = makePair(SOCK_SEQPACKET);
  EXPECT_EQ(after(9, {channel.one}),
            "speaks version 9, this is version 7: update both to the same release");
}

TEST_F(RefusesOpening, WithoutADescriptor) {
  EXPECT_EQ(after(kVersion, {}), "opened without the gate's channel: not privd");
}

TEST_F(RefusesOpening, WithADescriptorThatIsNoChannel) {
  const Pair stream = makePair(SOCK_STREAM);
  const Pair datagrams = makePair(SOCK_DGRAM);
  const kj::AutoCloseFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {stream.one.get(), datagrams.one.get(), file.get()}) {
    EXPECT_THAT(after(kVersion, {fd}), HasSubstr("without the gate's channel"));
  }
}

TEST_F(RefusesOpening, WithTwoDescriptorsAndKeepsNeither) {
  const Pair channel = makePair(SOCK_SEQPACKET);
  const auto before = openDescriptors();
  EXPECT_THAT(after(kVersion, {channel.one, channel.other}), HasSubstr("more than one descriptor"));
  EXPECT_EQ(openDescriptors(), before);
}

TEST_F(RefusesOpening, ByAPeerThatLeft) {
  Pair line = makePair(SOCK_STREAM);
  line.one = nullptr;
  EXPECT_EQ(refusal(line.other), "before it said its version: it left");
}

}  // namespace
}  // namespace vfiogate
