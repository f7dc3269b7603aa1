#pragma once
// Packets over a connected SOCK_SEQPACKET socket, each with at most one descriptor.

#include "ipc/base/result.h"

#include <kj/common.h>
#include <kj/io.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vfiogate {

/// Why receivePacket() fails where the peer closed its end.
inline constexpr std::string_view kPeerLeft = "it left";

struct Packet {
  std::string bytes;
  kj::Maybe<kj::AutoCloseFd> fd;
};

enum class PacketSent : std::uint8_t {
  kSent,
  kFull,         ///< the peer leaves too much unread: nothing was sent
  kTooManyRefs,  ///< too many descriptors are under way on this machine; passes
  kGone,         ///< the peer closed its end
};

/// Hands the packet to the kernel, whole or not at all. Never waits. `socket` and `fd` are
/// borrowed; `fd` below 0: none.
PacketSent sendPacket(int socket, std::string_view bytes, int fd = -1);

/// The next packet, of at most `largest` bytes; null: there is none now. A descriptor comes
/// close-on-exec; of several the kernel keeps one. Error: in words, for the log: the peer left, or
/// sent what is no packet of ours; hang up then.
Result<kj::Maybe<Packet>, std::string> receivePacket(int socket, std::size_t largest);

/// Both ends of a connection, close-on-exec and non-blocking; `ours` is for the caller.
struct PacketPair {
  kj::AutoCloseFd ours;
  kj::AutoCloseFd theirs;
};

/// Error: errno.
Result<PacketPair, int> packetPair();

}  // namespace vfiogate
