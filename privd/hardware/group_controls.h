#pragma once
// The capabilities over IOMMU groups that one connection holds.

#include "ipc/schema/helper.capnp.h"
#include "ipc/types/units.h"
#include "privd/scan/snapshot_source.h"
#include "privd/scan/sysfs_root.h"

#include <map>
#include <set>

namespace vfiogate {

/// Mints one GroupControl a group and connection. It speaks for the members that the group had
/// then: where they change, the old capability is good for nothing and a new one is minted.
class GroupControls {
public:
  struct Place {
    const SysfsRoot& sysfs;
    const DevRoot& dev;
    SnapshotSource& source;
  };

  explicit GroupControls(Place place) : place_(place) {}

  /// The same one until its members change.
  schema::GroupControl::Client of(const IommuGroup& group);
  /// Forgets the groups that `snapshot` has no more.
  void keepOnly(const Snapshot& snapshot);

private:
  struct Minted {
    std::set<UnitId> units;
    schema::GroupControl::Client client;
  };

  const Place place_;
  std::map<IommuGroupId, Minted> minted_;
};

}  // namespace vfiogate
