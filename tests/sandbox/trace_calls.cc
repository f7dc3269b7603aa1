// Usage: trace_calls privd|iommufd|plugind|netd-metrics|netd-dra PROGRAM [ARGUMENT...]
// Runs the program with its filter taken out (see call_tracer.h), until it ends or is sent SIGTERM
// or SIGINT, and prints how often each row of the table was used and which calls have no row: of
// the process, and of those that privd's daemon starts, with the binder's fork server.

#include "seccomp/binder_rules.h"
#include "seccomp/daemon_rules.h"
#include "seccomp/fork_server_rules.h"
#include "seccomp/gate_rules.h"
#include "seccomp/hardware_rules.h"
#include "seccomp/iommufd_rules.h"
#include "seccomp/netd_dra_rules.h"
#include "seccomp/netd_metrics_rules.h"
#include "seccomp/plugind_rules.h"
#include "tests/support/seen/call_tracer.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

namespace vfiogate::test {
namespace {

/// True if the process loaded its filter and made no call without a row.
bool tell(const std::string& process, const CallTally& tally, std::span<const Rule> table) {
  if (table.empty()) return true;
  std::fputs((process + ":\n" + str(tally, table) + "\n").c_str(), stderr);
  return tally.filterLoaded && tally.unlisted.empty();
}

int trace(const std::string& role, const std::vector<std::string>& command,
          const TracedTables& tables) {
  const CallTrace found = traceCalls(command, tables);
  bool complete = tell(role, found.own, tables.own);
  complete = tell(role + ", forked", found.forked, tables.forked) && complete;
  for (const auto& [name, program] : tables.started) {
    const ProgramTally& tally = found.started.at(name);
    complete = tell(name, tally.own, program.own) && complete;
    complete = tell(name + ", forked", tally.forked, program.forked) && complete;
  }
  return complete ? 0 : 1;
}

}  // namespace
}  // namespace vfiogate::test

int main(int argc, char** argv) {
  using namespace vfiogate;
  const std::string role = argc > 2 ? argv[1] : "";
  const std::map<std::string, test::TracedTables> tables{
      {"privd",
       {.own = kDaemonRules,
        .started = {{"privd-hardware", {kHardwareRules}},
                    {"privd-gate", {kGateRules}},
                    {"privd-binder", {kBinderRules, kForkServerRules}}}}},
      {"iommufd", {.own = kIommufdRules}},
      {"plugind", {.own = kPlugindRules}},
      {"netd-metrics", {.own = kNetdMetricsRules}},
      {"netd-dra", {.own = kNetdDraRules}}};
  const auto found = tables.find(role);
  if (found == tables.end()) {
    std::fputs(
        "usage: trace_calls privd|iommufd|plugind|netd-metrics|netd-dra PROGRAM [ARGUMENT...]\n",
        stderr);
    return 2;
  }
  try {
    return test::trace(role, {argv + 2, argv + argc}, found->second);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "trace_calls: %s\n", failure.what());
    return 1;
  }
}
