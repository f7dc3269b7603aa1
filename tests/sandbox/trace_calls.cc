// Usage: trace_calls privd|plugind|netd-metrics|netd-dra PROGRAM [ARGUMENT...]
// Runs the program with its filter taken out (see call_tracer.h), until it ends or is sent SIGTERM
// or SIGINT, and prints how often each row of the table was used and which calls have no row.

#include "seccomp/netd_dra_rules.h"
#include "seccomp/netd_metrics_rules.h"
#include "seccomp/plugind_rules.h"
#include "seccomp/privd_rules.h"
#include "tests/support/call_tracer.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

int main(int argc, char** argv) {
  using namespace vfiogate;
  const std::string_view role = argc > 2 ? argv[1] : "";
  const std::map<std::string_view, std::span<const Rule>> tables{
      {"privd", kPrivdRules},
      {"plugind", kPlugindRules},
      {"netd-metrics", kNetdMetricsRules},
      {"netd-dra", kNetdDraRules}};
  const auto found = tables.find(role);
  if (found == tables.end()) {
    std::fputs("usage: trace_calls privd|plugind|netd-metrics|netd-dra PROGRAM [ARGUMENT...]\n",
               stderr);
    return 2;
  }
  const std::span<const Rule> table = found->second;
  const std::vector<std::string> command(argv + 2, argv + argc);
  try {
    const test::CallTally tally = test::traceCalls(command, table);
    std::fputs(test::str(tally, table).c_str(), stderr);
    return tally.filterLoaded && tally.unlisted.empty() ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "trace_calls: %s\n", failure.what());
    return 1;
  }
}
