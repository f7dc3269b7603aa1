#pragma once
// What a watched process says and hears on its sockets, seen through its system calls.

#include "tests/support/seen/call_stops.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate::test {

/// Whose connection a descriptor of privd, privd-gate or plugind is.
enum class Channel {
  kPlugin,        ///< the kubelet's, to a plugin's socket
  kRegistration,  ///< to kubelet.sock
  kPrivilege,     ///< privd's with plugind, Cap'n Proto
  kGate,          ///< plugind's with privd-gate, packets; privd's with privd-gate
  kOther
};

/// Bytes that are about to be sent, were sent, or were received.
struct Passing {
  Channel channel = Channel::kOther;
  bool sends = false;
  std::string bytes;  ///< empty: the other end is gone
};

/// Another process's descriptor, for the caller to close. Below 0: there is none.
int copyOf(pid_t process, int fd);

/// Null if the call moves no bytes over a socket (yet).
std::optional<Passing> passing(const SeenCall& call);

/// Where connect() or renameat() leads to, what unlinkat() takes away; empty for other calls.
std::string pathOf(const SeenCall& call);

/// One HTTP/2 frame's head.
struct HttpFrame {
  enum Type : std::uint8_t { kData = 0, kHeaders = 1, kReset = 3 };
  std::uint8_t type = 0;
  std::uint32_t stream = 0;
};

/// All frames that begin in these bytes, which begin with one.
std::vector<HttpFrame> framesIn(std::string_view bytes);

/// One message of Cap'n Proto's RPC.
struct RpcMessage {
  enum class Kind { kCall, kReturn, kOther };
  Kind kind = Kind::kOther;
  std::uint32_t question = 0;
  std::uint64_t interface = 0;  ///< of a call
  std::uint16_t method = 0;     ///< of a call
};

/// All whole messages in these bytes, which begin with one.
std::vector<RpcMessage> messagesIn(std::string_view bytes);

}  // namespace vfiogate::test
