#pragma once
// What is below a directory, to see whether it was changed.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace vfiogate::test {

/// Every file and link below by its path, with what it says, but for those whose paths contain
/// `without`.
inline std::map<std::string, std::string> fileTree(const std::filesystem::path& root,
                                                   const std::string& without) {
  std::map<std::string, std::string> tree;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().string().find(without) != std::string::npos) continue;
    std::string& says = tree[entry.path()];
    if (entry.is_symlink()) {
      says = std::filesystem::read_symlink(entry.path());
    } else if (entry.is_regular_file()) {
      std::ifstream file(entry.path());
      says.assign(std::istreambuf_iterator<char>(file), {});
    }
  }
  return tree;
}

}  // namespace vfiogate::test
