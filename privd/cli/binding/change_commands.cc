#include "privd/cli/binding/commands.h"

#include "cli/common_options.h"
#include "cli/table.h"
#include "ipc/types/binding_change.h"
#include "privd/cli/base/address.h"
#include "privd/cli/base/device_json.h"
#include "privd/cli/base/table_options.h"
#include "privd/cli/binding/bind_declared.h"
#include "privd/cli/binding/run_change.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <iostream>

namespace vfiogate {
namespace {

constexpr auto kPatience = 1 * kj::SECONDS;

/// What the parser fills.
struct ChangeWords {
  std::vector<std::string> addresses;
  std::string form = "table";
  ChangeOrder order;
  ControlOptions control;
  bool declared = false;            ///< those that are declared, in place of addresses
  std::vector<Selector> selectors;  ///< --declare
};

std::string checkDriver(const std::string& text) {
  if (isDriverName(text)) return {};
  return "'" + jsonText(text) + "' is no driver's name: give one such as vfio-pci";
}

int fail(const ChangeOrder& order, const std::string& what) {
  std::cerr << "privd " << nameOf(order.kind) << ": " << what << "\n";
  return 1;
}

int change(ChangeWords& words, const BindingServiceMaker& makeLocal) {
  ChangeOrder order = words.order;
  auto addresses = addressesOf(words.addresses);
  if (!addresses) return fail(order, addresses.error());
  order.addresses = std::move(addresses).value();
  kj::AsyncIoContext io = kj::setupAsyncIo();
  int exitCode = 1;
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&]() {
                 ChangeDisplay display{std::cout, std::cerr, words.form == "json", wantsColours()};
                 if (isatty(STDERR_FILENO) != 0) display.patience = kPatience;
                 if (words.declared) {
                   exitCode =
                       bindDeclared(order, words.selectors, words.control, makeLocal, io, display);
                   return;
                 }
                 auto reached = openBindingService(words.control, makeLocal, io);
                 if (!reached) {
                   fail(order, reached.error());
                   return;
                 }
                 kj::Own<BindingService> service = kj::mv(reached).value();
                 exitCode = runChange(*service, io, order, words.control, display);
               })) {
    return fail(order, exception->getDescription().cStr());
  }
  return exitCode;
}

void addChangeCommand(CLI::App& app, int& exitCode, const BindingServiceMaker& makeLocal,
                      ChangeKind kind, const char* help) {
  CLI::App* command = app.add_subcommand(nameOf(kind), help);
  auto words = std::make_shared<ChangeWords>();
  words->order.kind = kind;
  addControlOptions(*command, words->control);
  addChangeOptions(*command, words->control);
  command
      ->add_option("ADDRESS", words->addresses,
                   "such as 0000:01:00.0, or 01:00.0; its whole IOMMU group is meant")
      ->take_all();
  if (kind == ChangeKind::kBind) {
    command
        ->add_option("--driver", words->order.driver,
                     "bind to this one; otherwise the one that the kernel's modules name for it, "
                     "or vfio-pci")
        ->check(checkDriver);
    command->add_flag("--keep", words->order.keep,
                      "declare it, too: it is bound again after a reboot, until privd forget");
    command->add_flag("--declared", words->declared,
                      "without addresses: bind what --declare and --keep say, where no daemon runs "
                      "to do so");
    addOptions(*command, {declareOption(words->selectors)});
  }
  command->add_flag("--dry-run", words->order.dryRun, "show every write, and write nothing");
  addOptions(*command, {overrideOption(words->order.overrides)});
  addOutputForm(*command, words->form, {"table", "json"});
  command->callback([words, makeLocal, &exitCode]() {
    if (words->addresses.empty() && !words->declared) throw CLI::RequiredError("ADDRESS");
    if (!words->addresses.empty() && words->declared) {
      throw CLI::ValidationError("--declared", "takes no ADDRESS");
    }
    exitCode = change(*words, makeLocal);
  });
}

}  // namespace

void addChangeCommands(CLI::App& app, int& exitCode, const BindingServiceMaker& makeLocal) {
  addChangeCommand(app, exitCode, makeLocal, ChangeKind::kBind,
                   "bind devices, with their IOMMU groups, to VFIO");
  addChangeCommand(app, exitCode, makeLocal, ChangeKind::kUnbind,
                   "give devices, with their IOMMU groups, back to the drivers they had");
}

}  // namespace vfiogate
