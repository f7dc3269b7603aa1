#pragma once
// Files of the source tree, for tests that compare with them.

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace vfiogate::test {

/// The whole of a file; `path` from the project's root.
inline std::string sourceText(const std::string& path) {
  const char* const root = std::getenv("VFIOGATE_SOURCE");
  if (root == nullptr) throw std::runtime_error("VFIOGATE_SOURCE is not set: run by ctest");
  std::ifstream file(root + ("/" + path), std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace vfiogate::test
