#include "privd/hardware/group_controls.h"

#include "ipc/codec/snapshot_codec.h"
#include "privd/scan/pci_scan.h"

#include <algorithm>

namespace vfiogate {
namespace {

class GroupControlServer final : public schema::GroupControl::Server {
public:
  GroupControlServer(const GroupControls::Place& place, const IommuGroup& group)
      : place_(place), id_(group.id), units_(unitsOf(group)) {}

protected:
  kj::Promise<void> reread(RereadContext context) override {
    auto answer = context.getResults().initAnswer();
    Snapshot seen = scanGroup(place_.sysfs, place_.dev, id_);
    takeKnown(seen);
    tellNews(seen);
    takeKnown(seen);
    if (isIn(seen)) {
      encode(seen, answer.initSeen(), noControl);
    } else {
      answer.setVanished();
    }
    return kj::READY_NOW;
  }

private:
  /// What a vGPU's type is called, another function of its card may have told; slots are read once
  /// a sweep.
  void takeKnown(Snapshot& seen) const {
    const auto known = place_.source.current().snapshot;
    for (auto& [address, device] : seen.devices) {
      const auto before = known->devices.find(address);
      if (before == known->devices.end()) continue;
      device.slot = before->second.slot;
      if (before->second.vgpuType == device.vgpuType)
        device.vgpuTypeName = before->second.vgpuTypeName;
    }
  }

  /// What a reread finds and the snapshot has not, because the event was lost or is on its way, is
  /// told to all before it is answered.
  void tellNews(const Snapshot& seen) {
    const auto known = place_.source.current().snapshot;
    Places news;
    for (const auto& [address, device] : seen.devices) {
      const auto before = known->devices.find(address);
      if (before == known->devices.end() || before->second != device) news.devices.insert(address);
    }
    const auto now = seen.groups.find(id_);
    const auto before = known->groups.find(id_);
    const bool isThere = now != seen.groups.end();
    const bool wasThere = before != known->groups.end();
    if (isThere != wasThere || (isThere && now->second != before->second)) {
      news.groups.insert(id_);
      if (wasThere) {
        news.devices.insert(before->second.members.begin(), before->second.members.end());
        news.mediated.insert(before->second.mediated.begin(), before->second.mediated.end());
      }
    }
    for (const auto& [uuid, device] : seen.mediated) {
      const auto was = known->mediated.find(uuid);
      if (was == known->mediated.end() || was->second != device) news.mediated.insert(uuid);
    }
    if (!news.empty()) place_.source.rereadNow(news);
  }

  /// True if this is still the group that the capability was made for.
  bool isIn(const Snapshot& seen) const {
    const auto group = seen.groups.find(id_);
    return group != seen.groups.end() && std::ranges::includes(unitsOf(group->second), units_);
  }

  const GroupControls::Place place_;
  IommuGroupId id_;
  std::set<UnitId> units_;
};

}  // namespace

schema::GroupControl::Client GroupControls::of(const IommuGroup& group) {
  const auto known = minted_.find(group.id);
  if (known != minted_.end() && known->second.units == unitsOf(group)) {
    return known->second.client;
  }
  schema::GroupControl::Client client = kj::heap<GroupControlServer>(place_, group);
  minted_.insert_or_assign(group.id, Minted{unitsOf(group), client});
  return client;
}

void GroupControls::keepOnly(const Snapshot& snapshot) {
  std::erase_if(minted_,
                [&snapshot](const auto& entry) { return !snapshot.groups.contains(entry.first); });
}

}  // namespace vfiogate
