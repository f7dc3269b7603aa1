#include "netd/roles/command_line.h"

#include "cli/common_options.h"
#include "cli/usage.h"
#include "seccomp/print_policy.h"

#include <CLI/CLI.hpp>

#include <sstream>
#include <string_view>

namespace vfiogate {
namespace {

const std::string kSelfTestHelp =
    "run the role, without one each of them, in a child under its filter, beside a plugind and an "
    "API server that are played, on 127.0.0.1; prints the call that was killed";
constexpr const char* kDefaultListen = "127.0.0.1:9408";

void addListen(CLI::App& metrics, NetdLine& line) {
  line.listen = ListenAddress::parse(kDefaultListen);
  metrics
      .add_option_function<std::string>(
          "--listen",
          [&line](const std::string& text) {
            line.listen = ListenAddress::parse(text);
            if (!line.listen) {
              throw CLI::ValidationError("--listen",
                                         "'" + text +
                                             "' is not ADDRESS:PORT in numbers, such as "
                                             "127.0.0.1:9408 or [::]:9408");
            }
          },
          std::string("where HTTP is answered; port 0: a free one [") + kDefaultListen + "]")
      ->type_name("ADDRESS:PORT");
}

void addMetrics(CLI::App& app, NetdLine& line) {
  CLI::App* metrics = app.add_subcommand(
      "metrics", "answers /metrics, /healthz and /readyz over HTTP, with what plugind says");
  metrics->add_option("--plugind", line.plugind, "plugind's socket")->capture_default_str();
  addListen(*metrics, line);
  addUserOption(*metrics, "UID[:GID] to become once it listens; plugind's --netd-uid [64533:64533]",
                [&line](uid_t uid, gid_t gid) {
                  line.user = {uid, gid};
                });
  addLogFormat(*metrics, line.logForm);
  metrics->callback([&line]() { line.act = NetdLine::Act::kMetrics; });
}

void addPolicy(CLI::App& app, NetdLine& line) {
  CLI::App* policy =
      app.add_subcommand("policy", "the system calls that a role of netd may make, with reasons");
  takeOneOf(*policy->add_option("ROLE", line.policyRole, "metrics or dra")
                 ->type_name("TEXT:{metrics,dra}")
                 ->capture_default_str(),
            "role of netd", {"metrics", "dra"});
  addOutputForm(*policy, line.policyForm, {kPolicyForms.begin(), kPolicyForms.end()});
  policy->add_flag("--self-test", kSelfTestHelp);
  policy->callback([&line, policy]() {
    line.act = NetdLine::Act::kPrintPolicy;
    if (policy->count("--self-test") == 0) return;
    checkSelfTestForm(line.policyForm);
    line.act = NetdLine::Act::kSelfTest;
    if (policy->count("ROLE") == 0) line.policyRole.clear();
  });
}

NetdLeaves leaveBy(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out;
  std::ostringstream err;
  if (app.exit(error, out, err) == 0) return {0, out.str()};
  return {kExitUsage, usageError(app, error)};
}

}  // namespace

Result<NetdLine, NetdLeaves> readNetdLine(int argc, const char* const* argv,
                                          const BuildInfo& build) {
  if (!arePrintable(argc, argv)) {
    return Failure{NetdLeaves{kExitUsage, std::string("netd: ") + kUnprintableArgument + "\n"}};
  }
  NetdLine line{.build = build};
  CLI::App app("The only program of vfiogate with a network: each role a process of its own.",
               "netd");
  app.require_subcommand(1);
  app.footer(exitStatusText(false));
  app.set_version_flag("--version", std::string(build.text));
  addMetrics(app, line);
  addDra(app, line);
  addPolicy(app, line);
  putBehind(app, {"policy", "--user", "--server-name", "--ca", "--token"});
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return Failure{leaveBy(app, error)};
  }
  return line;
}

}  // namespace vfiogate
