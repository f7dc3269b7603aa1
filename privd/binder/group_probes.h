#pragma once
// Whether somebody has a VFIO group open, told by opening it.

#include "ipc/types/iommu_group.h"
#include "privd/scan/sysfs_root.h"

#include <kj/async.h>
#include <kj/timer.h>

#include <map>

namespace vfiogate {

/// The kernel lets one at a time have a group's node, so whoever can open it knows that nobody has
/// it; nor, since 6.6, has anybody bound one of its devices to an iommufd through the device's own
/// node. Until it is closed again, which is the next thing done, everybody else is told EBUSY:
/// hence no group is opened more than once a second, whoever asks, over whatever channel.
class GroupProbes {
public:
  /// Borrows both.
  GroupProbes(const DevRoot& dev, kj::Timer& timer) : dev_(dev), timer_(timer) {}
  KJ_DISALLOW_COPY(GroupProbes);

  /// 0: it was opened, and closed. Else the errno: EBUSY, somebody has it; ENOENT, it has no node;
  /// EPERM, this process may open none. Waits where the group was opened within the last second.
  kj::Promise<int> probe(IommuGroupId group);

private:
  int openAndClose(IommuGroupId group);

  const DevRoot& dev_;
  kj::Timer& timer_;
  std::map<IommuGroupId, kj::TimePoint> opened_;  ///< within the last second, no others
};

}  // namespace vfiogate
