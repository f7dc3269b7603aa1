// The operator's command: looks at devices and binds them; `privd serve` becomes the daemon.

#include "ipc/base/build_info.h"
#include "privd/cli/base/run_daemon.h"
#include "privd/cli/commands.h"
#include "privd/options/serve_options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace {

constexpr int kUsage = 2;

/// Which options of a file are for `command`: one file serves the daemon and those who work without
/// it. What neither knows stays, to be refused by name.
std::function<bool(const std::string&)> optionsFor(const CLI::App& app,
                                                   const std::string& command) {
  const auto found =
      app.get_subcommands([&command](const CLI::App* each) { return each->get_name() == command; });
  const CLI::App* const asked = found.empty() ? &app : found.front();
  return [asked](const std::string& name) {
    vfiogate::ServeOptions unused;
    const auto table = vfiogate::serveOptions(unused);
    return asked->get_option_no_throw(name) != nullptr ||
           std::ranges::find(table, name, &vfiogate::Option::name) == table.end();
  };
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "serve") return vfiogate::runDaemon(argv + 2);
  CLI::App app("Sees PCI devices and hands them to virtual machines, one IOMMU group at a time.",
               "privd");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(vfiogate::kBuild.text));
  app.add_subcommand("serve", "the daemon: watches the hardware for plugind");
  int exitCode = 0;
  vfiogate::addCommands(app, exitCode, vfiogate::makeLocalBindingService);
  auto arguments = vfiogate::expandOptionFiles(std::vector<std::string>(argv + 1, argv + argc),
                                               optionsFor(app, command));
  if (!arguments) {
    std::cerr << arguments.error() << "\nRun with --help for more information.\n";
    return kUsage;
  }
  try {
    std::vector<std::string> words = std::move(arguments).value();
    std::ranges::reverse(words);  // as CLI11 wants them
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return exitCode;
}
