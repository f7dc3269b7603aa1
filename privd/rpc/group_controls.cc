#include "privd/rpc/group_controls.h"

#include "ipc/codec/snapshot_codec.h"
#include "privd/scan/pci_scan.h"

#include <algorithm>

namespace vfiogate {
namespace {

void tell(const AllocationAnswer& told, schema::BindAnswer::Builder answer) {
  switch (told.outcome) {
    case AllocationAnswer::Outcome::kDone:
      return answer.setDone();
    case AllocationAnswer::Outcome::kRefused:
      return answer.setRefused(told.why);
    case AllocationAnswer::Outcome::kFailed:
      return answer.setFailed(told.why);
    case AllocationAnswer::Outcome::kStuck:
      return answer.setStuck(told.why);
    case AllocationAnswer::Outcome::kVanished:
      return answer.setVanished();
  }
}

class GroupControlServer final : public schema::GroupControl::Server {
public:
  GroupControlServer(const GroupControls::Place& place, const IommuGroup& group)
      : place_(place), id_(group.id), members_(group.members) {}

protected:
  kj::Promise<void> reread(RereadContext context) override {
    auto answer = context.getResults().initAnswer();
    const Snapshot seen = scanGroup(place_.sysfs, place_.dev, id_);
    tellNews(seen);
    if (isIn(seen)) {
      encode(seen, answer.initSeen(), noControl);
    } else {
      answer.setVanished();
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> bind(BindContext context) override {
    if (place_.binder != nullptr && !place_.allocations.isAllocated(members_)) {
      context.getResults().initAnswer().setRefused("it is not on record as allocated");
      return kj::READY_NOW;
    }
    return make(&AllocationBinder::bind, context.getResults().initAnswer(), context);
  }

  kj::Promise<void> giveBack(GiveBackContext context) override {
    return make(&AllocationBinder::giveBack, context.getResults().initAnswer(), context);
  }

private:
  /// What a reread finds and the snapshot has not, because the event was lost, is reread for all.
  void tellNews(const Snapshot& seen) {
    const auto known = place_.source.current().snapshot;
    Places news;
    for (const auto& [address, device] : seen.devices) {
      const auto before = known->devices.find(address);
      if (before == known->devices.end() || before->second != device) news.devices.insert(address);
    }
    for (const auto& [id, group] : seen.groups) {
      const auto before = known->groups.find(id);
      if (before == known->groups.end() || before->second.use != group.use) news.groups.insert(id);
    }
    if (!news.devices.empty() || !news.groups.empty()) place_.source.hint(news);
  }

  using Change = kj::Promise<AllocationAnswer> (AllocationBinder::*)(const std::vector<Bdf>&);

  /// True if this is still the group that the capability was made for.
  bool isIn(const Snapshot& seen) const {
    const auto group = seen.groups.find(id_);
    return group != seen.groups.end() && std::ranges::includes(group->second.members, members_);
  }

  /// `answer` is that of `context`'s results.
  template <typename Context>
  kj::Promise<void> make(Change change, schema::BindAnswer::Builder answer, Context context) {
    if (place_.binder == nullptr) {
      answer.setDenied();
      return kj::READY_NOW;
    }
    auto changed = isIn(scanGroup(place_.sysfs, place_.dev, id_))
                       ? (place_.binder->*change)(members_)
                       : AllocationAnswer{AllocationAnswer::Outcome::kVanished, {}};
    return changed.then([&source = place_.source, context](const AllocationAnswer& told) mutable {
      tell(told, context.getResults().getAnswer());
      context.getResults().getAnswer().setGeneration(source.current().generation);
    });
  }

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
