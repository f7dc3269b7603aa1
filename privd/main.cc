// privd: the root helper of vfiogate, and its command line.

#include "privd/cli/commands.h"
#include "privd/serve.h"
#include "privd/serve_options.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace {

constexpr int kUsage = 2;

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Sees PCI devices and hands them to virtual machines, one IOMMU group at a time.",
               "privd");
  app.require_subcommand(1);
  app.set_version_flag("--version", VFIOGATE_VERSION);
  int exitCode = 0;
  vfiogate::ServeOptions options;
  CLI::App* serve = app.add_subcommand("serve", "the daemon: watches the hardware for plugind");
  vfiogate::addServeOptions(*serve, options);
  vfiogate::addCommands(app, exitCode);
  try {
    std::vector<std::string> arguments =
        vfiogate::expandOptionFiles(std::vector<std::string>(argv + 1, argv + argc));
    std::reverse(arguments.begin(), arguments.end());
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return serve->parsed() ? vfiogate::serve(options) : exitCode;
}
