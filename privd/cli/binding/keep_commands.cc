#include "privd/cli/binding/commands.h"

#include "cli/output_form.h"
#include "cli/table.h"
#include "privd/cli/base/address.h"
#include "privd/cli/binding/desk_options.h"
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
  DeskOptions desk;
};

using Act = Result<Done, std::string> (*)(BindingOffice&, const Bdf&, const KeepWords&);

std::string checkReason(const std::string& text) {
  const bool line =
      std::ranges::none_of(text, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; });
  if (!text.empty() && text.size() <= kLongestReason && line) return {};
  return "give one line of 1 to 200 bytes, which others will read";
}

/// Returns the exit code.
int atTheOffice(const CLI::App& command, const KeepWords& words, const OfficeMaker& makeLocal,
                kj::Function<int(BindingOffice&)> act) {
  int exitCode = 1;
  kj::AsyncIoContext io = kj::setupAsyncIo();
  const auto fail = [&command](const char* what) {
    std::cerr << "privd " << command.get_name() << ": " << what << "\n";
  };
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&]() {
                 auto reached = openOffice(words.desk, makeLocal, io);
                 if (!reached) {
                   fail(reached.error().c_str());
                   return;
                 }
                 kj::Own<BindingOffice> office = kj::mv(reached).value();
                 exitCode = act(*office);
               })) {
    fail(exception->getDescription().cStr());
    return 1;
  }
  return exitCode;
}

int actOnAll(const CLI::App& command, const KeepWords& words, const OfficeMaker& makeLocal,
             Act act) {
  const auto addresses = addressesOf(words.addresses);
  if (!addresses) {
    std::cerr << "privd " << command.get_name() << ": " << addresses.error() << "\n";
    return 1;
  }
  return atTheOffice(command, words, makeLocal, [&](BindingOffice& office) {
    int exitCode = 0;
    for (const Bdf& address : *addresses) {
      const auto done = act(office, address, words);
      if (done) continue;
      std::cerr << "privd " << command.get_name() << ": " << done.error() << "\n";
      exitCode = 1;
    }
    return exitCode;
  });
}

CLI::App* addActCommand(CLI::App& app, int& exitCode, const OfficeMaker& makeLocal,
                        const std::shared_ptr<KeepWords>& words, const char* name, const char* help,
                        Act act) {
  CLI::App* command = app.add_subcommand(name, help);
  addDeskOptions(*command, words->desk);
  command->add_option("ADDRESS", words->addresses, "such as 0000:01:00.0, or 01:00.0")
      ->required()
      ->take_all();
  command->callback([command, words, makeLocal, act, &exitCode]() {
    exitCode = actOnAll(*command, *words, makeLocal, act);
  });
  return command;
}

void addHoldsCommand(CLI::App& app, int& exitCode, const OfficeMaker& makeLocal) {
  CLI::App* command =
      app.add_subcommand("holds", "what is held out of offer, and what is declared");
  auto words = std::make_shared<KeepWords>();
  addDeskOptions(*command, words->desk);
  addOutputForm(*command, words->form, {"table", "json"});
  command->callback([command, words, makeLocal, &exitCode]() {
    exitCode = atTheOffice(*command, *words, makeLocal, [&](BindingOffice& office) {
      const auto holds = office.holds();
      const auto declared = office.declared();
      if (words->form == "json") {
        constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
        std::cout << keptJson(holds, declared).dump(2, ' ', false, kReplace) << "\n";
      } else {
        std::cout << keptText(holds, declared, wantsColours());
      }
      return 0;
    });
  });
}

}  // namespace

void addKeepCommands(CLI::App& app, int& exitCode, const OfficeMaker& makeLocal) {
  auto hold = std::make_shared<KeepWords>();
  addActCommand(app, exitCode, makeLocal, hold, "hold",
                "take devices out of offer, over reboots, until they are released",
                [](BindingOffice& office, const Bdf& address, const KeepWords& words) {
                  return office.hold(address, words.reason, thisPeer());
                })
      ->add_option("--reason", hold->reason, "why, for whoever meets it: one line")
      ->required()
      ->check(checkReason);
  addActCommand(app, exitCode, makeLocal, std::make_shared<KeepWords>(), "release",
                "put devices that are held back into offer",
                [](BindingOffice& office, const Bdf& address, const KeepWords& /*words*/) {
                  return office.release(address, thisPeer());
                });
  addHoldsCommand(app, exitCode, makeLocal);
  addActCommand(app, exitCode, makeLocal, std::make_shared<KeepWords>(), "forget",
                "end what bind --keep declared; what is bound stays bound",
                [](BindingOffice& office, const Bdf& address, const KeepWords& /*words*/) {
                  return office.forget(address, thisPeer());
                });
}

}  // namespace vfiogate
