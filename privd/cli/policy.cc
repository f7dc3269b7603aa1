#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/common_options.h"
#include "privd/cli/commands.h"
#include "privd/cli/policy/guard_evidence.h"
#include "privd/cli/policy/landlock_table.h"
#include "privd/cli/policy/self_test.h"
#include "seccomp/print_policy.h"
#include "seccomp/privd_policy.h"

namespace vfiogate {
namespace {

/// The evidence is this host's; what goes into a profile is every host's.
std::string wholePolicyAs(const std::string& form, const SightPlaces& places) {
  const Policy policy = privdPolicy();
  if (form == "oci") return policyAs(form, policy);
  const auto evidence = evidenceOf(findEvidence(places));
  if (form == "text") {
    return policyAs(form, policy) + "\n" + landlockAsText() + "\n" + evidenceAsText(evidence);
  }
  auto whole = nlohmann::ordered_json::parse(policyAs("json", policy));
  whole["landlock"] = landlockAsJson();
  whole["guards"] = evidenceAsJson(evidence);
  return documentText(whole, form);
}

void addPlaces(CLI::App& command, SightPlaces& places) {
  command.add_option("--sysfs", places.sysfs, "the root below which sysfs is found")
      ->capture_default_str();
  command.add_option("--dev", places.dev, "the root below which device nodes are looked for")
      ->capture_default_str();
  command
      .add_option("--state-dir", places.stateDir, "where the daemon keeps operators' exclusions")
      ->capture_default_str();
  command.add_option("--host-mountinfo", places.hostMountinfo, "as the daemon's")
      ->type_name("FILE");
  command.add_option("--host-route", places.hostRoute, "as the daemon's")->type_name("FILE");
}

}  // namespace

void addPolicyCommand(CLI::App& app, int& exitCode) {
  CLI::App* command = app.add_subcommand(
      "policy",
      "the system calls that the daemon may make and the places where it may open files, each with "
      "its reason; and which evidence the guards of bindings have here");
  auto form = std::make_shared<std::string>("text");
  addOutputForm(*command, *form, {kPolicyForms.begin(), kPolicyForms.end()});
  auto places = std::make_shared<SightPlaces>();
  addPlaces(*command, *places);
  auto selfTest = std::make_shared<bool>(false);
  command->add_flag("--self-test", *selfTest,
                    "run the daemon's main paths in a child under its filters, on scratch files; "
                    "prints the first call that was killed; needs root");
  command->callback([form, places, selfTest, &exitCode]() {
    exitCode = 0;
    if (*selfTest) {
      if (*form == "oci")
        throw CLI::ValidationError("--self-test", "is told as text, json or yaml");
      const SelfTest test = runSelfTest();
      std::cout << selfTestAs(*form, test);
      exitCode = test.failure.empty() ? 0 : 1;
      return;
    }
    std::cout << wholePolicyAs(*form, *places);
  });
}

}  // namespace vfiogate
