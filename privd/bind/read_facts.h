#pragma once
// The evidence for the guards, from sysfs, /dev and the host's tables.

#include "ipc/types/snapshot.h"
#include "privd/bind/plan/facts.h"
#include "privd/scan/sysfs_root.h"

#include <kj/io.h>

#include <map>
#include <set>
#include <string>

namespace vfiogate {

/// Files of the host's that tell what its own namespaces have. Empty: not given, so not known.
struct HostFiles {
  std::string mountinfo;  ///< --host-mountinfo, such as /proc/1/mountinfo
  std::string route;      ///< --host-route
  std::string swaps = "/proc/swaps";
};

/// Exclusive opens of disks by name: as long as they are held, nobody mounts these.
using OpenDisks = std::map<std::string, kj::AutoCloseFd>;

/// What is known of the functions `changed`, but of those on VFIO; without a driver only who draws
/// on it. Opens disks exclusively, but those that are among `opened` already.
GuardFacts gatherEvidence(const SysfsRoot& sysfs, const DevRoot& dev, const HostFiles& host,
                          const Snapshot& snapshot, const std::set<Bdf>& changed,
                          OpenDisks& opened);

}  // namespace vfiogate
