// The operator's command: looks at devices and binds them; `privd serve` becomes the daemon.

#include "cli/common_options.h"
#include "cli/usage.h"
#include "ipc/base/build_info.h"
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

/// "help bind" is "bind --help", and "help" alone "--help".
std::vector<std::string> wordsOf(int argc, char** argv) {
  std::vector<std::string> words{argv + std::min(argc, 1), argv + argc};
  if (words.empty() || words[0] != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

int serve(std::vector<std::string> words) {
  const std::string mistyped = vfiogate::mistypedServeOption(words);
  if (!mistyped.empty()) return misused("privd serve", mistyped);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return vfiogate::runDaemon(arguments.data());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> typed = wordsOf(argc, argv);
  const std::string command = typed.empty() ? "" : typed[0];
  if (command == "serve") return serve({typed.begin() + 1, typed.end()});
  CLI::App app("Sees PCI devices and hands them to virtual machines, one IOMMU group at a time.",
               "privd");
  app.require_subcommand(1);
  app.footer(vfiogate::exitStatusText(true));
  app.set_version_flag("--version", std::string(vfiogate::kBuild.text));
  int exitCode = 0;
  vfiogate::addCommands(app, exitCode,
                        {vfiogate::makeLocalBindingService, vfiogate::makeLocalKeepService});
  app.add_subcommand("serve", "the daemon: watches the hardware for plugind");
  // Help for a command that there is not would be that of all of them.
  const bool isHelp = argc > 2 && std::string_view(argv[1]) == "help";
  const auto isNamed = [&command](const CLI::App* each) { return each->get_name() == command; };
  if (isHelp && app.get_subcommands(isNamed).empty()) typed.pop_back();
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
  const auto given = vfiogate::withNodesOptions(typed, hasOptions ? vfiogate::kNodesOptions : "");
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
