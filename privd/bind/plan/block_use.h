#pragma once
// Which disks hang below a PCI function, and what they are used for.

#include "ipc/types/bdf.h"
#include "privd/bind/plan/host_tables.h"

#include <string>
#include <vector>

namespace vfiogate {

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
  std::string disk;               ///< whole: "nvme0n1"
  std::vector<std::string> uses;  ///< for people: "nvme0n1p1 is mounted at /srv"; empty: none seen
  bool root = false;              ///< the root file system is on it
};

/// The disks whose path leads through the function, ascending by name.
std::vector<DiskUse> disksBelow(const Bdf& function, const std::vector<BlockDevice>& all,
                                const HostTables& tables);

}  // namespace vfiogate
