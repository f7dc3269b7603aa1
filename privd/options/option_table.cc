#include "privd/options/option_table.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>

namespace vfiogate {
namespace {

constexpr std::size_t kHelpColumn = 30;
constexpr const char* kBlanks = " \t\r";

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// They are said again in errors, on terminals and in logs.
bool isPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

using Words = std::vector<std::string>;
using Wanted = std::function<bool(const std::string&)>;

/// Appends the option of one line to `words`. Returns what is wrong with it; empty: nothing.
std::string readLine(const std::string& line, const Wanted& wanted, Words& words) {
  if (line.empty() || line.front() == '#') return {};
  if (!isPrintable(line)) return "a character is not printable ASCII";
  const std::size_t end = line.find_first_of(" \t=");
  const std::string name = line.substr(0, end);
  if (name.starts_with("-") || name == "options") {
    return "'" + name + "': write long options without the dashes, and no options in options";
  }
  if (!wanted("--" + name)) return {};
  words.push_back("--" + name);
  if (end == std::string::npos) return {};
  const std::size_t value = std::min(line.find_first_not_of(" \t=", end), line.size());
  words.back() += "=" + line.substr(value);
  return {};
}

/// Returns what is wrong with it; empty: nothing.
std::string readFile(const std::string& path, const Wanted& wanted, Words& words) {
  std::ifstream file(path);
  if (!file) return "--options: cannot read " + path;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string problem = readLine(trimmed(line), wanted, words);
    if (problem.empty()) continue;
    return "--options: " + path + " line " + std::to_string(number) + ": " + problem;
  }
  return {};
}

}  // namespace

Option textOption(std::string name, std::string& into, std::string help, std::string takes) {
  const auto take = [&into](const std::string& text) {
    into = text;
    return std::string();
  };
  return {std::move(name), std::move(help), std::move(takes), into, take};
}

Option flagOption(std::string name, bool& into, std::string help) {
  const auto take = [&into](const std::string& text) {
    into = text == "true";
    return into || text == "false" ? "" : "'" + text + "' is neither true nor false";
  };
  return {std::move(name), std::move(help), "", "", take};
}

Result<Done, std::string> parseOptions(const OptionTable& table, const Words& arguments) {
  for (auto next = arguments.begin(); next != arguments.end(); ++next) {
    const std::size_t sign = next->find('=');
    const std::string name = next->substr(0, sign);
    const auto option = std::ranges::find(table, name, &Option::name);
    if (option == table.end()) {
      return Failure{"The following argument was not expected: " + *next};
    }
    std::string value;
    if (sign != std::string::npos) {
      value = next->substr(sign + 1);
    } else if (option->takes.empty()) {
      value = "true";
    } else if (next + 1 != arguments.end() && !(next + 1)->starts_with("-")) {
      value = *++next;
    }
    if (value.empty()) {
      return Failure{name + ": a value is missing: " +
                     (option->takes.empty() ? "true or false" : option->takes)};
    }
    const std::string problem = option->take(value);
    if (!problem.empty()) return Failure{name + ": " + problem};
  }
  return Done{};
}

std::string helpOf(const OptionTable& table) {
  std::string text;
  for (const Option& option : table) {
    std::string line = "  " + option.name;
    if (!option.takes.empty()) line += " " + option.takes;
    if (!option.preset.empty()) line += "=" + option.preset;
    if (option.repeatable) line += " ...";
    line += line.size() < kHelpColumn ? "" : "\n";
    const std::size_t used = line.back() == '\n' ? 0 : line.size();
    text += line + std::string(kHelpColumn - used, ' ') + option.help + "\n";
  }
  return text;
}

Result<Words, std::string> expandOptionFiles(const Words& arguments, const Wanted& wanted) {
  if (!std::ranges::all_of(arguments, isPrintable)) {
    return Failure{std::string("an argument has a character that is not printable ASCII")};
  }
  Words expanded;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string file;
    if (arguments[i] == "--options" && i + 1 < arguments.size()) {
      file = arguments[++i];
    } else if (arguments[i].starts_with("--options=")) {
      file = arguments[i].substr(10);
    } else {
      expanded.push_back(arguments[i]);
      continue;
    }
    const std::string problem = readFile(file, wanted, expanded);
    if (!problem.empty()) return Failure{problem};
  }
  return expanded;
}

}  // namespace vfiogate
