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

nlohmann::ordered_json policyOf(std::string_view role) {
  auto whole = nlohmann::ordered_json::parse(policyAs("json", privdPolicy(role)));
  whole["landlock"] = landlockAsJson(role);
  return whole;
}

/// The guards' evidence goes with the binder, which has them. It is this host's; what goes into a
/// profile is every host's.
std::string policyText(const std::string& form, const std::string& role,
                       const SightPlaces& places) {
  if (form == "oci") return policyAs(form, privdPolicy(role));
  std::vector<std::string_view> roles{kPrivdRoles.begin(), kPrivdRoles.end()};
  if (!role.empty()) roles = {role};
  const bool guards = role.empty() || role == "binder";
  const auto evidence = guards ? evidenceOf(findEvidence(places)) : std::vector<GuardEvidence>();
  if (form == "text") {
    std::string text;
    for (const std::string_view one : roles) {
      const std::string landlock = landlockAsText(one);
      text += (text.empty() ? "" : "\n") + policyAs(form, privdPolicy(one)) +
              (landlock.empty() ? "" : "\n" + landlock);
    }
    return guards ? text + "\n" + evidenceAsText(evidence) : text;
  }
  nlohmann::ordered_json whole;
  if (role.empty()) {
    for (const std::string_view one : roles) whole[std::string(one)] = policyOf(one);
  } else {
    whole = policyOf(role);
  }
  if (guards) whole["guards"] = evidenceAsJson(evidence);
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
      "the system calls that each of privd's processes may make and the places where it may open "
      "files, each with its reason; and which evidence the guards of bindings have here");
  auto form = std::make_shared<std::string>("text");
  addOutputForm(*command, *form, {kPolicyForms.begin(), kPolicyForms.end()});
  auto role = std::make_shared<std::string>();
  takeOneOf(
      *command->add_option("ROLE", *role, "hardware, gate, binder, daemon or iommufd; default: all")
           ->type_name("TEXT:{hardware,gate,binder,daemon,iommufd}"),
      "process of privd's", {kPrivdRoles.begin(), kPrivdRoles.end()});
  auto places = std::make_shared<SightPlaces>();
  addPlaces(*command, *places);
  auto selfTest = std::make_shared<bool>(false);
  command->add_flag("--self-test", *selfTest,
                    "run each process's main paths in a child under its filter, on scratch files; "
                    "prints the first call that was killed; needs root");
  command->callback([form, role, places, selfTest, &exitCode]() {
    exitCode = 0;
    if (*selfTest) {
      checkSelfTestForm(*form);
      const SelfTest test = runSelfTest();
      std::cout << selfTestAs(*form, "privd", test);
      exitCode = test.failure.empty() ? 0 : 1;
      return;
    }
    if (*form == "oci" && role->empty())
      throw CLI::ValidationError("ROLE", "a profile is of one process: name it");
    std::cout << policyText(*form, *role, *places);
  });
}

}  // namespace vfiogate
