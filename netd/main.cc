// netd: the only program of vfiogate with a network. It decides nothing.

#include "cli/common_options.h"
#include "netd/roles/command_line.h"
#include "netd/self_test/self_test.h"
#include "seccomp/netd_dra_rules.h"
#include "seccomp/netd_metrics_rules.h"
#include "seccomp/print_policy.h"
#include "seccomp/startup_rules.h"

#include <kj/exception.h>

#include <exception>
#include <iostream>

namespace vfiogate {
namespace {

int run(const NetdLine& line) {
  if (line.act == NetdLine::Act::kMetrics) return serveMetrics(line);
  if (line.act == NetdLine::Act::kDra) return serveDra(line);
  if (line.act == NetdLine::Act::kSelfTest) {
    const SelfTest test = runSelfTest(line);
    std::cout << selfTestAs(line.policyForm,
                            line.policyRole.empty() ? "netd" : "netd " + line.policyRole, test);
    return test.failure.empty() ? 0 : 1;
  }
  const Policy metrics{"netd metrics", kNetdMetricsRules, kNetdMetricsStartupRules};
  const Policy dra{"netd dra", kNetdDraRules, kNetdDraStartupRules};
  const Policy& policy = line.policyRole == "dra" ? dra : metrics;
  const std::string& form = line.policyForm;
  std::cout << (form == "yaml" ? yamlOf(policyAs("json", policy)) : policyAs(form, policy));
  return 0;
}

}  // namespace
}  // namespace vfiogate

int main(int argc, char** argv) {
  try {
    const auto line = vfiogate::readNetdLine(argc, argv, vfiogate::kBuild);
    if (line) return vfiogate::run(*line);
    (line.error().exitCode == 0 ? std::cout : std::cerr) << line.error().text;
    return line.error().exitCode;
  } catch (const kj::Exception& failure) {
    std::cerr << "netd: " << failure.getDescription().cStr() << "\n";
  } catch (const std::exception& failure) {
    std::cerr << "netd: " << failure.what() << "\n";
  }
  return 1;
}
