#include "privd/group_controls.h"

#include "ipc/codec/encode_snapshot.h"
#include "privd/pci_scan.h"

#include <algorithm>

namespace vfiogate {
namespace {

class GroupControlServer final : public schema::GroupControl::Server {
public:
  GroupControlServer(const GroupControls::Place& place, const IommuGroup& group)
      : place_(place), id_(group.id), members_(group.members) {}

protected:
  kj::Promise<void> look(LookContext context) override {
    auto answer = context.getResults().initAnswer();
    const Snapshot seen = scanGroup(place_.sysfs, place_.dev, id_);
    const auto group = seen.groups.find(id_);
    if (group == seen.groups.end() || !std::ranges::includes(group->second.members, members_)) {
      answer.setVanished();
    } else {
      encode(seen, answer.initSeen(), noControl);
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> hold(HoldContext /*context*/) override {
    place_.holds.hold(members_, place_.claimant);
    return kj::READY_NOW;
  }

  kj::Promise<void> drop(DropContext /*context*/) override {
    place_.holds.drop(members_);
    return kj::READY_NOW;
  }

private:
  const GroupControls::Place place_;
  IommuGroupId id_;
  std::vector<Bdf> members_;
};

}  // namespace

schema::GroupControl::Client GroupControls::of(const IommuGroup& group) {
  const auto known = minted_.find(group.id);
  if (known != minted_.end() && known->second.members == group.members) {
    return known->second.client;
  }
  schema::GroupControl::Client client = kj::heap<GroupControlServer>(place_, group);
  minted_.insert_or_assign(group.id, Minted{group.members, client});
  return client;
}

void GroupControls::keepOnly(const Snapshot& snapshot) {
  std::erase_if(minted_,
                [&snapshot](const auto& entry) { return !snapshot.groups.contains(entry.first); });
}

}  // namespace vfiogate
