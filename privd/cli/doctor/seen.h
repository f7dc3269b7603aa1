#pragma once
// What reading one thing gave: the thing, or why not. Both are evidence.

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace vfiogate {

/// `path` is told to people as they would type it. `error`: the errno where `value` is absent.
template <typename T>
struct Seen {
  std::string path;
  std::optional<T> value;
  int error = ENOENT;

  explicit operator bool() const { return value.has_value(); }
  const T& operator*() const { return *value; }
  const T* operator->() const { return &*value; }
  /// Looked for, and not there: unlike what could not be read.
  bool absent() const { return !value && (error == ENOENT || error == ENOTDIR); }
};
using SeenText = Seen<std::string>;
using SeenNames = Seen<std::vector<std::string>>;

/// Who owns a directory and who may write there.
struct Ownership {
  std::uint32_t uid = 0;
  std::uint32_t mode = 0;  ///< the permission bits
  bool directory = false;
};
using SeenPlace = Seen<Ownership>;

/// "/proc/cmdline: Permission denied".
inline std::string whyNot(const std::string& path, int error) {
  return path + ": " + std::generic_category().message(error);
}
template <typename T>
std::string whyNot(const Seen<T>& seen) {
  return whyNot(seen.path, seen.error);
}

}  // namespace vfiogate
