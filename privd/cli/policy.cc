#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/output_form.h"
#include "privd/cli/commands.h"
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
  command->callback([form, &exitCode]() {
    exitCode = 0;
    std::cout << policyAs(
        *form, {"privd", kPrivdRules, kPrivdStartupRules, "privd's fork server", kForkServerRules});
  });
}

}  // namespace vfiogate
