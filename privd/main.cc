// privd: the root helper of vfiogate, and its command line.

#include "ipc/base/build_info.h"
#include "privd/cli/commands.h"
#include "privd/options/serve_options.h"
#include "privd/serve.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int kUsage = 2;

/// Which options of a file are for `command`: one file serves the daemon and those who work without
/// it. What neither knows stays, to be refused by name.
std::function<bool(const std::string&)> optionsFor(const CLI::App& app, const CLI::App& serve,
                                                   const std::string& command) {
  const auto is = [&command](const CLI::App* each) { return each->get_name() == command; };
  const auto found = app.get_subcommands(is);
  const CLI::App* const asked = found.empty() ? &serve : found.front();
  return [asked, &serve](const std::string& name) {
    return asked->get_option_no_throw(name) != nullptr ||
           serve.get_option_no_throw(name) == nullptr;
  };
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Sees PCI devices and hands them to virtual machines, one IOMMU group at a time.",
               "privd");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(vfiogate::kBuild.text));
  int exitCode = 0;
  vfiogate::ServeOptions options{.build = vfiogate::kBuild};
  CLI::App* serve = app.add_subcommand("serve", "the daemon: watches the hardware for plugind");
  vfiogate::addServeOptions(*serve, options);
  vfiogate::addCommands(app, exitCode, vfiogate::makeLocalBindingService);
  try {
    std::vector<std::string> arguments =
        vfiogate::expandOptionFiles(std::vector<std::string>(argv + 1, argv + argc),
                                    optionsFor(app, *serve, argc > 1 ? argv[1] : ""));
    std::reverse(arguments.begin(), arguments.end());
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return serve->parsed() ? vfiogate::serve(options) : exitCode;
}
