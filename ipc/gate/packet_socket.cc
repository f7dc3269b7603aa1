#include "ipc/gate/packet_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

/// One descriptor's room, and no more: what a stranger adds is dropped by the kernel. (The usual
/// CMSG_SPACE is padded, and has room for two.)
union OneDescriptor {
  cmsghdr header;
  char room[CMSG_LEN(sizeof(int))];
};

kj::Maybe<kj::AutoCloseFd> descriptorIn(msghdr& message) {
  const cmsghdr* first = CMSG_FIRSTHDR(&message);
  const bool one = first != nullptr && first->cmsg_level == SOL_SOCKET &&
                   first->cmsg_type == SCM_RIGHTS && first->cmsg_len == CMSG_LEN(sizeof(int));
  if (!one) return nullptr;
  int fd = -1;
  memcpy(&fd, CMSG_DATA(first), sizeof(fd));
  return kj::AutoCloseFd(fd);
}

}  // namespace

PacketSent sendPacket(int socket, std::string_view bytes, int fd) {
  OneDescriptor control = {};
  iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof(control.room);
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
  }
  if (sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return PacketSent::kSent;
  switch (errno) {
    case EAGAIN:
    case ENOBUFS:
    case ENOMEM:
      return PacketSent::kFull;
    case ETOOMANYREFS:
      return PacketSent::kTooManyRefs;
    default:
      return PacketSent::kGone;
  }
}

Result<kj::Maybe<Packet>, std::string> receivePacket(int socket, std::size_t largest) {
  OneDescriptor control = {};
  // Not filled with zeros: most packets are small.
  auto room = kj::heapArray<char>(largest);
  Packet packet;
  iovec part = {room.begin(), room.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof(control.room);
  const ssize_t size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && errno == EAGAIN) return kj::Maybe<Packet>(nullptr);
  // ECONNRESET: it left before it had read all.
  if (size < 0 && errno == ECONNRESET) return Failure{std::string(kPeerLeft)};
  if (size < 0) return Failure{std::string("recvmsg: ") + strerror(errno)};
  packet.fd = descriptorIn(message);
  if (size == 0) return Failure{std::string(kPeerLeft)};
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return Failure{std::string("a packet above its size, or with more than one descriptor")};
  }
  packet.bytes.assign(room.begin(), static_cast<std::size_t>(size));
  return kj::Maybe<Packet>(kj::mv(packet));
}

Result<PacketPair, int> packetPair() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
    return Failure{errno};
  }
  return PacketPair{kj::AutoCloseFd(pair[0]), kj::AutoCloseFd(pair[1])};
}

}  // namespace vfiogate
