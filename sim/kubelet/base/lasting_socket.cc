#include "sim/kubelet/base/lasting_socket.h"

#include <grpcpp/server.h>
#include <grpcpp/server_posix.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace vfiogate::sim {
namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

LastingSocket::LastingSocket(const std::string& path, grpc::Server& server)
    : listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  require(listener_ >= 0, "socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  errno = ENAMETOOLONG;
  require(path.size() < sizeof(address.sun_path), path);
  path.copy(address.sun_path, path.size());
  require(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0,
          "bind " + path);
  require(listen(listener_, SOMAXCONN) == 0, "listen at " + path);
  accepting_ = std::thread([this, &server]() { acceptAll(server); });
}

LastingSocket::~LastingSocket() {
  shutdown(listener_, SHUT_RDWR);  // ends the accept() under way
  accepting_.join();
  close(listener_);
}

void LastingSocket::acceptAll(grpc::Server& server) const {
  while (true) {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (connection < 0) return;
    grpc::AddInsecureChannelFromFd(&server, connection);
  }
}

}  // namespace vfiogate::sim
