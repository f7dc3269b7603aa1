#include "privd/group_controls.h"

#include "ipc/codec/encode_snapshot.h"
#include "privd/pci_scan.h"

namespace vfiogate {
namespace {

class GroupControlServer final : public schema::GroupControl::Server {
public:
  GroupControlServer(const SysfsRoot& sysfs, const DevRoot& dev, const IommuGroup& group)
      : sysfs_(sysfs), dev_(dev), id_(group.id), members_(group.members) {}

protected:
  kj::Promise<void> look(LookContext context) override {
    auto answer = context.getResults().initAnswer();
    const Snapshot seen = scanGroup(sysfs_, dev_, id_);
    const auto group = seen.groups.find(id_);
    if (group == seen.groups.end() || group->second.members != members_) {
      answer.setVanished();
    } else {
      encode(seen, answer.initSeen(), noControl);
    }
    return kj::READY_NOW;
  }

private:
  const SysfsRoot& sysfs_;
  const DevRoot& dev_;
  IommuGroupId id_;
  std::vector<Bdf> members_;
};

}  // namespace

schema::GroupControl::Client GroupControls::of(const IommuGroup& group) {
  const auto known = minted_.find(group.id);
  if (known != minted_.end() && known->second.members == group.members) {
    return known->second.client;
  }
  schema::GroupControl::Client client = kj::heap<GroupControlServer>(sysfs_, dev_, group);
  minted_.insert_or_assign(group.id, Minted{group.members, client});
  return client;
}

void GroupControls::keepOnly(const Snapshot& snapshot) {
  std::erase_if(minted_,
                [&snapshot](const auto& entry) { return !snapshot.groups.contains(entry.first); });
}

}  // namespace vfiogate
