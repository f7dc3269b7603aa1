#pragma once
// Where the API server is. Pure.

#include "ipc/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace vfiogate {

/// `https://HOST[:PORT]`, or `http://` to this machine alone. HOST is a name, an IPv4 address, or
/// an IPv6 address in brackets; no path follows but "/".
struct ApiUrl {
  bool tls = true;
  std::string host;  ///< without brackets
  std::uint16_t port = 443;
  bool numeric = false;  ///< the host is an address

  /// Error: for people. `http://` is taken for 127.0.0.0/8 and ::1 only.
  static Result<ApiUrl, std::string> parse(std::string_view text);

  /// As parse() reads it; also what a request's Host says, with the scheme before it.
  std::string str() const { return std::string(tls ? "https://" : "http://") + authority(); }
  std::string authority() const;

  friend bool operator==(const ApiUrl&, const ApiUrl&) = default;
};

/// The URL of the service that a pod finds in KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT.
std::string apiUrlOf(const std::string& host, const std::string& port);

}  // namespace vfiogate
