#include "tests/support/sim_sysfs/control_client.h"

#include <kj/io.h>
#include <sys/socket.h>

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

Result<std::string, std::string> askControl(const std::string& socketPath,
                                            const std::string& command) {
  const auto address = controlAddress(socketPath);
  if (!address) return Failure{socketPath + " is too long for a socket"};
  const kj::AutoCloseFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return Failure{"no simulated node answers at " + socketPath + ": " + std::strerror(errno)};
  }
  const std::string line = command + "\n";
  ::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL);
  std::string answer;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 1; got > 0;) {
    got = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (got > 0) answer.append(buffer.data(), static_cast<std::size_t>(got));
  }
  if (answer.empty()) return Failure{std::string("the simulated node hung up without an answer")};
  return answer;
}

}  // namespace vfiogate::sim
