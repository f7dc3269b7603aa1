#include "sim/sysfs/control/control_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "sim/sysfs/control/control_client.h"

namespace vfiogate::sim {
namespace {

constexpr std::size_t kMostLine = 4096;

int bindTo(int socketFd, const sockaddr_un& address) {
  return ::bind(socketFd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace

Result<ControlServer, std::string> ControlServer::listen(const std::string& path) {
  const auto address = controlAddress(path);
  if (!address) return Failure{path + " is too long for a socket: at most 107 characters"};
  if (askControl(path, "help")) return Failure{path + " is served by another simulated node"};
  ::unlink(path.c_str());
  kj::AutoCloseFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const mode_t before = ::umask(0177);
  const bool bound = bindTo(listener.get(), *address) == 0 && ::listen(listener.get(), 8) == 0;
  const int error = errno;
  ::umask(before);
  if (!bound) return Failure{path + ": " + std::strerror(error)};
  return ControlServer(kj::mv(listener));
}

std::vector<int> ControlServer::fds() const {
  std::vector<int> all{listener_.get()};
  for (const Connection& each : connections_) all.push_back(each.socket.get());
  return all;
}

void ControlServer::serve(SimKernel& kernel, Switches& switches) {
  accept();
  for (Connection& each : connections_) {
    std::array<char, kMostLine> buffer{};
    const ssize_t got = ::recv(each.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) continue;
    if (got <= 0) {
      each.answered = true;  // hung up
      continue;
    }
    each.line.append(buffer.data(), static_cast<std::size_t>(got));
    const std::size_t end = each.line.find('\n');
    if (each.line.size() > kMostLine) send(each, "error: the line is too long\n");
    if (end == std::string::npos || each.answered || each.understood) continue;
    each.understood = true;
    each.reply = execute(kernel, switches, each.line.substr(0, end));
    if (each.reply.task == 0 && !each.reply.untilWaiting) send(each, each.reply.text);
  }
}

void ControlServer::answer(const Ended& ended) {
  for (Connection& each : connections_) {
    if (each.answered || each.reply.task != ended.id) continue;
    send(each, finish(each.reply.command, ended.error).text);
  }
}

void ControlServer::settle(std::size_t waiting) {
  for (Connection& each : connections_) {
    if (each.answered) continue;
    if (each.reply.task != 0) send(each, "ok, but it waits until nobody uses the device\n");
    if (each.reply.untilWaiting && *each.reply.untilWaiting <= waiting) send(each, "ok\n");
  }
  connections_.remove_if([](const Connection& each) { return each.answered; });
}

void ControlServer::accept() {
  const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
  if (fd >= 0) connections_.push_back(Connection{kj::AutoCloseFd(fd), "", false, false, {}});
}

void ControlServer::send(Connection& connection, const std::string& text) {
  // Answers are smaller than a socket's buffer; a client that does not read loses its answer.
  ::send(connection.socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  connection.answered = true;
}

}  // namespace vfiogate::sim
