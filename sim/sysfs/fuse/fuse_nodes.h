#pragma once
// The numbers under which the kernel's FUSE client knows files.

#include <cstdint>
#include <string>
#include <unordered_map>

namespace vfiogate::sim {

/// One file as the FUSE client knows it: a path, and which incarnation of what it names.
struct KnownNode {
  std::string path;
  std::uint64_t identity = 0;
  std::uint64_t lookups = 0;  ///< the client forgets as often as it looked up
  bool shared = false;        ///< found again by path
};

class FuseNodes {
public:
  static constexpr std::uint64_t kRoot = 1;

  FuseNodes();

  /// Null if the number is not known (any more).
  const KnownNode* find(std::uint64_t number) const;

  /// The number for a file that was looked up. A file that is not `shared` gets a new one each
  /// time: the client locks a file's inode while it is written, and a write that hangs must not
  /// stop another one to the same file, as in sysfs.
  std::uint64_t lookup(const std::string& path, std::uint64_t identity, bool shared);

  void forget(std::uint64_t number, std::uint64_t lookups);

private:
  std::unordered_map<std::uint64_t, KnownNode> nodes_;
  std::unordered_map<std::string, std::uint64_t> byPath_;
  std::uint64_t last_ = kRoot;
};

}  // namespace vfiogate::sim
