#pragma once
// Which disks hang below a PCI function, and what they are used for.
// What the host's kernel says of mounts, swap and routes, in the words of /proc.

#include "ipc/types/bdf.h"

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

/// A whole disk, a partition, or what is made of them, as `class/block` of sysfs shows it.
struct BlockDevice {
  std::string name;    ///< "nvme0n1p1"
  std::string path;    ///< where its link points: ".../0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p1"
  std::string number;  ///< "259:1"
  std::vector<std::string> slaves;  ///< what it is made of: of dm and md
  std::string backing;              ///< of a loop device: "/dev/sda1", or a file
  std::string fileSystem;           ///< one that is mounted, by /sys/fs: "ext4"
};

struct DiskUse {
  std::string disk;               ///< whole, and with a node: "nvme0n1"
  std::vector<std::string> uses;  ///< for people: "nvme0n1p1 is mounted at /srv"; empty: none seen
  bool root = false;              ///< the root file system is on it
};

/// The disks whose path leads through the function, ascending by name.
std::vector<DiskUse> disksBelow(const Bdf& function, const std::vector<BlockDevice>& all,
                                const HostTables& tables);

}  // namespace vfiogate
