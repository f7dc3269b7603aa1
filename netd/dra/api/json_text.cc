#include "netd/dra/api/json_text.h"

#include <algorithm>
#include <utility>

namespace vfiogate {
namespace {

using nlohmann::json;

/// Brackets that are open at once, at most. Of what is no JSON: some number.
std::size_t depthOfJson(std::string_view text) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') quoted = !quoted;
    if (quoted) {
      if (c == '\\') ++at;
      continue;
    }
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  return deepest;
}

}  // namespace

Result<json, std::string> readJsonObject(std::string_view text) {
  if (depthOfJson(text) > kDeepestJson) {
    return Failure{"is nested more than " + std::to_string(kDeepestJson) + " levels deep"};
  }
  json read = json::parse(text, nullptr, false);
  if (read.is_discarded()) return Failure{std::string("is not JSON")};
  if (!read.is_object()) return Failure{std::string("is no JSON object")};
  return read;
}

std::string quotedJsonText(std::string_view text) {
  constexpr std::size_t kMost = 64;
  std::string out = "\"";
  for (const char c : text.substr(0, kMost)) {
    const bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
    out += plain ? c : '?';
  }
  return out + (text.size() > kMost ? "...\"" : "\"");
}

JsonFields::JsonFields(const json& object, std::string path, std::string& wrong)
    : object_(object), path_(std::move(path)), wrong_(wrong) {
  if (!object.is_object() && wrong_.empty()) wrong_ = path_ + ": is no object";
}

std::string JsonFields::text(const char* key, std::size_t most) {
  const json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_string()) {
    fault(key, "is no text");
    return {};
  }
  auto text = value->get<std::string>();
  if (text.size() > most) fault(key, "has more than " + std::to_string(most) + " bytes");
  return text;
}

std::string JsonFields::neededText(const char* key, std::size_t most) {
  std::string read = text(key, most);
  if (read.empty()) fault(key, "is missing");
  return read;
}

bool JsonFields::flag(const char* key) {
  const json* value = find(key);
  if (value == nullptr) return false;
  if (!value->is_boolean()) {
    fault(key, "is neither true nor false");
    return false;
  }
  return value->get<bool>();
}

const json* JsonFields::object(const char* key) {
  const json* value = find(key);
  if (value == nullptr || value->is_object()) return value;
  fault(key, "is no object");
  return nullptr;
}

const json* JsonFields::list(const char* key, std::size_t most) {
  const json* value = find(key);
  if (value == nullptr) return nullptr;
  if (value->is_array() && value->size() <= most) return value;
  fault(key, value->is_array() ? "has more than " + std::to_string(most) + " elements"
                               : std::string("is no list"));
  return nullptr;
}

std::string JsonFields::pathOf(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

const json* JsonFields::find(const char* key) const {
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void JsonFields::fault(const char* key, const std::string& what) {
  if (wrong_.empty()) wrong_ = pathOf(key) + ": " + what;
}

}  // namespace vfiogate
