// The root daemon of vfiogate: starts privd's processes.

#include "ipc/base/build_info.h"
#include "privd/base/log_line.h"
#include "privd/base/plain_loop.h"
#include "privd/options/program_options.h"
#include "privd/options/shared_options.h"
#include "privd/start/supervisor.h"
#include "seccomp/daemon_rules.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/load_filter.h"
#include "seccomp/resource_limits.h"

#include <unistd.h>

#include <cstring>
#include <iostream>
#include <optional>
#include <string>

namespace vfiogate {
namespace {

constexpr const char* kAbout = R"(the daemon: watches the hardware for plugind
Usage: privd serve [OPTIONS]
)";

constexpr ResourceLimits kLimits{.descriptors = 16, .memory = 8U << 20U};

int fail(const std::string& what) {
  std::cerr << "privd: " << what << "\n";
  return 1;
}

/// What its processes need is theirs by now: they inherited no limit and no filter.
std::optional<StepFailure> lockDown(const std::vector<RoleProcess>& roles, int signals) {
  if (auto failure = limitResources(kLimits, [](const LowerLimit&) {})) return failure;
  std::vector<int> kept{signals};
  for (const RoleProcess& role : roles) kept.push_back(role.fd());
  if (auto failure = dropPrivilegesAsIs(kept)) return failure;
  if (auto failure = loadFilter(kDaemonRules)) return failure;
  logLine(LogEvent::kLockedDown, {{"role", kj::str("daemon")}});
  return std::nullopt;
}

Result<Done, std::string> watchOver(Supervisor& all) {
  if (const auto serving = all.awaitServing(); !serving) return Failure{serving.error()};
  logLine(LogEvent::kStarted, {{"role", kj::str("daemon")},
                               {"version", kj::str(kBuild.version.data())},
                               {"commit", kj::str(kBuild.commit.data())},
                               {"date", kj::str(kBuild.date.data())}});
  return all.awaitEnd();
}

/// Until SIGTERM or SIGINT, or the end of one of them; returns the exit code. Failures of start-up
/// are one line on stderr and 1. `given` are the options of which `options` came.
int serve(const ServeOptions& options, const std::vector<GivenOption>& given) {
  if (geteuid() != 0) {
    return fail(std::string("serve: must be started as root, to start the others as their users; "
                            "it gives up every capability by itself. Or ") +
                kSideBySide);
  }
  beginLog(options.logForm);
  const auto signals = takeEndSignals();
  if (!signals) return fail(std::string("signals: ") + strerror(signals.error().error));
  std::vector<RoleProcess> roles;
  for (const RolePlan& plan : rolesToStart(given, declaredIn(options.stateDir))) {
    auto started =
        RoleProcess::start(plan, plan.role == PrivdRole::kHardware ? options.hardwareUid : 0);
    if (!started) return fail(started.error());
    roles.push_back(kj::mv(started).value());
  }
  if (const auto failure = lockDown(roles, *signals)) return fail(failure->str());
  Supervisor all(kj::mv(roles), *signals);
  const auto over = watchOver(all);
  all.endAll();
  logLine(LogEvent::kStopped, {{"role", kj::str("daemon")}});
  return over || over.error().empty() ? 0 : fail(over.error());
}

}  // namespace
}  // namespace vfiogate

int main(int argc, char** argv) {
  vfiogate::ServeOptions options;
  std::vector<vfiogate::GivenOption> given;
  vfiogate::OptionTable table = vfiogate::noting(vfiogate::serveOptions(options), given);
  const auto through = vfiogate::takeArguments(
      table, {argv + 1, argv + argc}, {"privd serve", vfiogate::kAbout, vfiogate::kBuild.text});
  return through ? *through : vfiogate::serve(options, given);
}
