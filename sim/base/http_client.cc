#include "sim/base/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace vfiogate::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

std::size_t lengthIn(const std::string& head) {
  constexpr std::string_view kName = "\r\nContent-Length: ";
  const std::size_t at = head.find(kName);
  return at == std::string::npos ? 0 : std::strtoul(&head[at + kName.size()], nullptr, 10);
}

}  // namespace

HttpConnection::HttpConnection(std::uint16_t port)
    : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int error = errno;
    close(fd_);
    throw std::system_error(error, std::generic_category(), "connect");
  }
}

HttpConnection::~HttpConnection() {
  if (fd_ >= 0) close(fd_);
}

HttpConnection::HttpConnection(HttpConnection&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), ended_(other.ended_), unread_(std::move(other.unread_)) {}

bool HttpConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool HttpConnection::readMore(Clock::time_point end) {
  if (ended_) return false;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  pollfd wait{.fd = fd_, .events = POLLIN, .revents = 0};
  if (left < 0 || poll(&wait, 1, static_cast<int>(left)) != 1) return false;
  std::array<char, 16384> bytes{};
  const ssize_t got = recv(fd_, bytes.data(), bytes.size(), 0);
  ended_ = got <= 0;
  if (got > 0) unread_.append(bytes.data(), static_cast<std::size_t>(got));
  return !ended_;
}

std::optional<HttpAnswer> HttpConnection::answer(std::chrono::milliseconds patience, bool hasBody) {
  const auto end = Clock::now() + patience;
  std::size_t headEnd = std::string::npos;
  while ((headEnd = unread_.find(kHeadEnd)) == std::string::npos) {
    if (!readMore(end)) return std::nullopt;
  }
  HttpAnswer answer;
  answer.head = unread_.substr(0, headEnd);
  const std::size_t space = answer.head.find(' ');
  if (space != std::string::npos) {
    answer.code = static_cast<int>(std::strtol(&answer.head[space], nullptr, 10));
  }
  unread_.erase(0, headEnd + kHeadEnd.size());
  const std::size_t length = hasBody ? lengthIn(answer.head) : 0;
  while (unread_.size() < length) {
    if (!readMore(end)) return std::nullopt;
  }
  answer.body = unread_.substr(0, length);
  unread_.erase(0, length);
  return answer;
}

bool HttpConnection::hungUp(std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  while (readMore(end)) unread_.clear();
  return ended_;
}

std::string getRequest(std::string_view path) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: node\r\n\r\n";
}

std::optional<HttpAnswer> httpGet(std::uint16_t port, std::string_view path,
                                  std::chrono::milliseconds patience) {
  HttpConnection connection(port);
  if (!connection.send(getRequest(path))) return std::nullopt;
  return connection.answer(patience);
}

}  // namespace vfiogate::test
