// A peer that stalls and cancels never gets another file than the socket that it asked for, which
// is how Cap'n Proto's own passing of descriptors was seen to fail (it sends the number of a
// descriptor that was closed and opened anew meanwhile).

#include "ipc/codec/descriptor_channel.h"
#include "ipc/codec/limits.h"
#include "tests/support/played/raw_peer.h"
#include "tests/support/played/rpc_server.h"

#include <gtest/gtest.h>

#include <kj/debug.h>
#include <kj/vector.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <map>

namespace vfiogate {
namespace {

struct stat statOf(int fd) {
  struct stat found = {};
  KJ_SYSCALL(fstat(fd, &found));
  return found;
}

/// What privd did: the socket of each ticket, and the files that it opened for itself.
struct Deeds {
  std::map<std::uint32_t, ino_t> sockets;
  kj::Vector<kj::AutoCloseFd> ownFiles;
};

/// privd's gate as far as descriptors go. After each call privd opens a file of its own, which gets
/// the number of the descriptor that was just closed.
class DiallingGate final : public schema::KubeletGate::Server {
public:
  DiallingGate(DescriptorSender& channel, Deeds& deeds) : channel_(channel), deeds_(deeds) {}

protected:
  kj::Promise<void> dial(DialContext context) override {
    const auto ticket = context.getParams().getTicket();
    auto answer = context.getResults().initAnswer();
    if (send(ticket)) {
      answer.setConnected();
    } else {
      answer.setTooMany();
    }
    kj::AutoCloseFd secret(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
    deeds_.ownFiles.add(kj::mv(secret));
    return kj::READY_NOW;
  }

private:
  bool send(std::uint32_t ticket) {
    const kj::AutoCloseFd made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (channel_.send(ticket, DescriptorKind::kConnection, made) != DescriptorSender::Sent::kSent) {
      return false;
    }
    deeds_.sockets.emplace(ticket, statOf(made).st_ino);
    return true;
  }

  DescriptorSender& channel_;
  Deeds& deeds_;
};

/// What the peer finds on the channel when it reads at last.
struct Taken {
  std::uint32_t ticket;
  kj::AutoCloseFd fd;
};

kj::Vector<Taken> takeAll(int channelFd) {
  kj::Vector<Taken> all;
  while (true) {
    std::uint32_t wire[2] = {};
    union {
      cmsghdr header;
      char room[CMSG_LEN(sizeof(int))];
    } control = {};
    iovec part = {wire, sizeof(wire)};
    msghdr message = {.msg_iov = &part,
                      .msg_iovlen = 1,
                      .msg_control = &control,
                      .msg_controllen = sizeof(control.room)};
    if (recvmsg(channelFd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0) return all;
    int fd = -1;
    memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
    all.add(Taken{wire[0], kj::AutoCloseFd(fd)});
  }
}

class StalledPeer : public testing::Test {
protected:
  // KJ's destructors may throw, GoogleTest's must not.
  ~StalledPeer() noexcept override = default;

  void SetUp() override {
    int pair[2];
    KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
    const kj::AutoCloseFd ours(pair[0]);
    const kj::AutoCloseFd theirs(pair[1]);
    privdsEnd_ = sendOpening(ours).value();
    peersEnd_ = KJ_REQUIRE_NONNULL(receiveOpening(theirs).value(), "no opening");
    peer_.enter();
    settle();
  }

  void settle() { io_.waitScope.poll(); }

  /// One call for a socket, given up at once.
  void askAndCancel(std::uint32_t ticket) {
    peer_.callDial(question_, ticket);
    peer_.finish(question_++, true);
    settle();
  }

  std::uint32_t question_ = RawPeer::kFirstFree;
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  Deeds deeds_;
  DescriptorSender privdsEnd_{kj::AutoCloseFd()};
  kj::AutoCloseFd peersEnd_;
  RpcServer server_{io_, [this]() -> schema::KubeletGate::Client {
                      return kj::heap<DiallingGate>(privdsEnd_, deeds_);
                    }};
  RawPeer peer_{server_.connect(Metering::kOn)};
};

TEST_F(StalledPeer, GetsOnlyTheSocketsThatItAskedForAndGaveUp) {
  constexpr std::uint32_t kAsked = 8;
  // Large answers fill the connection, so that those to the calls below stay queued.
  for (int i = 0; i < 10; ++i) {
    peer_.callReread(question_);
    peer_.finish(question_++, true);
  }
  settle();
  for (std::uint32_t ticket = 0; ticket < kAsked; ++ticket) askAndCancel(ticket);
  ASSERT_EQ(server_.offence(), std::nullopt);
  ASSERT_EQ(deeds_.ownFiles.size(), kAsked) << "privd did not come to answer";
  peer_.drain();
  settle();
  EXPECT_GT(peer_.drain(), 0U) << "no answer was queued: the peer did not stall at all";

  const auto taken = takeAll(peersEnd_);
  ASSERT_EQ(taken.size(), kAsked);
  for (const Taken& one : taken) {
    EXPECT_EQ(statOf(one.fd).st_ino, deeds_.sockets.at(one.ticket)) << "ticket " << one.ticket;
  }
}

TEST_F(StalledPeer, IsRefusedWhenItTakesNothingAndGetsNoOtherFileLater) {
  constexpr std::uint32_t kAsked = 200;
  for (std::uint32_t ticket = 0; ticket < kAsked; ++ticket) {
    askAndCancel(ticket);
    peer_.drain();
  }
  ASSERT_EQ(server_.offence(), std::nullopt);
  ASSERT_EQ(deeds_.ownFiles.size(), kAsked) << "privd did not answer every call";

  const auto taken = takeAll(peersEnd_);
  EXPECT_LE(taken.size(), kMaxOutstandingDescriptors);
  EXPECT_EQ(taken.size(), deeds_.sockets.size()) << "what was sent did not arrive";
  for (const Taken& one : taken) {
    EXPECT_EQ(statOf(one.fd).st_ino, deeds_.sockets.at(one.ticket)) << "ticket " << one.ticket;
  }
}

}  // namespace
}  // namespace vfiogate
