#include "sim/sysfs/control/control_client.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace vfiogate::sim {

std::optional<sockaddr_un> controlAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

ControlRequest::ControlRequest(const std::string& socketPath, const std::string& command)
    : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const auto address = controlAddress(socketPath);
  if (!address) {
    problem_ = socketPath + " is too long for a socket";
    return;
  }
  const std::string line = command + "\n";
  const bool sent =
      ::connect(fd_, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0 &&
      ::send(fd_, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
  if (!sent) problem_ = "nobody answers at " + socketPath + ": " + std::strerror(errno);
}

ControlRequest::~ControlRequest() {
  ::close(fd_);
}

Result<std::string, std::string> ControlRequest::answer() const {
  if (!problem_.empty()) return Failure{problem_};
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 1; got > 0;) {
    got = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  if (text.empty()) return Failure{std::string("it was hung up without an answer")};
  return text;
}

Result<std::string, std::string> askControl(const std::string& socketPath,
                                            const std::string& command) {
  return ControlRequest(socketPath, command).answer();
}

}  // namespace vfiogate::sim
