#pragma once
// Directories that a process of privd's can use only as long as they are the ones that it found.

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate {

/// Whose path leads to another directory some day cannot be used by this process any more: rules of
/// Landlock are for inodes, and a container's mount stays with the directory that was removed.
/// The kernel does not tell: it is polled.
class LastingDirectories {
public:
  enum class IfReplaced {
    kReachable,  ///< sockets in it are dialled, which needs no rule
    kClosed,     ///< there is a rule for the one that was there
  };
  enum class IfMissing {
    kAwaited,  ///< somebody else makes it again
    kClosed,   ///< only privd makes it, when it starts
  };

  /// As it is now; what is not there yet is judged only once it is mounted and removed.
  void add(const std::string& path, IfReplaced replaced, IfMissing missing);

  /// The path that is of no use any more, and why: "was made anew", "was removed"; null: none.
  struct Lost {
    std::string path;
    const char* why;
  };
  std::optional<Lost> lost() const;

private:
  struct Directory {
    std::string path;
    IfReplaced replaced;
    IfMissing missing;
    std::optional<std::pair<dev_t, ino_t>> identity;  ///< null: was not there
  };
  std::vector<Directory> directories_;
};

/// Of the binder: the record of allocations, at this path.
LastingDirectories recordDirectories(const std::string& record);

}  // namespace vfiogate
