#pragma once
// A directory of the host under the name that people know it by.

#include "privd/cli/doctor/seen.h"
#include "privd/scan/sysfs_root.h"

#include <optional>
#include <string>

namespace vfiogate {

/// Reads below `name`, links that stay there included; a link that leads out is unreadable (EXDEV).
class Tree {
public:
  explicit Tree(std::string name);

  /// At most `bytes` of a file, without the blanks at its end. Longer ones are cut: what is judged
  /// by stands at their beginning.
  SeenText text(const std::string& path, std::size_t bytes = 4096) const;
  /// A file that makes sense only whole. EFBIG: it is longer than `bytes`.
  SeenText whole(const std::string& path, std::size_t bytes) const;
  /// Empty `path`: the root itself.
  SeenNames names(const std::string& path) const;
  SeenPlace place(const std::string& path) const;

private:
  std::string nameOf(const std::string& path) const;

  std::string name_;
  Result<SysfsRoot, ReadError> root_;
};

}  // namespace vfiogate
