#include "sim/base/command_listener/command_table.h"

#include "sim/sysfs/control/control_client.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace vfiogate::sim {
namespace {

/// Somebody who connects and says nothing holds up nobody for longer.
constexpr timeval kLineWithin{.tv_sec = 2, .tv_usec = 0};
constexpr std::size_t kLongestLine = 4096;

std::string readLine(int socket) {
  std::string line;
  for (char letter = 0; line.size() < kLongestLine && read(socket, &letter, 1) == 1;) {
    if (letter == '\n') break;
    line += letter;
  }
  return line;
}

void send(int socket, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t now = ::send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) return;  // whoever asked went away
    sent += static_cast<std::size_t>(now);
  }
}

}  // namespace

Result<CommandListener, std::string> CommandListener::open(const std::string& path) {
  const auto address = controlAddress(path);
  if (!address) return Failure{path + ": too long for a socket"};
  kj::AutoCloseFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  unlink(path.c_str());
  const mode_t before = umask(0177);
  const int bound = bind(listener, reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  umask(before);
  if (bound != 0 || listen(listener, 8) != 0) return Failure{path + ": " + std::strerror(errno)};
  return CommandListener(kj::mv(listener));
}

void CommandListener::serve(int stopFd,
                            const std::function<std::string(const std::string&)>& answer) const {
  std::array<pollfd, 2> waiting{{{listener_.get(), POLLIN, 0}, {stopFd, POLLIN, 0}}};
  while (poll(waiting.data(), waiting.size(), -1) >= 0 || errno == EINTR) {
    if (waiting[1].revents != 0) return;
    if (waiting[0].revents == 0) continue;
    const kj::AutoCloseFd caller(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
    if (caller.get() < 0) continue;
    setsockopt(caller, SOL_SOCKET, SO_RCVTIMEO, &kLineWithin, sizeof kLineWithin);
    send(caller, answer(readLine(caller)));
  }
}

}  // namespace vfiogate::sim
