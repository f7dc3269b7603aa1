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

std::string bytesOf(std::uint8_t role, std::uint8_t version) {
  return {static_cast<char>(role), static_cast<char>(version)};
}

std::string bytesOf(PrivdRole role, std::uint8_t version = kVersion) {
  return bytesOf(static_cast<std::uint8_t>(role), version);
}

/// `bytes` with `fds`, as a stranger might send them.
void sendRaw(int socketFd, std::string bytes, const std::vector<int>& fds) {
  union {
    cmsghdr header;
    char room[CMSG_SPACE(8 * sizeof(int))];
  } control = {};
  iovec part = {bytes.data(), bytes.size()};
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

Opening received(int fd) {
  auto opening = receiveOpening(fd, kVersion);
  KJ_REQUIRE(opening.has_value(), opening.error().c_str());
  auto held = kj::mv(opening).value();
  return kj::mv(KJ_REQUIRE_NONNULL(held, "the opening has not come"));
}

std::string refusal(int fd) {
  const auto opening = receiveOpening(fd, kVersion);
  return opening ? "accepted" : opening.error();
}

class ChannelOpening : public testing::TestWithParam<PrivdRole> {};

TEST_P(ChannelOpening, HandsOverOneEndOfAChannel) {
  const Pair line = makePair(SOCK_STREAM);
  const auto ours = sendChannelOpening(line.one, GetParam(), kVersion);
  ASSERT_TRUE(ours) << ours.error();
  const Opening opening = received(line.other);
  EXPECT_EQ(opening.role, GetParam());
  const auto& theirs = KJ_REQUIRE_NONNULL(opening.channel);
  EXPECT_EQ(fcntl(theirs, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(fcntl(theirs, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  ASSERT_EQ(sendPacket(*ours, "packet"), PacketSent::kSent);
  auto packet = receivePacket(theirs, 64).value();
  EXPECT_EQ(KJ_REQUIRE_NONNULL(packet).bytes, "packet");
}

TEST_P(ChannelOpening, OutlivesTheConnectionThatBroughtIt) {
  Pair line = makePair(SOCK_STREAM);
  const auto ours = sendChannelOpening(line.one, GetParam(), kVersion);
  ASSERT_TRUE(ours) << ours.error();
  line.one = nullptr;
  const Opening opening = received(line.other);
  line.other = nullptr;
  ASSERT_EQ(sendPacket(KJ_REQUIRE_NONNULL(opening.channel), "packet"), PacketSent::kSent);
  auto packet = receivePacket(*ours, 64).value();
  EXPECT_EQ(KJ_REQUIRE_NONNULL(packet).bytes, "packet");
}

TEST_P(ChannelOpening, IsRefusedWithoutADescriptor) {
  const Pair line = makePair(SOCK_STREAM);
  sendRaw(line.one, bytesOf(GetParam()), {});
  EXPECT_EQ(refusal(line.other),
            std::string("opened without the channel of the ") + nameOf(GetParam()));
}

TEST_P(ChannelOpening, IsRefusedWithADescriptorThatIsNoChannel) {
  const Pair stream = makePair(SOCK_STREAM);
  const Pair datagrams = makePair(SOCK_DGRAM);
  const kj::AutoCloseFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {stream.one.get(), datagrams.one.get(), file.get()}) {
    const Pair line = makePair(SOCK_STREAM);
    sendRaw(line.one, bytesOf(GetParam()), {fd});
    EXPECT_EQ(refusal(line.other), "opened with no channel of ours");
  }
}

INSTANTIATE_TEST_SUITE_P(Roles, ChannelOpening,
                         testing::Values(PrivdRole::kGate, PrivdRole::kBinder),
                         [](const auto& role) { return std::string(nameOf(role.param)); });

TEST(HardwareOpening, LeavesWhatFollowsItOnTheConnection) {
  const Pair line = makePair(SOCK_STREAM);
  ASSERT_TRUE(sendHardwareOpening(line.one, kVersion));
  KJ_SYSCALL(write(line.one, "rpc", 3));
  const Opening opening = received(line.other);
  EXPECT_EQ(opening.role, PrivdRole::kHardware);
  EXPECT_TRUE(opening.channel == nullptr);
  char rest[8] = {};
  EXPECT_EQ(read(line.other, rest, sizeof(rest)), 3);
}

TEST(HardwareOpening, IsRefusedWithAChannelWhichIsClosed) {
  const Pair channel = makePair(SOCK_SEQPACKET);
  const Pair line = makePair(SOCK_STREAM);
  const auto before = openDescriptors();
  sendRaw(line.one, bytesOf(PrivdRole::kHardware), {channel.one});
  EXPECT_EQ(refusal(line.other), "opened with no channel of ours");
  EXPECT_EQ(openDescriptors(), before);
}

TEST(Opening, IsWaitedFor) {
  const Pair line = makePair(SOCK_STREAM);
  const auto opening = receiveOpening(line.other, kVersion);
  ASSERT_TRUE(opening) << opening.error();
  EXPECT_TRUE(*opening == nullptr);
}

TEST(Opening, FailsOnAConnectionThatIsGone) {
  Pair line = makePair(SOCK_STREAM);
  line.other = nullptr;
  const auto hardware = sendHardwareOpening(line.one, kVersion);
  ASSERT_FALSE(hardware);
  EXPECT_THAT(hardware.error(), HasSubstr("could not be sent"));
  const auto gate = sendChannelOpening(line.one, PrivdRole::kGate, kVersion);
  ASSERT_FALSE(gate);
  EXPECT_THAT(gate.error(), HasSubstr("could not be sent"));
}

class RefusesOpening : public testing::Test {
protected:
  static std::string after(const std::string& bytes, const std::vector<int>& fds) {
    const Pair line = makePair(SOCK_STREAM);
    sendRaw(line.one, bytes, fds);
    return refusal(line.other);
  }
  static std::string afterWithChannel(const std::string& bytes) {
    const Pair channel = makePair(SOCK_SEQPACKET);
    return after(bytes, {channel.one});
  }
};

TEST_F(RefusesOpening, OfAnotherVersionAndSaysBoth) {
  EXPECT_EQ(afterWithChannel(bytesOf(PrivdRole::kGate, 9)),
            "speaks version 9, this is version 7: update both to the same release");
}

/// One of before the roles: its version was all that it said.
TEST_F(RefusesOpening, OfAnotherForm) {
  EXPECT_EQ(afterWithChannel(std::string(1, static_cast<char>(kVersion))),
            "its opening has another form");
}

TEST_F(RefusesOpening, OfAnUnknownRole) {
  EXPECT_EQ(afterWithChannel(bytesOf(3, kVersion)), "an unknown role");
  EXPECT_EQ(after(bytesOf(255, kVersion), {}), "an unknown role");
}

TEST_F(RefusesOpening, WithTwoDescriptorsAndKeepsNeither) {
  const Pair channel = makePair(SOCK_SEQPACKET);
  const auto before = openDescriptors();
  EXPECT_THAT(after(bytesOf(PrivdRole::kBinder), {channel.one, channel.other}),
              HasSubstr("more than one descriptor"));
  EXPECT_EQ(openDescriptors(), before);
}

TEST_F(RefusesOpening, ByAPeerThatLeft) {
  Pair line = makePair(SOCK_STREAM);
  line.one = nullptr;
  EXPECT_EQ(refusal(line.other), "before it said its version: it left");
}

}  // namespace
}  // namespace vfiogate
