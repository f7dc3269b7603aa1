#include "ipc/codec/descriptor_channel.h"

#include "ipc/codec/limits.h"

#include <kj/debug.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

struct Wire {
  std::uint32_t ticket;
  std::uint32_t kind;
};

/// What the kernel charges to the sender for one small unread message, at least.
constexpr int kCostOfAMessage = 768;

/// One descriptor's room, and no more: what a stranger adds is dropped by the kernel. (The usual
/// CMSG_SPACE is padded, and has room for two.)
union OneDescriptor {
  cmsghdr header;
  char room[CMSG_LEN(sizeof(int))];
};

bool sendWithDescriptor(int socketFd, const void* data, std::size_t size, int fd) {
  OneDescriptor control = {};
  iovec part = {const_cast<void*>(data), size};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof(control.room);
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
  return sendmsg(socketFd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/// What one recvmsg brought. The descriptor is owned from here on, whatever else was wrong.
struct Received {
  ssize_t size;
  int error;
  bool truncated;
  kj::Maybe<kj::AutoCloseFd> fd;
};

Received receiveWithDescriptor(int socketFd, void* data, std::size_t size) {
  OneDescriptor control = {};
  iovec part = {data, size};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof(control.room);
  Received received{recvmsg(socketFd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC), errno, false,
                    nullptr};
  if (received.size < 0) return received;
  received.truncated = (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0;
  const cmsghdr* first = CMSG_FIRSTHDR(&message);
  const bool one = first != nullptr && first->cmsg_level == SOL_SOCKET &&
                   first->cmsg_type == SCM_RIGHTS && first->cmsg_len == CMSG_LEN(sizeof(int));
  if (one) {
    int fd = -1;
    memcpy(&fd, CMSG_DATA(first), sizeof(fd));
    received.fd = kj::AutoCloseFd(fd);
  }
  return received;
}

/// Of another family than AF_UNIX it would carry no descriptor, which the first message shows.
bool isSeqpacket(int fd) {
  int type = 0;
  socklen_t size = sizeof(type);
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

}  // namespace

DescriptorSender::Sent DescriptorSender::send(std::uint32_t ticket, DescriptorKind kind, int fd) {
  const Wire wire{ticket, static_cast<std::uint32_t>(kind)};
  if (sendWithDescriptor(socket_.get(), &wire, sizeof(wire), fd)) return Sent::kSent;
  switch (errno) {
    case EAGAIN:
    case ENOBUFS:
    case ENOMEM:
      return Sent::kFull;
    case ETOOMANYREFS:
      return Sent::kTooManyRefs;
    default:
      return Sent::kGone;
  }
}

DescriptorReceiver::DescriptorReceiver(kj::UnixEventPort& port, kj::AutoCloseFd socket)
    : socket_(kj::mv(socket)),
      observer_(port, socket_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      task_(kj::evalNow([this]() {
              return pump();
            }).catch_([this](kj::Exception&& why) {
                breakOff(kj::mv(why));
              }).eagerlyEvaluate(nullptr)) {}

kj::Promise<kj::AutoCloseFd> DescriptorReceiver::await(std::uint32_t ticket, DescriptorKind kind) {
  KJ_IF_MAYBE (why, broken_) return kj::cp(*why);
  KJ_REQUIRE(!waiting_.contains(ticket), "ticket in use", ticket);
  auto paf = kj::newPromiseAndFulfiller<kj::AutoCloseFd>();
  waiting_.emplace(ticket, Waiting{kind, kj::mv(paf.fulfiller)});
  return kj::mv(paf.promise);
}

void DescriptorReceiver::forget(std::uint32_t ticket) {
  waiting_.erase(ticket);
}

kj::Promise<void> DescriptorReceiver::pump() {
  while (true) {
    Wire wire = {};
    Received received = receiveWithDescriptor(socket_.get(), &wire, sizeof(wire));
    if (received.size < 0 && received.error == EAGAIN) break;
    KJ_REQUIRE(received.size >= 0, "descriptor channel failed", received.error);
    if (received.size == 0) kj::throwFatalException(KJ_EXCEPTION(DISCONNECTED, "privd left"));
    KJ_REQUIRE(!received.truncated && received.size == sizeof(wire),
               "not a message of the descriptor channel");
    auto& fd = KJ_REQUIRE_NONNULL(received.fd, "a message without its descriptor");
    deliver({wire.ticket, static_cast<DescriptorKind>(wire.kind), kj::mv(fd)});
  }
  return observer_.whenBecomesReadable().then([this]() { return pump(); });
}

void DescriptorReceiver::deliver(DescriptorParcel parcel) {
  const auto found = waiting_.find(parcel.ticket);
  if (found == waiting_.end()) return;
  Waiting waiting = kj::mv(found->second);
  waiting_.erase(found);
  if (waiting.kind == parcel.kind) {
    waiting.fulfiller->fulfill(kj::mv(parcel.fd));
  } else {
    waiting.fulfiller->reject(KJ_EXCEPTION(FAILED, "a descriptor of another kind", parcel.ticket));
  }
}

void DescriptorReceiver::breakOff(kj::Exception&& why) {
  auto waiting = kj::mv(waiting_);
  waiting_.clear();
  for (auto& [ticket, entry] : waiting) entry.fulfiller->reject(kj::cp(why));
  broken_ = kj::mv(why);
}

Result<DescriptorSender, std::string> sendOpening(int connectedFd) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
    return Failure{std::string("socketpair: ") + strerror(errno)};
  }
  kj::AutoCloseFd ours(pair[0]);
  kj::AutoCloseFd theirs(pair[1]);
  // The kernel doubles the value. It bounds the descriptors that wait for a peer that never reads.
  const int room = static_cast<int>(kMaxOutstandingDescriptors) * kCostOfAMessage / 2;
  if (setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) != 0) {
    return Failure{std::string("SO_SNDBUF: ") + strerror(errno)};
  }
  if (!sendWithDescriptor(connectedFd, &kChannelVersion, 1, theirs.get())) {
    return Failure{std::string("sending the opening: ") + strerror(errno)};
  }
  return DescriptorSender(kj::mv(ours));
}

Result<kj::Maybe<kj::AutoCloseFd>, std::string> receiveOpening(int fd) {
  std::uint8_t version = 0;
  Received received = receiveWithDescriptor(fd, &version, 1);
  if (received.size < 0 && received.error == EAGAIN) return kj::Maybe<kj::AutoCloseFd>(nullptr);
  if (received.size < 0) return Failure{std::string("recvmsg: ") + strerror(received.error)};
  if (received.size == 0) return Failure{std::string("closed before it said its version")};
  if (version != kChannelVersion) {
    return Failure{"speaks version " + std::to_string(version) + ", this is version " +
                   std::to_string(kChannelVersion) + ": update both to the same release"};
  }
  KJ_IF_MAYBE (channel, received.fd) {
    if (!received.truncated && isSeqpacket(channel->get())) {
      return kj::Maybe<kj::AutoCloseFd>(kj::mv(*channel));
    }
  }
  return Failure{std::string("opened without a descriptor channel: not privd")};
}

}  // namespace vfiogate
