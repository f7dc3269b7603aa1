#include "cli/common_options.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace vfiogate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kStep = 2;

std::string flat(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool isPlainKey(const std::string& key) {
  const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  constexpr std::array<std::string_view, 8> kOtherThings{"y",  "n",   "yes",  "no",
                                                         "on", "off", "true", "null"};
  return !key.empty() && std::ranges::all_of(key, isLetter) && key != "false" &&
         std::ranges::find(kOtherThings, key) == kOtherThings.end();
}

void writeBlock(const Json& value, std::size_t indent, std::string& text);

/// What stands behind a key or a dash: on its line, or below it.
void writeBelow(const Json& value, std::size_t indent, std::string& text) {
  if (!value.is_structured() || value.empty()) {
    text += " " + flat(value) + "\n";
    return;
  }
  text += "\n";
  writeBlock(value, indent, text);
}

void writeBlock(const Json& value, std::size_t indent, std::string& text) {
  const std::string blanks(indent, ' ');
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      text += blanks + (isPlainKey(key) ? key : flat(Json(key))) + ":";
      writeBelow(item, indent + kStep, text);
    }
    return;
  }
  for (const Json& item : value) {
    if (!item.is_structured() || item.empty()) {
      text += blanks + "- " + flat(item) + "\n";
      continue;
    }
    const std::size_t start = text.size();
    writeBlock(item, indent + kStep, text);
    text[start + indent] = '-';  // in place of a blank before the first key
  }
}

}  // namespace

std::string documentText(const Json& document, const std::string& form) {
  if (form != "yaml") return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (!document.is_structured() || document.empty()) return flat(document) + "\n";
  std::string text;
  writeBlock(document, 0, text);
  return text;
}

std::string yamlOf(const std::string& json) {
  return documentText(Json::parse(json), "yaml");
}

}  // namespace vfiogate
