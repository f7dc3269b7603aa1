#pragma once
// A client of HTTP/1.1 over bare sockets, which may also misbehave.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vfiogate::test {

struct HttpAnswer {
  int code = 0;
  std::string head;  ///< status line and headers
  std::string body;
};

/// One connection to 127.0.0.1; closed when destroyed.
class HttpConnection {
public:
  /// Connects within a few seconds. Throws std::system_error if nothing listens.
  explicit HttpConnection(std::uint16_t port);
  ~HttpConnection();
  HttpConnection(HttpConnection&& other) noexcept;
  HttpConnection& operator=(HttpConnection&&) = delete;

  /// Sends what the server takes at once; false if it hung up or takes no more.
  bool send(std::string_view bytes);
  /// The next answer, read by its Content-Length (none for HEAD). None: hung up, or too late.
  std::optional<HttpAnswer> answer(std::chrono::milliseconds patience, bool hasBody = true);
  /// True as soon as the server has hung up; what it sends before is forgotten.
  bool hungUp(std::chrono::milliseconds patience);

private:
  /// False: the server hung up, or nothing came in time.
  bool readMore(std::chrono::steady_clock::time_point end);

  int fd_ = -1;
  bool ended_ = false;
  std::string unread_;
};

/// "GET path HTTP/1.1" with its end.
std::string getRequest(std::string_view path);

/// One request on a connection of its own. None: no whole answer within `patience`.
std::optional<HttpAnswer> httpGet(std::uint16_t port, std::string_view path,
                                  std::chrono::milliseconds patience);

}  // namespace vfiogate::test
