#include "netd/roles/command_line.h"

#include "cli/common_options.h"
#include "ipc/base/kube_names.h"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <utility>

namespace vfiogate {
namespace {

constexpr const char* kClusterName = "kubernetes.default.svc";

std::string fromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

ApiUrl apiUrlIn(const std::string& text) {
  auto url = ApiUrl::parse(text);
  if (!url) throw CLI::ValidationError("--api-server", url.error());
  return std::move(url).value();
}

/// Where a pod finds it.
ApiUrl apiUrlOfPod() {
  const std::string host = fromEnvironment("KUBERNETES_SERVICE_HOST");
  const std::string port = fromEnvironment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    throw CLI::ValidationError(
        "--api-server",
        "is needed where no KUBERNETES_SERVICE_HOST and _PORT are in the environment");
  }
  return apiUrlIn(apiUrlOf(host, port));
}

void addServer(CLI::App& dra, NetdLine& line) {
  dra.add_option_function<std::string>(
         "--api-server", [&line](const std::string& text) { line.api.server = apiUrlIn(text); },
         "https://HOST[:PORT] of the Kubernetes API; http:// for this machine alone, and then "
         "no token is sent [KUBERNETES_SERVICE_HOST and _PORT]")
      ->type_name("URL");
  dra.add_option("--token", line.api.token,
                 "file of the service account's token; read again when replaced")
      ->type_name("FILE")
      ->capture_default_str();
  dra.add_option("--ca", line.api.ca,
                 "certificates that the server's must be signed by; read again when replaced")
      ->type_name("FILE")
      ->capture_default_str();
  dra.add_option("--server-name", line.api.serverName,
                 std::string("DNS name that the server's certificate must have; addresses in "
                             "certificates are not looked at [the host, or ") +
                     kClusterName + " where that is an address]")
      ->type_name("NAME");
}

void complete(NetdLine& line) {
  if (!isDnsSubdomain(line.node)) {
    throw CLI::ValidationError("--node", line.node.empty()
                                             ? "is needed where no NODE_NAME is in the environment"
                                             : "'" + line.node + "' is no Node's name");
  }
  if (!line.api.server) line.api.server = apiUrlOfPod();
  if (line.api.serverName.empty()) {
    line.api.serverName = line.api.server->numeric ? kClusterName : line.api.server->host;
  }
  line.act = NetdLine::Act::kDra;
}

}  // namespace

void addDra(CLI::App& app, NetdLine& line) {
  CLI::App* dra =
      app.add_subcommand("dra", "asks the Kubernetes API on behalf of plugind's DRA driver");
  dra->add_option("--plugind", line.plugind, "plugind's socket")->capture_default_str();
  addServer(*dra, line);
  dra->add_option("--node", line.node, "name of the Node that this is")
      ->type_name("NAME")
      ->envname("NODE_NAME");
  addUserOption(*dra, "UID[:GID] to become; plugind's --netd-uid [64533:64533]",
                [&line](uid_t uid, gid_t gid) {
                  line.user = {uid, gid};
                });
  addLogFormat(*dra, line.logForm);
  dra->callback([&line]() { complete(line); });
}

}  // namespace vfiogate
