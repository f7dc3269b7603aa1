#include "cli/usage.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace vfiogate {
namespace {

/// The command that was asked for, as it is typed, and its parser.
struct Asked {
  std::string name;
  const CLI::App* parser;
};

Asked askedOf(const CLI::App& app) {
  Asked asked{app.get_name(), &app};
  while (!asked.parser->get_subcommands().empty()) {
    asked.parser = asked.parser->get_subcommands().front();
    asked.name += " " + asked.parser->get_name();
  }
  return asked;
}

std::vector<std::string> commandsOf(const CLI::App& parser) {
  std::vector<std::string> names;
  for (const CLI::App* each : parser.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(each->get_name());
  }
  return names;
}

std::vector<std::string> optionsOf(const CLI::App& parser) {
  std::vector<std::string> names;
  for (const CLI::Option* each : parser.get_options()) {
    for (const std::string& name : each->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : each->get_snames()) names.push_back("-" + name);
  }
  const bool asksParent = parser.get_parent() != nullptr && parser.get_fallthrough();
  if (!asksParent) return names;
  for (std::string& name : optionsOf(*parser.get_parent())) names.push_back(std::move(name));
  return names;
}

std::string unexpected(const std::string& word, const Asked& asked) {
  if (word.starts_with("-")) return unknownOption(word, asked.name, optionsOf(*asked.parser));
  const auto commands = commandsOf(*asked.parser);
  if (commands.empty()) return "'" + word + "' is one word too many for " + asked.name;
  return "'" + word + "' is no command of " + asked.name + didYouMean(word, commands);
}

std::string missingCommand(const Asked& asked) {
  const auto commands = commandsOf(*asked.parser);
  return "a command is missing: give one of " + CLI::detail::join(commands, ", ");
}

/// "--driver: 1 required TEXT missing", in the words of the rest.
std::string missingValue(const std::string& said) {
  const std::size_t count = said.find(": 1 required ");
  const std::size_t end = said.rfind(" missing");
  if (count == std::string::npos || end == std::string::npos || end < count + 13) return said;
  return said.substr(0, count) +
         ": a value is missing: " + said.substr(count + 13, end - count - 13);
}

std::string whatIsWrong(const CLI::ParseError& error, const Asked& asked) {
  const auto words = asked.parser->remaining();
  const bool wantsCommand =
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) &&
      asked.parser->get_require_subcommand_min() > 0 && asked.parser->get_subcommands().empty();
  const bool isExtra =
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) || wantsCommand;
  if (isExtra && !words.empty()) return unexpected(words.front(), asked);
  return wantsCommand ? missingCommand(asked) : missingValue(error.what());
}

}  // namespace

std::string unknownOption(const std::string& word, const std::string& command,
                          const std::vector<std::string>& known) {
  const std::string name = word.substr(0, word.find('='));
  return "'" + name + "' is no option of " + command + didYouMean(name, known);
}

std::string usageError(const CLI::App& app, const CLI::ParseError& error) {
  const Asked asked = askedOf(app);
  return asked.name + ": " + whatIsWrong(error, asked) + "\nRun '" + asked.name +
         " --help' for what there is.\n";
}

std::string exitStatusText(bool changes) {
  std::string text =
      "Exit status:\n"
      "  0  done, or so already; a check found nothing\n"
      "  1  refused or failed, and nothing is left changed; a check found something\n"
      "  2  the command line is wrong: nothing was tried\n";
  if (changes) {
    text += "  3  something is left changed, or that is not known: see privd list and audit show\n";
  }
  return text;
}

void putBehind(CLI::App& app, const std::set<std::string>& names) {
  for (CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    if (names.contains(option->get_name())) option->group("Advanced options");
  }
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (names.contains(command->get_name())) command->group("Advanced subcommands");
    putBehind(*command, names);
  }
}

}  // namespace vfiogate
