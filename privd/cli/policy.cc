#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/output_form.h"
#include "privd/cli/commands.h"
#include "privd/cli/policy/self_test.h"
#include "seccomp/fork_server_rules.h"
#include "seccomp/print_policy.h"
#include "seccomp/privd_rules.h"
#include "seccomp/startup_rules.h"

namespace vfiogate {

void addPolicyCommand(CLI::App& app, int& exitCode) {
  CLI::App* command = app.add_subcommand(
      "policy", "the system calls that the daemon may make, each with its reason");
  auto form = std::make_shared<std::string>("text");
  addOutputForm(*command, *form, {kPolicyForms.begin(), kPolicyForms.end()});
  auto selfTest = std::make_shared<bool>(false);
  command->add_flag("--self-test", *selfTest,
                    "go the daemon's main paths in a child under its filters, on scratch files; "
                    "says which call was killed first. As root");
  command->callback([form, selfTest, &exitCode]() {
    exitCode = 0;
    if (*selfTest) {
      if (*form == "oci") throw CLI::ValidationError("--self-test", "is told as text or json");
      const SelfTest test = runSelfTest();
      std::cout << selfTestAs(*form, test);
      exitCode = test.failure.empty() ? 0 : 1;
      return;
    }
    std::cout << policyAs(
        *form, {"privd", kPrivdRules, kPrivdStartupRules, "privd's fork server", kForkServerRules});
  });
}

}  // namespace vfiogate
