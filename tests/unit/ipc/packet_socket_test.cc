#include "ipc/gate/packet_socket.h"

#include <gtest/gtest.h>

#include <kj/debug.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace vfiogate {
namespace {

constexpr std::size_t kLargest = 16;

std::string failureOf(int socket) {
  const auto received = receivePacket(socket, kLargest);
  return received ? "received" : received.error();
}

class PacketSocketTest : public testing::Test {
protected:
  // KJ's destructors may throw, GoogleTest's must not.
  ~PacketSocketTest() noexcept override = default;

  PacketPair ends_ = packetPair().value();
};

TEST_F(PacketSocketTest, BothEndsAreClosedOnExecAndNeverWait) {
  for (const int fd : {ends_.ours.get(), ends_.theirs.get()}) {
    EXPECT_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EXPECT_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  }
  auto none = receivePacket(ends_.ours, kLargest).value();
  EXPECT_TRUE(none == nullptr);
}

TEST_F(PacketSocketTest, ADescriptorComesInItsPacketCloseOnExec) {
  const kj::AutoCloseFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(sendPacket(ends_.ours, "with", file), PacketSent::kSent);
  ASSERT_EQ(sendPacket(ends_.ours, "without"), PacketSent::kSent);
  auto first = receivePacket(ends_.theirs, kLargest).value();
  const Packet& with = KJ_ASSERT_NONNULL(first);
  EXPECT_EQ(with.bytes, "with");
  const int fd = KJ_ASSERT_NONNULL(with.fd).get();
  EXPECT_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  struct stat sent = {};
  struct stat came = {};
  KJ_SYSCALL(fstat(file, &sent));
  KJ_SYSCALL(fstat(fd, &came));
  EXPECT_EQ(sent.st_ino, came.st_ino);
  auto second = receivePacket(ends_.theirs, kLargest).value();
  EXPECT_EQ(KJ_ASSERT_NONNULL(second).bytes, "without");
  EXPECT_TRUE(KJ_ASSERT_NONNULL(second).fd == nullptr);
}

TEST_F(PacketSocketTest, APacketOfTheLargestSizeIsTakenAndOneByteMoreIsNot) {
  ASSERT_EQ(sendPacket(ends_.ours, std::string(kLargest, 'x')), PacketSent::kSent);
  auto largest = receivePacket(ends_.theirs, kLargest).value();
  EXPECT_EQ(KJ_ASSERT_NONNULL(largest).bytes, std::string(kLargest, 'x'));
  ASSERT_EQ(sendPacket(ends_.ours, std::string(kLargest + 1, 'x')), PacketSent::kSent);
  EXPECT_EQ(failureOf(ends_.theirs), "a packet above its size, or with more than one descriptor");
}

TEST_F(PacketSocketTest, APeerThatDoesNotReadIsFullAndNothingOfAPacketIsSent) {
  const std::string packet(4096, 'x');
  std::size_t sent = 0;
  PacketSent outcome = PacketSent::kSent;
  while ((outcome = sendPacket(ends_.ours, packet)) == PacketSent::kSent) ++sent;
  EXPECT_EQ(outcome, PacketSent::kFull);
  std::size_t taken = 0;
  for (;; ++taken) {
    auto received = receivePacket(ends_.theirs, packet.size()).value();
    if (received == nullptr) break;
    EXPECT_EQ(KJ_ASSERT_NONNULL(received).bytes.size(), packet.size());
  }
  EXPECT_EQ(taken, sent);
  EXPECT_EQ(sendPacket(ends_.ours, packet), PacketSent::kSent);
}

TEST_F(PacketSocketTest, APeerThatLeftIsGone) {
  ends_.theirs = nullptr;
  EXPECT_EQ(sendPacket(ends_.ours, "x"), PacketSent::kGone);
  EXPECT_EQ(failureOf(ends_.ours), kPeerLeft);
}

TEST_F(PacketSocketTest, APeerThatLeftBeforeItReadAllIsGone) {
  ASSERT_EQ(sendPacket(ends_.ours, "unread"), PacketSent::kSent);
  ends_.theirs = nullptr;
  EXPECT_EQ(failureOf(ends_.ours), kPeerLeft);
}

}  // namespace
}  // namespace vfiogate
