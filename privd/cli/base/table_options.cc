#include "privd/cli/base/table_options.h"

#include "cli/usage.h"
#include "privd/cli/base/node_view.h"
#include "privd/cli/base/recorded_holders.h"
#include "privd/options/program_options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace vfiogate {
namespace {

void give(const Option& option, const std::string& value) {
  const std::string problem = option.take(value);
  if (!problem.empty()) throw CLI::ValidationError(option.name, problem);
}

void addValues(CLI::App& command, const Option& option) {
  command
      .add_option_function<std::vector<std::string>>(
          option.name,
          [option](const std::vector<std::string>& values) {
            for (const std::string& value : values) give(option, value);
          },
          option.help)
      ->allow_extra_args(false)
      ->take_all()
      ->type_name(option.takes);
}

void addValue(CLI::App& command, const Option& option) {
  command
      .add_option_function<std::string>(
          option.name, [option](const std::string& value) { give(option, value); }, option.help)
      ->type_name(option.takes)
      ->default_str(option.preset);
}

void addFlag(CLI::App& command, const Option& option) {
  command.add_flag_function(
      option.name, [option](std::int64_t count) { give(option, count > 0 ? "true" : "false"); },
      option.help);
}

constexpr std::array<std::string_view, 6> kChanging{"bind",    "unbind", "hold",
                                                    "release", "holds",  "forget"};
constexpr std::array<std::string_view, 5> kReading{"list", "show", "watch", "top", "doctor"};

bool isOneOf(const auto& names, std::string_view word) {
  return std::ranges::find(names, word) != names.end();
}

std::string nameIn(const std::string& word) {
  return word.substr(0, word.find('='));
}

/// What `--options FILE` or `--options=FILE` at `words[i]` names; then `i` is at its last word.
std::optional<std::string> fileAt(const std::vector<std::string>& words, std::size_t& i) {
  if (words[i] == "--options" && i + 1 < words.size()) return words[++i];
  if (words[i].starts_with("--options=")) return words[i].substr(10);
  return std::nullopt;
}

/// Of `privd serve`.
std::vector<std::string> serveNames() {
  ServeOptions unused;
  std::vector<std::string> names{"--help", "-h", "--version", "--options"};
  for (const Option& option : serveOptions(unused)) names.push_back(option.name);
  return names;
}

/// As a file has it: without dashes.
std::string unknownInFile(const std::string& word, const std::string& command,
                          std::vector<std::string> known) {
  for (std::string& name : known) name.erase(0, name.find_first_not_of('-'));
  return unknownOption(word.substr(2), "privd " + command, known);
}

/// Appends `word` of a file to `taken` where it is for the command. Returns what is wrong with it;
/// empty: nothing.
std::string takeFor(const CLI::App& asked, const std::string& command, const std::string& word,
                    std::vector<std::string>& taken) {
  ServeOptions unused;
  const OptionTable table = serveOptions(unused);
  const std::string name = nameIn(word);
  const bool isServes = std::ranges::find(table, name, &Option::name) != table.end();
  if (asked.get_option_no_throw(name) != nullptr) {
    taken.push_back(word);
    const auto parsed = isServes ? parseOptions(table, {word}) : Done{};
    return parsed ? std::string() : parsed.error();
  }
  if (isServes) return {};
  auto known = serveNames();
  for (const CLI::Option* option : asked.get_options()) known.push_back(option->get_name());
  return unknownInFile(word, command, known);
}

/// `--name` or `--name=value`.
bool names(std::string_view word, std::string_view option) {
  return word.starts_with(option) && (word.size() == option.size() || word[option.size()] == '=');
}

}  // namespace

void addOptions(CLI::App& command, const OptionTable& table) {
  for (const Option& option : table) {
    if (option.takes.empty()) {
      addFlag(command, option);
    } else if (option.repeatable) {
      addValues(command, option);
    } else {
      addValue(command, option);
    }
  }
}

std::vector<std::string> withNodesOptions(std::vector<std::string> words, const std::string& file) {
  const bool changes = !words.empty() && isOneOf(kChanging, words[0]);
  const bool reads = !words.empty() && isOneOf(kReading, words[0]);
  const auto namesPlace = [changes](const std::string& word) {
    return names(word, "--options") ||
           (changes ? names(word, "--state-dir") : names(word, "--sysfs") || names(word, "--dev"));
  };
  if (!(changes || reads) || std::ranges::any_of(words, namesPlace)) return words;
  std::vector<std::string> machines;
  if (reads) machines = {"--state-dir", kMachinesState, "--record-dir", kMachinesRecord};
  if (!file.empty()) machines.insert(machines.end(), {"--options", file});
  words.insert(words.begin() + 1, machines.begin(), machines.end());
  return words;
}

Result<std::vector<std::string>, std::string> expandOptionFiles(
    const std::vector<std::string>& words, const CLI::App& app, const std::string& command) {
  const auto found =
      app.get_subcommands([&command](const CLI::App* each) { return each->get_name() == command; });
  std::vector<std::string> expanded;
  const auto take = [&](const std::string& word) {
    return found.empty() ? std::string() : takeFor(*found.front(), command, word, expanded);
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto file = fileAt(words, i);
    if (!file) {
      expanded.push_back(words[i]);
      continue;
    }
    const std::string problem = readOptionFile(*file, take);
    if (!problem.empty()) return Failure{problem};
  }
  return expanded;
}

std::string mistypedServeOption(const std::vector<std::string>& words) {
  const auto known = serveNames();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (const auto file = fileAt(words, i)) {
      const std::string problem = readOptionFile(*file, [&known](const std::string& line) {
        return isOneOf(known, nameIn(line)) ? "" : unknownInFile(line, "serve", known);
      });
      if (!problem.empty()) return problem;
    } else if (word.starts_with("-") && !isOneOf(known, nameIn(word))) {
      return unknownOption(word, "privd serve", known);
    }
  }
  return {};
}

}  // namespace vfiogate
