#include "privd/sandbox/lasting_directories.h"

#include <sys/stat.h>

#include <cerrno>

namespace vfiogate {

void LastingDirectories::add(const std::string& path, IfReplaced replaced, IfMissing missing) {
  struct stat status = {};
  Directory directory{path, replaced, missing, std::nullopt};
  if (stat(path.c_str(), &status) == 0) directory.identity.emplace(status.st_dev, status.st_ino);
  directories_.push_back(std::move(directory));
}

std::optional<LastingDirectories::Lost> LastingDirectories::lost() const {
  for (const Directory& each : directories_) {
    struct stat now = {};
    if (stat(each.path.c_str(), &now) != 0) {
      const bool gone = errno == ENOENT && each.identity && each.missing == IfMissing::kClosed;
      if (gone) return Lost{each.path, "was removed"};
      continue;
    }
    // Removed, and only a mount of ours has it still.
    if (now.st_nlink == 0) return Lost{each.path, "was removed"};
    const bool other = each.identity && *each.identity != std::pair(now.st_dev, now.st_ino);
    if (other && each.replaced == IfReplaced::kClosed) return Lost{each.path, "was made anew"};
  }
  return std::nullopt;
}

LastingDirectories recordDirectories(const std::string& record) {
  LastingDirectories all;
  all.add(record, LastingDirectories::IfReplaced::kClosed, LastingDirectories::IfMissing::kClosed);
  return all;
}

}  // namespace vfiogate
