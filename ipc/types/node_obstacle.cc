#include "ipc/types/viability.h"

#include <algorithm>

namespace vfiogate {

std::vector<NodeObstacle> obstaclesOf(const Snapshot& snapshot, BindingAsked asked) {
  std::vector<NodeObstacle> found;
  const bool isolates =
      std::ranges::any_of(snapshot.groups, [](const auto& entry) { return !entry.second.noIommu; });
  if (!snapshot.groups.empty() && !isolates) {
    found.push_back(
        {"no_iommu",
         "VFIO's no-IOMMU mode isolates nothing, so nothing is allocated: turn the IOMMU on "
         "in firmware and kernel"});
  }
  if (asked == BindingAsked::kNo) return found;
  if (!snapshot.vfioPci) {
    found.push_back({"vfio_pci_not_loaded",
                     "the kernel has no driver vfio-pci: load it on the host (modprobe vfio-pci, "
                     "modules-load.d), or set modules: init"});
  }
  if (snapshot.sysfsWriting == SysfsWriting::kReadOnly) {
    found.push_back({"readonly_sysfs",
                     "sysfs is mounted read-only, so no device can be bound: mount the host's /sys "
                     "writable (privd.sysfsReadOnly: false)"});
  }
  if (snapshot.sysfsWriting == SysfsWriting::kDenied) {
    found.push_back(
        {"apparmor_denied",
         "AppArmor or another security module forbids writing to sysfs, so no device "
         "can be bound: mount it elsewhere than at /sys, or set "
         "privd.appArmorProfile; on a simulated sysfs it is privd's own Landlock, which "
         "knows files of FUSE for as long as the kernel remembers them only"});
  }
  return found;
}

}  // namespace vfiogate
