#pragma once
// Which processes have a device open, for people: the kernel's own answer is only "busy".

#include "ipc/types/snapshot.h"
#include "privd/scan/sysfs_root.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

/// The device nodes by which a device is reached, as paths below /dev; "nvme0n*" stands for all
/// that begin so. The VFIO group's node reaches the other devices of the group, too.
/// Source: the names of the device's children in sysfs; for NVIDIA's driver, `procRoot`.
std::vector<std::string> nodesOf(const SysfsRoot& sysfs, const std::string& procRoot,
                                 const PciDevice& device);
/// The same of a mediated device, which has those of VFIO alone.
std::vector<std::string> nodesOf(const MediatedDevice& device);

/// A process that has one of the nodes open.
struct Holder {
  std::int32_t pid = 0;
  std::string command;       ///< the kernel's 15 letters of it
  std::optional<uid_t> uid;  ///< real
  std::string podUid;        ///< of the pod in whose cgroup it is; empty: none
  std::string node;          ///< the first that was met: "/dev/vfio/31"
  friend bool operator==(const Holder&, const Holder&) = default;
};

struct Holders {
  std::vector<Holder> found;  ///< ascending by pid, at most 64
  std::size_t hidden = 0;     ///< processes into which the caller may not look
};

/// Looks at the open files of every process below `procRoot`. Takes a moment on a busy host. Sees
/// processes of its own PID namespace only.
Holders holdersOf(const std::string& procRoot, const std::vector<std::string>& nodes);

/// "pid 4711 qemu-system-x86, uid 107, pod 6f0c2d3e-..., has /dev/vfio/31 open".
std::string wordsFor(const Holder& holder);
/// The same, each behind a "; ", of the processes that have `file` locked (flock) now; empty: none
/// that can be seen. Source: `procRoot`/locks.
std::string lockersText(const std::string& procRoot, const std::string& file);
nlohmann::ordered_json holdersJson(const Holders& holders);

}  // namespace vfiogate
