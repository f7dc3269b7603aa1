#include "ipc/gate/opening.h"

#include "ipc/gate/packet_socket.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

constexpr std::size_t kOpeningSize = 2;  // role, version

/// Of another family than AF_UNIX it would carry no descriptor, which the first packet shows.
bool isSeqpacket(int fd) {
  int type = 0;
  socklen_t size = sizeof(type);
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

Result<Done, std::string> send(int connection, PrivdRole role, std::uint8_t version, int fd) {
  const std::array bytes{static_cast<char>(role), static_cast<char>(version)};
  if (sendPacket(connection, {bytes.data(), bytes.size()}, fd) == PacketSent::kSent) return Done{};
  return Failure{std::string("the opening could not be sent: ") + strerror(errno)};
}

Failure<std::string> refused(const std::string& why) {
  return Failure{why};
}

Result<kj::Maybe<Opening>, std::string> read(Packet packet, std::uint8_t version) {
  if (packet.bytes.size() != kOpeningSize) return refused("its opening has another form");
  const auto role = static_cast<std::uint8_t>(packet.bytes[0]);
  const auto said = static_cast<std::uint8_t>(packet.bytes[1]);
  if (said != version) {
    return refused("speaks version " + std::to_string(said) + ", this is version " +
                   std::to_string(version) + ": update both to the same release");
  }
  if (role > static_cast<std::uint8_t>(PrivdRole::kBinder)) return refused("an unknown role");
  Opening opening{.role = static_cast<PrivdRole>(role), .channel = kj::mv(packet.fd)};
  const bool wanted = opening.role != PrivdRole::kHardware;
  KJ_IF_MAYBE (channel, opening.channel) {
    if (!wanted || !isSeqpacket(channel->get())) return refused("opened with no channel of ours");
  } else if (wanted) {
    return refused(std::string("opened without the channel of the ") + nameOf(opening.role));
  }
  return kj::Maybe<Opening>(kj::mv(opening));
}

}  // namespace

const char* nameOf(PrivdRole role) {
  switch (role) {
    case PrivdRole::kHardware:
      return "hardware";
    case PrivdRole::kGate:
      return "gate";
    case PrivdRole::kBinder:
      return "binder";
  }
  return "unknown";
}

Result<Done, std::string> sendHardwareOpening(int connection, std::uint8_t version) {
  return send(connection, PrivdRole::kHardware, version, -1);
}

Result<kj::AutoCloseFd, std::string> sendChannelOpening(int connection, PrivdRole role,
                                                        std::uint8_t version) {
  auto pair = packetPair();
  if (!pair) return Failure{std::string("socketpair: ") + strerror(pair.error())};
  PacketPair ends = kj::mv(pair).value();
  if (auto sent = send(connection, role, version, ends.theirs.get()); !sent) {
    return Failure{sent.error()};
  }
  return kj::mv(ends.ours);
}

Result<kj::Maybe<Opening>, std::string> receiveOpening(int connection, std::uint8_t version) {
  auto received = receivePacket(connection, kOpeningSize);
  if (!received) return Failure{"before it said its version: " + received.error()};
  auto packet = kj::mv(received).value();
  KJ_IF_MAYBE (opening, packet) return read(kj::mv(*opening), version);
  return kj::Maybe<Opening>(nullptr);
}

}  // namespace vfiogate
