#include "privd/options/option_table.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>

namespace vfiogate {
namespace {

constexpr std::size_t kHelpColumn = 30;
constexpr const char* kUnprintable = "an argument has a character that is not printable ASCII";
constexpr const char* kOptionsOfAll = R"(
Options:
  -h,--help                   Print this help message and exit
  --version                   Display program version information and exit
)";
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
using Take = std::function<std::string(const std::string&)>;

/// Returns what is wrong with the line; empty: nothing.
std::string readLine(const std::string& line, const Take& take) {
  if (line.empty() || line.front() == '#') return {};
  if (!isPrintable(line)) return "a character is not printable ASCII";
  const std::size_t end = line.find_first_of(" \t=");
  const std::string name = line.substr(0, end);
  if (name.starts_with("-") || name == "options") {
    return "'" + name + "': write long options without the dashes, and no options in options";
  }
  if (end == std::string::npos) return take("--" + name);
  const std::size_t value = std::min(line.find_first_not_of(" \t=", end), line.size());
  return take("--" + name + "=" + line.substr(value));
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

Result<Done, std::string> parseOptions(const OptionTable& table, const Words& arguments,
                                       std::string_view program) {
  if (!std::ranges::all_of(arguments, isPrintable)) return Failure{std::string(kUnprintable)};
  for (auto next = arguments.begin(); next != arguments.end(); ++next) {
    const std::size_t sign = next->find('=');
    const std::string name = next->substr(0, sign);
    const auto option = std::ranges::find(table, name, &Option::name);
    if (option == table.end()) {
      return Failure{"'" + name + "' is no option of " + std::string(program)};
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

std::string helpOrVersion(const std::vector<std::string>& arguments, const std::string& about,
                          const OptionTable& table, std::string_view version) {
  const auto isGiven = [&arguments](std::string_view name) {
    return std::ranges::find(arguments, name) != arguments.end();
  };
  if (isGiven("--help") || isGiven("-h")) return about + kOptionsOfAll + helpOf(table);
  return isGiven("--version") ? std::string(version) + "\n" : std::string();
}

std::string readOptionFile(const std::string& path, const Take& take) {
  std::ifstream file(path);
  if (!file) return "cannot read options file " + path;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string problem = readLine(trimmed(line), take);
    if (!problem.empty()) return path + ":" + std::to_string(number) + ": " + problem;
  }
  return {};
}

Option fileOption(const OptionTable& table, std::span<const std::string_view> others) {
  const auto takeOne = [&table, others](const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    const bool isOurs = std::ranges::find(table, name, &Option::name) != table.end();
    if (!isOurs && std::ranges::find(others, name) != others.end()) return std::string();
    const auto parsed = parseOptions(table, {word});
    return parsed ? std::string() : parsed.error();
  };
  return {"--options", "file with more options: one a line, without the dashes", "FILE", "",
          [takeOne](const std::string& path) { return readOptionFile(path, takeOne); }};
}

}  // namespace vfiogate
