// The operator's command: looks at devices and binds them; `privd serve` becomes the daemon.

#include "cli/common_options.h"
#include "cli/usage.h"
#include "ipc/base/build_info.h"
#include "privd/cli/base/run_daemon.h"
#include "privd/cli/base/table_options.h"
#include "privd/cli/binding/local_binding_service.h"
#include "privd/cli/commands.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

int misused(const std::string& command, const std::string& why) {
  std::cerr << command << ": " << why << "\nRun '" << command << " --help' for what there is.\n";
  return vfiogate::kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "serve") {
    const std::string mistyped = vfiogate::mistypedServeOption({argv + 2, argv + argc});
    if (mistyped.empty()) return vfiogate::runDaemon(argv + 2);
    return misused("privd serve", mistyped);
  }
  CLI::App app("Sees PCI devices and hands them to virtual machines, one IOMMU group at a time.",
               "privd");
  app.require_subcommand(1);
  app.footer(vfiogate::exitStatusText(true));
  app.set_version_flag("--version", std::string(vfiogate::kBuild.text));
  int exitCode = 0;
  vfiogate::addCommands(app, exitCode,
                        {vfiogate::makeLocalBindingService, vfiogate::makeLocalKeepService});
  app.add_subcommand("serve", "the daemon: watches the hardware for plugind");
  vfiogate::putBehind(app, {"watch",
                            "policy",
                            "audit",
                            "forget",
                            "serve",
                            "--sysfs",
                            "--dev",
                            "--pci-ids",
                            "--proc",
                            "--state-dir",
                            "--record-dir",
                            "--audit-log",
                            "--options",
                            "--allow",
                            "--deny",
                            "--allow-storage",
                            "--allow-unguarded-unbind",
                            "--host-mountinfo",
                            "--host-route",
                            "--module-aliases",
                            "--declare",
                            "--declared"});
  const bool hasOptions = access(vfiogate::kNodesOptions, R_OK) == 0;
  const auto given = vfiogate::withNodesOptions({argv + 1, argv + argc},
                                                hasOptions ? vfiogate::kNodesOptions : "");
  if (!vfiogate::arePrintable(argc, argv)) {
    return misused("privd", vfiogate::kUnprintableArgument);
  }
  auto arguments = vfiogate::expandOptionFiles(given, app, command);
  if (!arguments) return misused("privd " + command, arguments.error());
  try {
    std::vector<std::string> words = std::move(arguments).value();
    std::ranges::reverse(words);  // as CLI11 wants them
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::cerr << vfiogate::usageError(app, error);
    return vfiogate::kExitUsage;
  }
  return exitCode;
}
