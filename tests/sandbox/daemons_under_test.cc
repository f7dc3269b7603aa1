#include "tests/sandbox/daemons_under_test.h"

#include "sim/base/process_status.h"

#include <sys/stat.h>

#include <filesystem>
#include <ostream>
#include <variant>

namespace vfiogate::test {
namespace {

constexpr uid_t kPlugindUid = 64532;
constexpr uid_t kNetdUid = 64533;

std::string testPrograms() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

std::vector<std::string> commandIn(const TempDir& directory, std::vector<std::string> command) {
  // plugind listens in it after it has become another user.
  chmod(directory.path().c_str(), 0777);
  command.front() = builtProgram(command.front());
  for (std::string& argument : command) {
    const auto at = argument.find("{dir}");
    if (at != std::string::npos) argument.replace(at, 5, directory.path().string());
  }
  return command;
}

}  // namespace

std::string standInProgram() {
  return testPrograms() + "/stand_in_daemon";
}

std::vector<DaemonUnderTest> daemonsUnderTest() {
  const std::vector<std::string> privd{"privd-daemon",  "--plugind",   "{dir}/plugind.sock",
                                       "--sysfs",       "{dir}",       "--dev",
                                       "{dir}",         "--uevents",   "off",
                                       "--kubelet-dir", "{dir}",       "--state-dir",
                                       "{dir}/state",   "--audit-log", "{dir}/state/audit.jsonl"};
  return {
      {"Privd", Role::kPrivd, privd, "event=started", 0},
      {"Gate", Role::kGate, privd, "event=started", 0},
      {"ForkServer", Role::kForkServer, privd, "event=started", 0},
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

// LeakSanitizer would want to trace the process at its end.
RunningDaemon::RunningDaemon(const DaemonUnderTest& daemon)
    : role_(daemon.role),
      process_(commandIn(directory_, daemon.command), {{"ASAN_OPTIONS", "detect_leaks=0"}}),
      ready_(process_.says(daemon.readyText)) {}

pid_t RunningDaemon::pid() {
  if (role_ == Role::kGate) return childRunning(process_.pid(), "privd-gate");
  // privd forks it first of all, and is not asked to write anything.
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
