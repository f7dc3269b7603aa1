#include "privd/cli/doctor/kernel_parameters.h"

#include <algorithm>

namespace vfiogate {
namespace {

std::string nameKey(std::string_view name) {
  std::string key(name);
  std::ranges::replace(key, '-', '_');
  return key;
}

std::vector<std::string> wordsOf(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == ' ' || c == '\t' || c == '\n')) {
      if (!word.empty()) words.push_back(std::exchange(word, {}));
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

/// As the kernel: quotes go at the ends of a word and of a value, and are characters within.
std::string_view unquoted(std::string_view text) {
  if (!text.starts_with('"')) return text;
  text.remove_prefix(1);
  if (text.ends_with('"')) text.remove_suffix(1);
  return text;
}

}  // namespace

KernelParameters KernelParameters::parse(std::string_view text) {
  KernelParameters parameters;
  for (const std::string& each : wordsOf(text)) {
    const std::string_view word = unquoted(each);
    if (word == "--") break;
    const std::size_t equals = word.find('=');
    const auto value = equals == std::string_view::npos ? "" : unquoted(word.substr(equals + 1));
    parameters.given_.emplace_back(nameKey(word.substr(0, equals)), std::string(value));
  }
  return parameters;
}

bool KernelParameters::has(std::string_view name) const {
  const std::string key = nameKey(name);
  return std::ranges::any_of(given_, [&](const auto& pair) { return pair.first == key; });
}

std::vector<std::string> KernelParameters::values(std::string_view name) const {
  const std::string key = nameKey(name);
  std::vector<std::string> found;
  for (const auto& [given, value] : given_) {
    if (given != key) continue;
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find(',', begin), value.size());
      if (end > begin) found.push_back(value.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return found;
}

bool KernelParameters::lists(std::string_view name, std::string_view item) const {
  return std::ranges::any_of(values(name), [&](const std::string& value) {
    return value.substr(0, value.find('=')) == item;
  });
}

}  // namespace vfiogate
