#include "netd/roles/listen_address.h"

#include "ipc/base/hex.h"

#include <kj/debug.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>

namespace vfiogate {
namespace {

/// A burst of clients is taken within milliseconds; what does not fit waits for a second try.
constexpr int kBacklog = 1024;

std::optional<std::uint16_t> parsePort(std::string_view text) {
  const auto number = parseDecimal(text);
  if (!number || *number > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

bool turnOn(int fd, int level, int option) {
  const int on = 1;
  return setsockopt(fd, level, option, &on, sizeof(on)) == 0;
}

Failure<std::string> failedAt(const char* step) {
  std::string text = std::string(step) + ": " + strerror(errno);
  if (errno == EADDRINUSE) text += "; another program listens there: choose another --listen";
  if (errno == EADDRNOTAVAIL) text += "; no interface of this machine has it";
  if (errno == EACCES) text += "; a port below 1024 needs root";
  return Failure{std::move(text)};
}

}  // namespace

std::optional<ListenAddress> ListenAddress::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parsePort(text.substr(colon + 1));
  if (!port) return std::nullopt;
  std::string host(text.substr(0, colon));
  ListenAddress made;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    auto& v6 = *reinterpret_cast<sockaddr_in6*>(&made.address_);
    if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) != 1) return std::nullopt;
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(*port);
    made.size_ = sizeof(v6);
  } else {
    auto& v4 = *reinterpret_cast<sockaddr_in*>(&made.address_);
    if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) != 1) return std::nullopt;
    v4.sin_family = AF_INET;
    v4.sin_port = htons(*port);
    made.size_ = sizeof(v4);
  }
  return made;
}

ListenAddress ListenAddress::boundTo(int fd) {
  ListenAddress found;
  found.size_ = sizeof(found.address_);
  KJ_SYSCALL(getsockname(fd, reinterpret_cast<sockaddr*>(&found.address_), &found.size_));
  return found;
}

std::string ListenAddress::str() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (family() == AF_INET6) {
    const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(&address_);
    inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    return "[" + std::string(text.data()) + "]:" + std::to_string(ntohs(v6.sin6_port));
  }
  const auto& v4 = *reinterpret_cast<const sockaddr_in*>(&address_);
  inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  return std::string(text.data()) + ":" + std::to_string(ntohs(v4.sin_port));
}

Result<kj::AutoCloseFd, std::string> listenOn(const ListenAddress& address) {
  const int fd = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return failedAt("socket");
  kj::AutoCloseFd owned(fd);
  if (!turnOn(fd, SOL_SOCKET, SO_REUSEADDR)) return failedAt("SO_REUSEADDR");
  // Before the lock-down; connections inherit it.
  if (!turnOn(fd, IPPROTO_TCP, TCP_NODELAY)) return failedAt("TCP_NODELAY");
  if (bind(fd, address.raw(), address.size()) != 0) return failedAt("bind");
  if (listen(fd, kBacklog) != 0) return failedAt("listen");
  return kj::mv(owned);
}

}  // namespace vfiogate
