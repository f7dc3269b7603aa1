// Usage: trace_calls privd|plugind|netd-metrics|netd-dra PROGRAM [ARGUMENT...]
// Runs the program with its filter taken out (see call_tracer.h), until it ends or is sent SIGTERM
// or SIGINT, and prints how often each row of the table was used and which calls have no row: of
// the process, of privd's fork server and of privd-gate.

#include "seccomp/fork_server_rules.h"
#include "seccomp/gate_rules.h"
#include "seccomp/netd_dra_rules.h"
#include "seccomp/netd_metrics_rules.h"
#include "seccomp/plugind_rules.h"
#include "seccomp/privd_rules.h"
#include "tests/support/seen/call_tracer.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate::test {
namespace {

/// True if the process loaded its filter and made no call without a row.
bool tell(const CallTally& tally, std::span<const Rule> table) {
  if (table.empty()) return true;
  std::fputs((str(tally, table) + "\n").c_str(), stderr);
  return tally.filterLoaded && tally.unlisted.empty();
}

int trace(const std::vector<std::string>& command, const TracedTables& tables) {
  const CallTrace found = traceCalls(command, tables);
  const bool own = tell(found.own, tables.own);
  const bool forked = tell(found.forked, tables.forked);
  return tell(found.started, tables.started) && forked && own ? 0 : 1;
}

}  // namespace
}  // namespace vfiogate::test

int main(int argc, char** argv) {
  using namespace vfiogate;
  const std::string_view role = argc > 2 ? argv[1] : "";
  const std::map<std::string_view, test::TracedTables> tables{
      {"privd", {.own = kPrivdRules, .forked = kForkServerRules, .started = kGateRules}},
      {"plugind", {.own = kPlugindRules}},
      {"netd-metrics", {.own = kNetdMetricsRules}},
      {"netd-dra", {.own = kNetdDraRules}}};
  const auto found = tables.find(role);
  if (found == tables.end()) {
    std::fputs("usage: trace_calls privd|plugind|netd-metrics|netd-dra PROGRAM [ARGUMENT...]\n",
               stderr);
    return 2;
  }
  try {
    return test::trace({argv + 2, argv + argc}, found->second);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "trace_calls: %s\n", failure.what());
    return 1;
  }
}
