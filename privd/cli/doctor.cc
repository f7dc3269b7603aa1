#include "cli/common_options.h"
#include "cli/table.h"
#include "privd/cli/commands.h"
#include "privd/cli/doctor/examine.h"
#include "privd/cli/doctor/read_host.h"
#include "privd/cli/doctor/report.h"

#include <CLI/CLI.hpp>

#include <iostream>

namespace vfiogate {

void addDoctorCommand(CLI::App& app, int& exitCode) {
  CLI::App* command = app.add_subcommand(
      "doctor", "whether this host can pass devices to VMs, and what would fix it");
  auto roots = std::make_shared<DoctorRoots>();
  auto form = std::make_shared<std::string>("text");
  addRoots(*command, *roots);
  addOutputForm(*command, *form, {"text", "json", "yaml"});
  command->callback([roots, form, &exitCode]() {
    const Findings findings = examine(readHost(*roots));
    if (isDocument(*form)) {
      std::cout << documentText(reportJson(findings), *form);
    } else {
      std::cout << reportText(findings, wantsColours());
    }
    exitCode = exitCodeOf(findings);
  });
}

}  // namespace vfiogate
