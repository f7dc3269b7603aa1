#include "tests/sandbox/daemons_under_test.h"

#include "sim/base/process_status.h"

#include <sys/stat.h>

#include <filesystem>
#include <ostream>
#include <variant>

namespace vfiogate::test {
namespace {

constexpr uid_t kHardwareUid = 64531;
constexpr uid_t kPlugindUid = 64532;
constexpr uid_t kNetdUid = 64533;

std::string testPrograms() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

/// The other programs become a user of their own, or stay root.
void startAsItsUser(const DaemonUnderTest& daemon, std::vector<std::string>& command) {
  if (daemon.role != Role::kHardware) return;
  const std::string id = std::to_string(daemon.uid);
  const std::vector<std::string> starter{
      "/usr/bin/setpriv", "--reuid", id, "--regid", id, "--clear-groups", "--bounding-set=-all"};
  command.insert(command.begin(), starter.begin(), starter.end());
}

std::vector<std::string> commandIn(const TempDir& directory, const DaemonUnderTest& daemon) {
  std::vector<std::string> command = daemon.command;
  // plugind listens in it after it has become another user.
  chmod(directory.path().c_str(), 0777);
  command.front() = builtProgram(command.front());
  for (std::string& argument : command) {
    const auto at = argument.find("{dir}");
    if (at != std::string::npos) argument.replace(at, 5, directory.path().string());
  }
  startAsItsUser(daemon, command);
  return command;
}

}  // namespace

std::string standInProgram() {
  return testPrograms() + "/stand_in_daemon";
}

std::vector<DaemonUnderTest> daemonsUnderTest() {
  const std::vector<std::string> binder{"privd-binder",
                                        "--sysfs",
                                        "{dir}",
                                        "--dev",
                                        "{dir}",
                                        "--uevents",
                                        "off",
                                        "--state-dir",
                                        "{dir}/state",
                                        "--audit-log",
                                        "{dir}/state/audit.jsonl"};
  return {
      {"Daemon",
       Role::kDaemon,
       {"privd-daemon", "--plugind", "{dir}/plugind.sock", "--sysfs", "{dir}", "--dev", "{dir}",
        "--uevents", "off", "--kubelet-dir", "{dir}", "--state-dir", "{dir}/state", "--audit-log",
        "{dir}/state/audit.jsonl"},
       "event=started role=daemon",
       0},
      {"Hardware",
       Role::kHardware,
       {"privd-hardware", "--plugind", "{dir}/plugind.sock", "--sysfs", "{dir}", "--dev", "{dir}",
        "--uevents", "off"},
       "event=started",
       kHardwareUid},
      {"Gate",
       Role::kGate,
       {"privd-gate", "--plugind", "{dir}/plugind.sock", "--kubelet-dir", "{dir}", "--state-dir",
        "{dir}/state"},
       "event=locked_down",
       0},
      {"Binder", Role::kBinder, binder, "event=started", 0},
      {"Iommufd",
       Role::kIommufd,
       {"privd-iommufd", "--socket", "{dir}/own/iommufd.sock", "--dev", "{dir}"},
       "event=started",
       0},
      {"ForkServer", Role::kForkServer, binder, "event=started", 0},
      {"Plugind",
       Role::kPlugind,
       {"plugind", "--listen", "{dir}/plugind.sock"},
       "event=started",
       kPlugindUid},
      {"NetdMetrics",
       Role::kNetdMetrics,
       {"netd", "metrics", "--listen", "127.0.0.1:0", "--plugind", "{dir}/plugind.sock"},
       "event=started",
       kNetdUid},
      {"NetdDra",
       Role::kNetdDra,
       {"netd", "dra", "--api-server", "http://127.0.0.1:9", "--node", "node-1", "--plugind",
        "{dir}/plugind.sock"},
       "event=started",
       kNetdUid},
  };
}

void PrintTo(const DaemonUnderTest& daemon, std::ostream* out) {
  *out << daemon.name;
}

RunningDaemon::RunningDaemon(const DaemonUnderTest& daemon)
    : role_(daemon.role),
      process_(commandIn(directory_, daemon), filteredEnvironment()),
      ready_(process_.says(daemon.readyText)) {}

pid_t RunningDaemon::pid() {
  // The binder forks it first of all, and is not asked to write anything.
  return role_ == Role::kForkServer ? childrenOf(process_.pid()).at(0) : process_.pid();
}

CallOutcome RunningDaemon::inject(const ForeignCall& call) {
  const pid_t held = pid();
  SyscallInjector injector(held);
  const CallOutcome outcome = injector.inject(call);
  const bool itself = held == process_.pid();
  if (itself && std::holds_alternative<Killed>(outcome)) process_.waitedForElsewhere();
  return outcome;
}

}  // namespace vfiogate::test
