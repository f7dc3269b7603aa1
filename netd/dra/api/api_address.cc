#include "netd/dra/api/api_address.h"

#include "ipc/socket/stream_flags.h"

#include <kj/debug.h>
#include <kj/io.h>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cstring>
#include <memory>

namespace vfiogate {
namespace {

/// A server that vanished is noticed within two minutes, also by a watch on which nothing comes.
constexpr int kIdleBeforeProbe = 30;  ///< s
constexpr int kBetweenProbes = 10;    ///< s; nine of them

void setNumber(int fd, int level, int option, int value) {
  KJ_SYSCALL(setsockopt(fd, level, option, &value, sizeof(value)));
}

kj::AutoCloseFd socketFor(const SocketTarget& target) {
  int fd = -1;
  KJ_SYSCALL(fd = socket(target.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  kj::AutoCloseFd owned(fd);
  setNumber(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  setNumber(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  setNumber(fd, IPPROTO_TCP, TCP_KEEPIDLE, kIdleBeforeProbe);
  setNumber(fd, IPPROTO_TCP, TCP_KEEPINTVL, kBetweenProbes);
  return owned;
}

}  // namespace

Result<std::vector<SocketTarget>, std::string> resolveApi(const ApiUrl& url) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (url.numeric ? AI_NUMERICHOST : 0);
  addrinfo* found = nullptr;
  const int error = getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found);
  if (error != 0) return Failure{url.host + ": " + gai_strerror(error)};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  std::vector<SocketTarget> targets;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    SocketTarget target;
    target.size = one->ai_addrlen;
    std::memcpy(&target.address, one->ai_addr, one->ai_addrlen);
    targets.push_back(target);
  }
  if (targets.empty()) return Failure{url.host + ": has no IPv4 and no IPv6 address"};
  return targets;
}

kj::Promise<kj::Own<kj::AsyncIoStream>> ApiAddress::connect() {
  return kj::evalNow([this]() { return dial(); })
      .catch_([this](kj::Exception&& failure) -> kj::Promise<kj::Own<kj::AsyncIoStream>> {
        ++next_;
        return kj::mv(failure);
      });
}

kj::Promise<kj::Own<kj::AsyncIoStream>> ApiAddress::dial() {
  const SocketTarget& target = targets_[next_ % targets_.size()];
  auto dialled = streams_.wrapConnectingSocketFd(socketFor(target),
                                                 reinterpret_cast<const sockaddr*>(&target.address),
                                                 target.size, kStreamFlags);
  KJ_IF_MAYBE (tls, tls_) {
    return dialled.then(
        [tls](kj::Own<kj::AsyncIoStream> stream) { return tls->wrap(kj::mv(stream)); });
  }
  return dialled;
}

kj::Own<kj::ConnectionReceiver> ApiAddress::listen() {
  KJ_UNIMPLEMENTED("nobody listens here");
}

kj::Own<kj::NetworkAddress> ApiAddress::clone() {
  KJ_UNIMPLEMENTED("there is one");
}

}  // namespace vfiogate
