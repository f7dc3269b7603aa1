#pragma once
// The one address on which netd listens: in numbers, as it is printed.

#include "ipc/base/result.h"

#include <kj/io.h>

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

/// An IPv4 or IPv6 address and a TCP port. No name: nothing here ever asks a resolver.
class ListenAddress {
public:
  /// Reads "127.0.0.1:9408" or "[::1]:9408". Port 0: one that is free. Null if it is anything else.
  static std::optional<ListenAddress> parse(std::string_view text);
  /// Where the socket `fd` (borrowed) is bound. Throws if it is none.
  static ListenAddress boundTo(int fd);

  /// As parse() reads it.
  std::string str() const;
  int family() const { return address_.ss_family; }
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return size_; }

private:
  ListenAddress() = default;

  sockaddr_storage address_ = {};
  socklen_t size_ = 0;
};

/// A listening, non-blocking, close-on-exec TCP socket; its connections send small answers at once.
/// "::" takes IPv4, too, where the host has not turned that off. Error: for people, names the step.
Result<kj::AutoCloseFd, std::string> listenOn(const ListenAddress& address);

}  // namespace vfiogate
