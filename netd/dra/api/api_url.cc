#include "netd/dra/api/api_url.h"

#include "ipc/base/hex.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestHost = 253;

bool isHostName(std::string_view text) {
  return !text.empty() && text.size() <= kLongestHost && text.front() != '-' &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '-';
         });
}

std::optional<in_addr> asV4(const std::string& host) {
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) != 1) return std::nullopt;
  return address;
}

std::optional<in6_addr> asV6(const std::string& host) {
  in6_addr address{};
  if (inet_pton(AF_INET6, host.c_str(), &address) != 1) return std::nullopt;
  return address;
}

bool isThisMachine(const std::string& host) {
  if (const auto v4 = asV4(host)) return ntohl(v4->s_addr) >> 24U == 127;
  const auto v6 = asV6(host);
  return v6 && IN6_IS_ADDR_LOOPBACK(&*v6);
}

std::optional<std::uint16_t> portOf(std::string_view text) {
  const auto number = parseDecimal(text);
  if (!number || *number == 0 || *number > std::numeric_limits<std::uint16_t>::max()) {
    return std::nullopt;
  }
  return static_cast<std::uint16_t>(*number);
}

/// Takes "HOST" off the front of `rest`. False: there is none.
bool takeHost(std::string_view& rest, ApiUrl& url) {
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return false;
    url.host = rest.substr(1, end - 1);
    url.numeric = true;
    rest.remove_prefix(end + 1);
    return asV6(url.host).has_value();
  }
  const std::size_t end = std::min(rest.find(':'), rest.size());
  url.host = rest.substr(0, end);
  url.numeric = asV4(url.host).has_value();
  rest.remove_prefix(end);
  return isHostName(url.host);
}

}  // namespace

Result<ApiUrl, std::string> ApiUrl::parse(std::string_view text) {
  const Failure<std::string> shape{"'" + std::string(text) +
                                   "' is not https://HOST[:PORT], such as https://10.96.0.1:443 "
                                   "or https://[fd00::1]"};
  ApiUrl url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    url.tls = false;
    url.port = 80;
  } else {
    return shape;
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (!takeHost(rest, url)) return shape;
  if (!rest.empty()) {
    const auto port = rest.starts_with(':') ? portOf(rest.substr(1)) : std::nullopt;
    if (!port) return shape;
    url.port = *port;
  }
  if (!url.tls && !isThisMachine(url.host)) {
    return Failure{"'" + std::string(text) +
                   "': without TLS only this machine is asked, by its address: 127.0.0.1 or [::1]"};
  }
  return url;
}

std::string ApiUrl::authority() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string apiUrlOf(const std::string& host, const std::string& port) {
  const bool v6 = host.find(':') != std::string::npos;
  return "https://" + (v6 ? "[" + host + "]" : host) + ":" + port;
}

}  // namespace vfiogate
