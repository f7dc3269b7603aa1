#include "privd/cli/doctor/modprobe_config.h"

#include <algorithm>
#include <sstream>

namespace vfiogate {
namespace {

void addLine(const std::string& text, int number, std::vector<ModprobeLine>& lines) {
  std::istringstream words(text);
  ModprobeLine line{.number = number};
  std::string module;
  if (!(words >> line.command >> module) || line.command.starts_with('#')) return;
  line.module = moduleKey(module);
  for (std::string word; words >> word;) line.words.push_back(word);
  lines.push_back(std::move(line));
}

}  // namespace

std::string moduleKey(std::string_view name) {
  std::string key(name);
  std::ranges::replace(key, '-', '_');
  return key;
}

std::vector<ModprobeLine> parseModprobe(std::string_view text) {
  std::vector<ModprobeLine> lines;
  std::istringstream input{std::string(text)};
  std::string joined;
  int number = 0;
  int first = 1;
  for (std::string part; std::getline(input, part);) {
    ++number;
    if (joined.empty()) first = number;
    const bool goesOn = part.ends_with('\\');
    if (goesOn) part.back() = ' ';
    joined += part;
    if (goesOn) continue;
    addLine(joined, first, lines);
    joined.clear();
  }
  addLine(joined, first, lines);
  return lines;
}

std::vector<std::string> valuesOf(const ModprobeLine& line, std::string_view parameter) {
  std::vector<std::string> values;
  for (std::string word : line.words) {
    std::erase(word, '"');
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || moduleKey(word.substr(0, equals)) != parameter) continue;
    std::istringstream parts(word.substr(equals + 1));
    for (std::string part; std::getline(parts, part, ',');) {
      if (!part.empty()) values.push_back(part);
    }
  }
  return values;
}

}  // namespace vfiogate
