#include "plugind/privd/hardware_view.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace vfiogate {

HardwareView::Taken HardwareView::take(DecodedUpdate decoded) {
  Update& update = decoded.update;
  if (auto* whole = std::get_if<Snapshot>(&update.content)) {
    snapshot_ = std::move(*whole);
    controls_ = std::move(decoded.controls);
  } else {
    const auto& [base, changes] = std::get<UpdateDelta>(update.content);
    if (!at_ || at_->epoch != update.epoch || at_->generation != base) {
      at_.reset();
      return Taken::kMissing;
    }
    for (const IommuGroup& group : changes.changedGroups) controls_.erase(group.id);
    for (const IommuGroupId id : changes.removedGroups) controls_.erase(id);
    controls_.merge(decoded.controls);
    snapshot_ = apply(std::move(snapshot_), changes);
  }
  at_ = {update.epoch, update.generation};
  return Taken::kNew;
}

bool HardwareView::shows(const Snapshot& seen) const {
  const auto sameDevice = [this](const auto& entry) {
    const auto known = snapshot_.devices.find(entry.first);
    return known != snapshot_.devices.end() && known->second == entry.second;
  };
  const auto sameMembers = [this](const auto& entry) {
    const auto known = snapshot_.groups.find(entry.first);
    return known != snapshot_.groups.end() && known->second.members == entry.second.members &&
           known->second.mediated == entry.second.mediated;
  };
  const auto sameMediated = [this](const auto& entry) {
    const auto known = snapshot_.mediated.find(entry.first);
    return known != snapshot_.mediated.end() && known->second == entry.second;
  };
  return std::ranges::all_of(seen.mediated, sameMediated) &&
         std::ranges::all_of(seen.devices, sameDevice) &&
         std::ranges::all_of(seen.groups, sameMembers);
}

kj::Maybe<schema::GroupControl::Client> HardwareView::control(IommuGroupId group) {
  const auto found = controls_.find(group);
  if (found == controls_.end()) return nullptr;
  return found->second;
}

}  // namespace vfiogate
