#pragma once
// JSON of the API server, and its fields one by one. Pure.

#include "ipc/base/result.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace vfiogate {

/// Levels of nesting that are read; what the API server stores has a dozen.
constexpr std::size_t kDeepestJson = 64;

/// Reads an object. Error: for people, why it is none. Whoever walks the value needs no guard
/// against depth.
Result<nlohmann::json, std::string> readJsonObject(std::string_view text);

/// For errors: `text` in quotes, cut after 64 bytes, what is not printable ASCII as "?".
std::string quotedJsonText(std::string_view text);

/// The fields of one object. The first that is wrong is kept, in words with its path; what is read
/// after that means nothing.
class JsonFields {
public:
  /// Borrows both. `wrong` is empty, or from the reader of an object around this one.
  JsonFields(const nlohmann::json& object, std::string path, std::string& wrong);

  /// At most `most` bytes; absent or null: empty.
  std::string text(const char* key, std::size_t most);
  /// Not empty either.
  std::string neededText(const char* key, std::size_t most);
  /// Absent or null: false.
  bool flag(const char* key);
  /// An object or a list; null where it is absent or null, or wrong: a list has at most `most`
  /// elements.
  const nlohmann::json* object(const char* key);
  const nlohmann::json* list(const char* key, std::size_t most);
  /// "path.key"
  std::string pathOf(const std::string& key) const;

private:
  const nlohmann::json* find(const char* key) const;
  void fault(const char* key, const std::string& what);

  const nlohmann::json& object_;
  const std::string path_;
  std::string& wrong_;
};

}  // namespace vfiogate
