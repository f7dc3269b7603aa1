#include "privd/cli/binding/commands.h"

#include "cli/common_options.h"
#include "cli/device_name.h"
#include "cli/table.h"
#include "cli/usage.h"
#include "privd/cli/binding/control_options.h"
#include "privd/cli/binding/kept_text.h"

#include <CLI/CLI.hpp>

#include <iostream>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestReason = 200;

/// What the parser fills.
struct KeepWords {
  std::vector<std::string> addresses;
  std::string reason;
  std::string form = "table";
  ControlOptions control;
};

/// Of one device, named as `Device`: drivers are changed of functions alone, and exclusions are of
/// mediated devices as well.
template <typename Device>
using Act = Result<Done, std::string> (*)(KeepService&, const Device&, const KeepWords&);

Result<std::vector<Bdf>, std::string> namedFor(Act<Bdf> /*act*/, const KeepWords& words) {
  return findDevices(words.addresses, words.control.local.sysfs);
}
Result<std::vector<UnitId>, std::string> namedFor(Act<UnitId> /*act*/, const KeepWords& words) {
  return findUnits(words.addresses, words.control.local.sysfs);
}

const char* helpFor(Act<Bdf> /*act*/) {
  return kDeviceHelp;
}
const char* helpFor(Act<UnitId> /*act*/) {
  return kUnitHelp;
}

std::string checkReason(const std::string& text) {
  const bool line = std::ranges::none_of(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  if (!text.empty() && text.size() <= kLongestReason && line) return {};
  return "give one line of 1 to 200 bytes, which others will read";
}

/// Returns the exit code.
int withKeepService(const CLI::App& command, const KeepWords& words,
                    const KeepServiceMaker& makeLocal, kj::Function<int(KeepService&)> act) {
  int exitCode = 1;
  const auto fail = [&command](const char* what) {
    std::cerr << "privd " << command.get_name() << ": " << what << "\n";
  };
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&]() {
                 auto reached = makeLocal(words.control.local);
                 if (!reached) {
                   fail(reached.error().c_str());
                   return;
                 }
                 kj::Own<KeepService> service = kj::mv(reached).value();
                 exitCode = act(*service);
               })) {
    fail(exception->getDescription().cStr());
    return 1;
  }
  return exitCode;
}

template <typename Device>
int actOnAll(const CLI::App& command, const KeepWords& words, const KeepServiceMaker& makeLocal,
             Act<Device> act) {
  const auto devices = namedFor(act, words);
  if (!devices) {
    std::cerr << "privd " << command.get_name() << ": " << devices.error() << "\n";
    return kExitUsage;
  }
  return withKeepService(command, words, makeLocal, [&](KeepService& service) {
    int exitCode = 0;
    for (const Device& device : *devices) {
      const auto done = act(service, device, words);
      if (done) continue;
      std::cerr << "privd " << command.get_name() << ": " << done.error() << "\n";
      exitCode = 1;
    }
    return exitCode;
  });
}

template <typename Device>
CLI::App* addActCommand(CLI::App& app, int& exitCode, const KeepServiceMaker& makeLocal,
                        const std::shared_ptr<KeepWords>& words, const char* name, const char* help,
                        Act<Device> act) {
  CLI::App* command = app.add_subcommand(name, help);
  addControlOptions(*command, words->control);
  command->add_option("ADDRESS", words->addresses, helpFor(act))->required()->take_all();
  command->callback([command, words, makeLocal, act, &exitCode]() {
    exitCode = actOnAll(*command, *words, makeLocal, act);
  });
  return command;
}

Result<Done, std::string> hold(KeepService& service, const UnitId& device, const KeepWords& words) {
  auto held = service.exclude(device, words.reason, thisPeer());
  const std::string remark = held ? holdRemark(device, words.control.local.sysfs) : std::string();
  if (!remark.empty()) std::cerr << "privd hold: " << remark << "\n";
  return held;
}

void addHoldsCommand(CLI::App& app, int& exitCode, const KeepServiceMaker& makeLocal) {
  CLI::App* command = app.add_subcommand("holds", "what is excluded, and what is declared");
  auto words = std::make_shared<KeepWords>();
  addControlOptions(*command, words->control);
  addOutputForm(*command, words->form, {"table", "json", "yaml"});
  command->callback([command, words, makeLocal, &exitCode]() {
    exitCode = withKeepService(*command, *words, makeLocal, [&](KeepService& service) {
      const auto exclusions = service.exclusions();
      const auto declared = service.declared();
      if (!exclusions || !declared) {
        std::cerr << "privd holds: " << (exclusions ? declared.error() : exclusions.error())
                  << "\n";
        return 1;
      }
      if (isDocument(words->form)) {
        std::cout << documentText(keptJson(*exclusions, *declared), words->form);
      } else {
        std::cout << keptText(*exclusions, *declared, secondsSince1970(), wantsColours());
      }
      return 0;
    });
  });
}

}  // namespace

void addKeepCommands(CLI::App& app, int& exitCode, const KeepServiceMaker& makeLocal) {
  auto words = std::make_shared<KeepWords>();
  addActCommand(app, exitCode, makeLocal, words, "hold",
                "exclude devices from allocation (survives reboots) until they are released",
                Act<UnitId>(hold))
      ->add_option("--reason", words->reason, "why, in one line; shown where the device is refused")
      ->required()
      ->check(checkReason);
  addActCommand(
      app, exitCode, makeLocal, std::make_shared<KeepWords>(), "release",
      "end the exclusion of devices",
      Act<UnitId>([](KeepService& service, const UnitId& device, const KeepWords& /*words*/) {
        return service.release(device, thisPeer());
      }));
  addHoldsCommand(app, exitCode, makeLocal);
  addActCommand(app, exitCode, makeLocal, std::make_shared<KeepWords>(), "forget",
                "end what bind --keep declared; what is bound stays bound",
                Act<Bdf>([](KeepService& service, const Bdf& address, const KeepWords& /*words*/) {
                  return service.forget(address, thisPeer());
                }));
}

}  // namespace vfiogate
