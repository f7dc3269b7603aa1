#include "privd/cli/binding/commands.h"

#include "cli/common_options.h"
#include "cli/device_name.h"
#include "cli/table.h"
#include "cli/usage.h"
#include "ipc/types/binding_change.h"
#include "privd/bind/plan/guards.h"
#include "privd/cli/base/device_json.h"
#include "privd/cli/base/table_options.h"
#include "privd/cli/binding/bind_declared.h"
#include "privd/cli/binding/run_change.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <csignal>
#include <iostream>

namespace vfiogate {
namespace {

constexpr auto kPatience = 1 * kj::SECONDS;

/// What the parser fills.
struct ChangeWords {
  std::vector<std::string> addresses;
  std::string form = "table";
  bool verbose = false;
  ChangeOrder order;
  ControlOptions control;
  bool declared = false;  ///< those that are declared, in place of addresses
  DeclaredDevices devices;
};

std::string checkDriver(const std::string& text) {
  if (isDriverName(text)) return {};
  return "'" + jsonText(text) + "' is no driver's name: give one such as vfio-pci";
}

int fail(const ChangeOrder& order, const std::string& what, int code = 1) {
  std::cerr << "privd " << nameOf(order.kind) << ": " << what << "\n";
  return code;
}

/// Takes the address of GUARD=ADDRESS in every form, and names the guards.
Option withAnyAddress(Option option) {
  const char* before = ": ";
  for (unsigned i = 0; i < kGuards; ++i) {
    const auto guard = static_cast<Guard>(i);
    if (!mayBeOverridden(guard)) continue;
    option.help += before + std::string(nameOf(guard));
    before = "|";
  }
  option.take = [take = std::move(option.take)](const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) return take(text);
    const auto address = readAddress(text.substr(equals + 1));
    return take(address ? text.substr(0, equals + 1) + address->str() : text);
  };
  return option;
}

/// Whoever presses Ctrl-C or Ctrl-Z, or loses the terminal, ends or stops the command after its
/// change or undo: until then others wait for its locks.
class HeldSignals {
public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGHUP);
    sigaddset(&held, SIGTSTP);
    sigprocmask(SIG_BLOCK, &held, &before_);
  }
  // What came meanwhile ends the command now.
  ~HeldSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

private:
  sigset_t before_ = {};
};

int change(ChangeWords& words, const BindingServiceMaker& makeLocal) {
  const HeldSignals held;
  ChangeOrder order = words.order;
  auto addresses = findDevices(words.addresses, words.control.local.sysfs);
  if (!addresses) return fail(order, addresses.error(), kExitUsage);
  order.addresses = std::move(addresses).value();
  words.control.local.dryRun = order.dryRun;
  kj::AsyncIoContext io = kj::setupAsyncIo();
  int exitCode = 1;
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&]() {
                 ChangeDisplay display{std::cout,
                                       std::cerr,
                                       words.form,
                                       {.colours = wantsColours(), .plan = words.verbose}};
                 if (isatty(STDERR_FILENO) != 0) display.patience = kPatience;
                 if (words.declared) {
                   exitCode =
                       bindDeclared(order, words.devices, words.control, makeLocal, io, display);
                   return;
                 }
                 auto reached = makeLocal(words.control.local, io);
                 if (!reached) {
                   fail(order, reached.error());
                   return;
                 }
                 kj::Own<BindingService> service = kj::mv(reached).value();
                 exitCode = runChange(*service, io, {order}, words.control, display);
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
                   std::string(kDeviceHelp) + "; its whole group is meant")
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
    Option vfs = vfsOption(words->devices.vfs);
    vfs.help = "with --declared: leave physical functions that one is about to their driver";
    addOptions(*command, {declareOption(words->devices.selectors), std::move(vfs)});
  }
  command->add_flag("--dry-run", words->order.dryRun,
                    "show every write, and write nothing; needs no root");
  command->add_flag("-v,--verbose", words->verbose, "show every write");
  addOptions(*command, {withAnyAddress(overrideOption(words->order.overrides))});
  addOutputForm(*command, words->form, {"table", "json", "yaml"});
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
