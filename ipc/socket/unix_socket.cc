#include "ipc/socket/unix_socket.h"

#include <kj/debug.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace vfiogate {
namespace {

constexpr int kBacklog = 64;
/// Names left by a process that died between bind and rename stand in the way of the next one;
/// nothing is unlinked here, so it takes the next name.
constexpr int kTemporaryNames = 16;

std::optional<sockaddr_un> addressOf(kj::StringPtr path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return std::nullopt;
  memcpy(address.sun_path, path.cStr(), path.size());
  return address;
}

Result<kj::AutoCloseFd, SocketError> newSocket() {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Failure{SocketError{errno, "socket"}};
  return kj::AutoCloseFd(fd);
}

/// 0, or the errno of what stood in the way.
int bindTo(int fd, kj::StringPtr path, WhoMayConnect who) {
  const auto address = addressOf(path);
  if (!address) return ENAMETOOLONG;
  const mode_t before = umask(static_cast<mode_t>(who));
  const int bound = bind(fd, reinterpret_cast<const sockaddr*>(&*address), sizeof(*address));
  const int error = errno;
  umask(before);
  return bound == 0 ? 0 : error;
}

/// Of a path that is free.
Result<kj::AutoCloseFd, SocketError> listenOn(kj::StringPtr path, WhoMayConnect who) {
  auto made = newSocket();
  if (!made) return made;
  if (const int error = bindTo(made->get(), path, who); error != 0) {
    return Failure{SocketError{error, "bind"}};
  }
  if (listen(made->get(), kBacklog) != 0) return Failure{SocketError{errno, "listen"}};
  return made;
}

}  // namespace

Result<kj::AutoCloseFd, SocketError> listenAt(kj::StringPtr directory, kj::StringPtr name,
                                              WhoMayConnect who) {
  const auto path = kj::str(directory, "/", name);
  for (int attempt = 0; attempt < kTemporaryNames; ++attempt) {
    const auto temporary = kj::str(directory, "/.", name, ".", attempt);
    auto made = listenOn(temporary, who);
    if (!made && made.error().error == EADDRINUSE) continue;
    if (!made) return made;
    // Not rename(), which is another system call on some machines: the filters have one.
    if (renameat(AT_FDCWD, temporary.cStr(), AT_FDCWD, path.cStr()) == 0) return made;
    return Failure{SocketError{errno, "rename"}};
  }
  return Failure{SocketError{EADDRINUSE, "bind"}};
}

Result<kj::AutoCloseFd, SocketError> listenInPlace(kj::StringPtr directory, kj::StringPtr name,
                                                   WhoMayConnect who) {
  const auto path = kj::str(directory, "/", name);
  if (unlinkat(AT_FDCWD, path.cStr(), 0) == 0 || errno == ENOENT) return listenOn(path, who);
  return Failure{SocketError{errno, "unlink"}};
}

Result<kj::AutoCloseFd, SocketError> dialAt(kj::StringPtr path) {
  const auto address = addressOf(path);
  if (!address) return Failure{SocketError{ENAMETOOLONG, "connect"}};
  auto made = newSocket();
  if (!made) return made;
  const auto* to = reinterpret_cast<const sockaddr*>(&*address);
  if (connect(made->get(), to, sizeof(*address)) == 0) return made;
  return Failure{SocketError{errno, "connect"}};
}

bool meansNotYet(int error) {
  return error == ENOENT || error == ECONNREFUSED || error == EACCES || error == EAGAIN;
}

kj::Maybe<kj::AutoCloseFd> acceptFrom(int listenFd) {
  const int fd = accept4(listenFd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) return kj::AutoCloseFd(fd);
  switch (errno) {
    case EAGAIN:
    case ECONNABORTED:
    case EINTR:
      return nullptr;
    default:
      KJ_FAIL_SYSCALL("accept4", errno);
  }
}

PeerIdentity peerOf(int socketFd) {
  ucred credentials = {};
  socklen_t size = sizeof(credentials);
  KJ_SYSCALL(getsockopt(socketFd, SOL_SOCKET, SO_PEERCRED, &credentials, &size));
  return {credentials.uid,
          credentials.pid == 0 ? std::nullopt : std::optional<pid_t>(credentials.pid)};
}

}  // namespace vfiogate
