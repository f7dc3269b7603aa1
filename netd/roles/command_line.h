#pragma once
// What the command line asks netd to do, and the roles that do it.

#include "ipc/base/build_info.h"
#include "ipc/base/log_format.h"
#include "ipc/base/result.h"
#include "netd/dra/api/api_url.h"
#include "netd/roles/listen_address.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/netd_dra_rules.h"
#include "seccomp/netd_metrics_rules.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace vfiogate {

/// Where the Kubernetes API is, and who it has to be. The files are where a pod has them.
struct ApiLine {
  std::optional<ApiUrl> server;  ///< always there for kDra
  std::string token = "/var/run/secrets/kubernetes.io/serviceaccount/token";
  std::string ca = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
  std::string serverName;  ///< never empty for kDra
};

struct NetdLine {
  enum class Act : std::uint8_t { kMetrics, kDra, kPrintPolicy, kSelfTest };
  Act act = Act::kMetrics;
  BuildInfo build;
  std::string plugind = "/run/vfiogate/plugind/plugind.sock";
  std::optional<ListenAddress> listen;  ///< always there for kMetrics
  ApiLine api;
  std::string node;  ///< of kDra: the Node's name
  LogForm logForm = LogForm::kLogfmt;
  Identity user{64533, 64533};
  std::string policyRole = "metrics";  ///< of kSelfTest: empty for each of them
  std::string policyForm = "text";
};

/// What is left to do is to leave: help was asked for, or something cannot be understood.
struct NetdLeaves {
  int exitCode;  ///< 0, or 2 for usage
  std::string text;
};

/// Reads the arguments of the program that was built so. Nothing is opened and nothing printed.
Result<NetdLine, NetdLeaves> readNetdLine(int argc, const char* const* argv,
                                          const BuildInfo& build);

/// Adds the subcommand, which fills `line`. Where the API server and the node's name are not given,
/// the environment is asked, as a pod has it.
void addDra(CLI::App& app, NetdLine& line);

/// Serves plugind until SIGTERM or SIGINT, then ends the process with code 0. Returns only if
/// start-up fails, with the exit code and the reason on the log. Only the self-test has another
/// filter.
int serveDra(const NetdLine& line, std::span<const Rule> filter = kNetdDraRules);

/// Serves until SIGTERM or SIGINT, then ends the process with code 0. Returns only if start-up
/// fails, with the exit code and the reason on the log.
int serveMetrics(const NetdLine& line, std::span<const Rule> filter = kNetdMetricsRules);

}  // namespace vfiogate
