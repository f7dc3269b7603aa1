#include "ipc/gate/opening.h"

#include "ipc/gate/packet_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

/// Of another family than AF_UNIX it would carry no descriptor, which the first packet shows.
bool isSeqpacket(int fd) {
  int type = 0;
  socklen_t size = sizeof(type);
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

}  // namespace

Result<kj::AutoCloseFd, std::string> sendOpening(int connection, std::uint8_t version) {
  auto pair = packetPair();
  if (!pair) return Failure{std::string("socketpair: ") + strerror(pair.error())};
  PacketPair ends = kj::mv(pair).value();
  const char byte = static_cast<char>(version);
  if (sendPacket(connection, {&byte, 1}, ends.theirs) != PacketSent::kSent) {
    return Failure{std::string("the opening could not be sent: ") + strerror(errno)};
  }
  return kj::mv(ends.ours);
}

Result<kj::Maybe<kj::AutoCloseFd>, std::string> receiveOpening(int connection,
                                                               std::uint8_t version) {
  auto received = receivePacket(connection, 1);
  if (!received) return Failure{"before it said its version: " + received.error()};
  auto packet = kj::mv(received).value();
  KJ_IF_MAYBE (opening, packet) {
    const auto said = static_cast<std::uint8_t>(opening->bytes.front());
    if (said != version) {
      return Failure{"speaks version " + std::to_string(said) + ", this is version " +
                     std::to_string(version) + ": update both to the same release"};
    }
    KJ_IF_MAYBE (channel, opening->fd) {
      if (isSeqpacket(channel->get())) return kj::Maybe<kj::AutoCloseFd>(kj::mv(*channel));
    }
    return Failure{std::string("opened without the gate's channel: not privd")};
  }
  return kj::Maybe<kj::AutoCloseFd>(nullptr);
}

}  // namespace vfiogate
