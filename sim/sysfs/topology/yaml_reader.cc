#include "sim/sysfs/topology/yaml_reader.h"

#include <algorithm>
#include <set>

#include "ipc/base/hex.h"

namespace vfiogate::sim {
namespace {

std::string inQuotes(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string shown = "\"";
  shown += text.substr(0, kMost);
  return shown + (text.size() > kMost ? "...\"" : "\"");
}

std::string list(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) {
    text += text.empty() ? "" : ", ";
    text += word;
  }
  return text;
}

}  // namespace

int lineOf(const YAML::Node& node) {
  return node.Mark().line + 1;
}

void YamlReader::refuse(int line, const std::string& why) {
  if (!error_) error_ = TopologyError{line, why};
}

void YamlReader::refuse(const YAML::Node& node, const std::string& why) {
  refuse(lineOf(node), why);
}

bool YamlReader::isMapping(const YAML::Node& node, const std::vector<std::string_view>& keys,
                           std::string_view what) {
  if (!node.IsMap()) {
    refuse(node, std::string(what) + " must be a mapping of: " + list(keys));
    return false;
  }
  std::set<std::string> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) {
      refuse(entry.first, "a key of " + std::string(what) + " must be a word");
      continue;
    }
    const std::string& key = entry.first.Scalar();
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      refuse(entry.first,
             inQuotes(key) + " is no key of " + std::string(what) + "; there are: " + list(keys));
    }
    if (!seen.insert(key).second) refuse(entry.first, inQuotes(key) + " stands there twice");
  }
  return true;
}

void YamlReader::forEach(const YAML::Node& list, std::string_view what,
                         const std::function<void(const YAML::Node&)>& each) {
  if (!list) return;
  if (!list.IsSequence()) {
    refuse(list, std::string(what) + " must be a list");
    return;
  }
  for (const YAML::Node& element : list) each(element);
}

std::string YamlReader::text(const YAML::Node& node, std::string_view key) {
  if (node.IsScalar() && !node.Scalar().empty()) return node.Scalar();
  refuse(node, std::string(key) + " must be a text that is not empty");
  return {};
}

bool YamlReader::flag(const YAML::Node& node, std::string_view key) {
  return oneOf(node, key, {"false", "true"}) == 1;
}

std::uint32_t YamlReader::number(const YAML::Node& node, std::string_view key, std::uint32_t most) {
  const std::string word = text(node, key);
  const auto value = parseDecimal(word);
  if (value && *value <= most) return *value;
  refuse(node, std::string(key) + ": " + inQuotes(word) + " is no number from 0 to " +
                   std::to_string(most));
  return 0;
}

std::uint32_t YamlReader::hex(const YAML::Node& node, std::string_view key, int digits) {
  const std::string word = text(node, key);
  const std::string_view bare = word.starts_with("0x") ? std::string_view(word).substr(2) : word;
  const auto value = parseHexDigits(bare, static_cast<std::size_t>(digits));
  if (value) return *value;
  refuse(node, std::string(key) + ": " + inQuotes(word) + " is not " + std::to_string(digits) +
                   " hexadecimal digits");
  return 0;
}

std::pair<std::uint16_t, std::uint16_t> YamlReader::idPair(const YAML::Node& node,
                                                           std::string_view key) {
  const std::string word = text(node, key);
  const std::size_t colon = word.find(':');
  const auto vendor = parseHexDigits(std::string_view(word).substr(0, colon), 4);
  const auto device = colon == std::string::npos
                          ? std::nullopt
                          : parseHexDigits(std::string_view(word).substr(colon + 1), 4);
  if (vendor && device) {
    return {static_cast<std::uint16_t>(*vendor), static_cast<std::uint16_t>(*device)};
  }
  refuse(node, std::string(key) + ": " + inQuotes(word) +
                   " is no pair of ids: write vendor:device, four digits each, as 10de:2684");
  return {};
}

std::optional<Bdf> YamlReader::address(const YAML::Node& node, std::string_view key) {
  const std::string word = text(node, key);
  const auto parsed = Bdf::parse(word);
  if (parsed) return *parsed;
  refuse(node, std::string(key) + ": " + inQuotes(word) +
                   " is no PCI address: write segment:bus:device.function, as 0000:3b:00.0");
  return std::nullopt;
}

std::size_t YamlReader::oneOf(const YAML::Node& node, std::string_view key,
                              const std::vector<std::string_view>& words) {
  const std::string word = text(node, key);
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  refuse(node, std::string(key) + ": " + inQuotes(word) + " is none of: " + list(words));
  return 0;
}

std::vector<std::string> YamlReader::texts(const YAML::Node& list, std::string_view key) {
  std::vector<std::string> words;
  forEach(list, key, [&](const YAML::Node& element) { words.push_back(text(element, key)); });
  return words;
}

}  // namespace vfiogate::sim
