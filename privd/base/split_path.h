#pragma once
// Splits a path into directory and name.

#include <string>

namespace vfiogate {

/// A path's directory and last part.
struct SplitPath {
  std::string directory;
  std::string name;
};

inline SplitPath splitPath(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace vfiogate
