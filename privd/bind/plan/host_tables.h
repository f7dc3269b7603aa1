#pragma once
// What the host's kernel says of mounts, swap and routes, in the words of /proc.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

struct Mount {
  std::string device;  ///< "259:1"
  std::string place;   ///< the mount point as the host sees it
  std::string source;  ///< "/dev/nvme0n1p1"; anything where the file system has no block device
};

/// Each is absent where it could not be read: that is not the same as empty.
struct HostTables {
  std::optional<std::vector<Mount>> mounts;           ///< from the host's mountinfo
  std::optional<std::vector<std::string>> swaps;      ///< paths, from /proc/swaps
  std::optional<std::vector<std::string>> routedVia;  ///< interfaces, from the host's route
};

/// Lines that make no sense are skipped; a text without any that does gives nothing at all.
std::optional<std::vector<Mount>> parseMountinfo(std::string_view text);
/// A table with only its heading is an empty one.
std::optional<std::vector<std::string>> parseSwaps(std::string_view text);
std::optional<std::vector<std::string>> parseRoutes(std::string_view text);

}  // namespace vfiogate
