#pragma once
// The stand-in API server (tests/support/played/api_server) as a process of its own.

#include "sim/base/child_process.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace vfiogate::test {

struct ApiServerOptions {
  std::string certificate;  ///< files in PEM; empty: no TLS
  std::string key;
  std::vector<std::string> tokenFiles;  ///< none: everybody is let in
  std::string drop;                     ///< "counters,taints": fields that vanish in silence
  std::vector<std::string> nodes = {"node-1"};
  std::uint16_t port = 0;                   ///< 0: any
  std::string store;                        ///< the file that outlives it; empty: none
  std::vector<std::string> serve = {"v1"};  ///< versions of resource.k8s.io
  bool countersBeside = false;              ///< in the slice of their devices, as before 1.35
};

/// One result of a claim's allocation.
struct ClaimDevice {
  std::string device;
  std::string request = "main";
  std::string pool = "node-1";
  bool adminAccess = false;
};

/// Each question of the test throws std::runtime_error with the answer unless that is a success.
class ApiServer {
public:
  /// Waits until it listens. Throws where there is no python3 or it does not start.
  explicit ApiServer(const ApiServerOptions& options = {});

  std::uint16_t port() const { return port_; }
  /// "http://127.0.0.1:PORT" or "https://127.0.0.1:PORT".
  std::string url() const;

  /// As resource.k8s.io/v1 has them; by their names.
  nlohmann::json slices();
  /// The pools as a scheduler makes them of the slices: sim/api_server/README.md.
  nlohmann::json pools();
  nlohmann::json journal();
  /// Requests of the journal that begin so, "GET /apis/...".
  std::size_t asked(const std::string& begin);
  void control(const nlohmann::json& order);

  /// Makes what this object says, in namespace "default". Returns its uid.
  std::string makeClaim(const nlohmann::json& claim);
  /// An allocated claim of namespace "default"; `config` is the allocation's list. Returns its uid.
  std::string makeClaim(const std::string& name, const std::string& driver,
                        const std::vector<ClaimDevice>& devices,
                        const nlohmann::json& config = nlohmann::json::array());
  nlohmann::json claim(const std::string& name);
  void deallocate(const std::string& name);
  void deleteClaim(const std::string& name);

  /// Any request with the token of the first file, of whatever version of resource.k8s.io; `body`
  /// is JSON, or empty.
  nlohmann::json ask(const std::string& method, const std::string& path,
                     const std::string& body = {});

private:
  bool tls_;
  std::string tokenFile_;
  ChildProcess process_;
  std::uint16_t port_ = 0;
  std::uint16_t controlPort_ = 0;
};

}  // namespace vfiogate::test
