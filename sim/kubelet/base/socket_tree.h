#pragma once
// The sockets below a directory, as the kubelet's plugin watcher knows them.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace vfiogate::sim {

/// Watches a directory and all below it. What the kubelet does not notice is not noticed here
/// either: names that begin with a dot, and a socket that is renamed away. For one thread.
class SocketTree {
public:
  /// Makes the directory, 0750, where it is missing. Throws std::system_error.
  explicit SocketTree(const std::string& directory);
  ~SocketTree();
  SocketTree(const SocketTree&) = delete;
  SocketTree& operator=(const SocketTree&) = delete;

  /// Readable when the tree has changed.
  int fd() const { return inotify_; }
  /// Takes in what has changed.
  void update();
  /// Path to a number that each creation draws anew.
  const std::map<std::string, std::uint64_t>& sockets() const { return sockets_; }

private:
  void walk(const std::filesystem::path& directory);
  void appeared(const std::filesystem::path& path);

  int inotify_;
  std::map<int, std::filesystem::path> directories_;  ///< by watch
  std::map<std::string, std::uint64_t> sockets_;
  std::uint64_t drawn_ = 0;
};

}  // namespace vfiogate::sim
