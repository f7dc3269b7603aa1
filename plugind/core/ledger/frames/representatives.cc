#include "plugind/core/ledger/frames/frames.h"

#include <compare>

#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/resource/device_nodes.h"

namespace vfiogate {
namespace {

/// The like devices of a group, of which one stands for it. A device without a group is alone.
struct LikeDevices {
  std::optional<IommuGroupId> group;
  std::optional<UnitId> alone;
  Model model;
  friend auto operator<=>(const LikeDevices&, const LikeDevices&) = default;
};

Model modelOf(const PciDevice& device) {
  return {device.vendor.value_or(0), device.device.value_or(0)};
}

bool isShown(const LedgerState& state, const ResourceName& resource, const UnitId& id) {
  const auto shown = state.shown.find(resource);
  return shown != state.shown.end() && shown->second.devices.contains(id.str());
}

bool wasRepresentative(const LedgerState& state, const ResourceName& resource, const UnitId& id) {
  const auto shown = state.shown.find(resource);
  return shown != state.shown.end() && shown->second.representatives.contains(id);
}

bool leftJustNow(const LedgerState& state, const ResourceName& resource, const UnitId& id) {
  const auto shown = state.shown.find(resource);
  return shown != state.shown.end() && shown->second.left.contains(id.str());
}

/// T37 and section 13: one id is never in two resources' frames; a device that moved is shown only
/// after its group is free and it has left the old frame.
bool belongsElsewhere(const LedgerState& state, const Occupancy& occupancy,
                      const ResourceName& resource, const UnitId& id) {
  for (const auto& [other, shown] : state.shown) {
    if (other != resource && shown.devices.contains(id.str())) return true;
  }
  const auto names = occupancy.names.find(id);
  return names != occupancy.names.end() &&
         (names->second.size() > 1 || !names->second.contains(resource));
}

std::vector<UnitId> candidates(const LedgerState& state, const Occupancy& occupancy,
                               const ResourceName& resource) {
  std::vector<UnitId> found;
  const auto devices = state.catalog.resources.find(resource);
  if (!servedByPlugin(state.catalog, resource)) return found;
  for (const UnitId& id : devices->second.devices) {
    if (!belongsElsewhere(state, occupancy, resource, id)) found.push_back(id);
  }
  return found;
}

bool isGood(const LedgerState& state, const ResourceName& resource, const UnitId& id) {
  const auto readiness =
      judgeReadiness(state.hardware, resource, {id}, allocationOf(state, resource));
  return allocatable(readiness) && !leftJustNow(state, resource, id) && !isResting(state, id);
}

/// A good one if there is any, the one of before if it can be, one that is shown anyway rather
/// than a new one, the lowest.
UnitId chooseRepresentative(const LedgerState& state, const ResourceName& resource,
                            const std::vector<UnitId>& like) {
  if (like.size() == 1) return like.front();
  const auto rank = [&](const UnitId& id) {
    return (isGood(state, resource, id) ? 4 : 0) +
           (wasRepresentative(state, resource, id) ? 2 : 0) +
           (isShown(state, resource, id) ? 1 : 0);
  };
  UnitId best = like.front();
  for (const UnitId& id : like) {
    if (rank(id) > rank(best)) best = id;
  }
  return best;
}

/// `one`: of each free group's like devices the representative; the one that was shown stays while
/// nobody that we know holds the group.
std::set<UnitId> oneOfEach(const LedgerState& state, const Occupancy& occupancy,
                           const ResourceName& resource) {
  std::map<LikeDevices, std::vector<UnitId>> sorted;
  std::set<UnitId> chosen;
  for (const UnitId& id : candidates(state, occupancy, resource)) {
    if (isEngaged(state, occupancy, id)) {
      if (!wasRepresentative(state, resource, id)) continue;
      const Holding holding = holdingOf(state, groupMembers(state.hardware.snapshot, id));
      if (holding != Holding::kTaking && !isHeld(holding)) chosen.insert(id);
      continue;
    }
    const auto group = groupOf(state.hardware.snapshot, id);
    const auto alone = group ? std::nullopt : std::optional(id);
    const PciDevice* device = functionOf(state.hardware.snapshot, id);
    const Model model = device == nullptr ? Model{} : modelOf(*device);
    sorted[{group, alone, model}].push_back(id);
  }
  for (const auto& [key, like] : sorted) {
    chosen.insert(chosen.end(), chooseRepresentative(state, resource, like));
  }
  return chosen;
}

/// `whole`: the id that a record or an earlier frame shows, otherwise the lowest.
std::set<UnitId> unitOfEach(const LedgerState& state, const Occupancy& occupancy,
                            const ResourceName& resource) {
  std::map<std::set<UnitId>, std::vector<UnitId>> groups;
  for (const UnitId& id : candidates(state, occupancy, resource)) {
    groups[groupMembers(state.hardware.snapshot, id)].push_back(id);
  }
  std::set<UnitId> chosen;
  for (const auto& [members, like] : groups) {
    UnitId unit = like.front();
    for (const UnitId& id : like) {
      const auto rank = [&](const UnitId& one) {
        return (wasRepresentative(state, resource, one) ? 2 : 0) +
               (isShown(state, resource, one) ? 1 : 0);
      };
      if (rank(id) > rank(unit)) unit = id;
    }
    const bool engaged = meet(members, occupancy.engaged);
    for (const HolderRecord& record : state.records) {
      if (!engaged) break;
      const bool mine = !record.isClaim() && record.resource == resource;
      if (mine && meet(record.ids, members)) unit = *record.ids.begin();
    }
    chosen.insert(unit);
  }
  return chosen;
}

}  // namespace

std::set<UnitId> advertisedIn(const LedgerState& state, const Occupancy& occupancy,
                              const ResourceName& resource) {
  if (hasSets(state.catalog, resource)) return {};  // its sets are
  switch (allocationOf(state, resource).groupUnit) {
    case GroupUnit::kOne:
      return oneOfEach(state, occupancy, resource);
    case GroupUnit::kWhole:
      return unitOfEach(state, occupancy, resource);
    case GroupUnit::kAll:
      break;
  }
  const auto all = candidates(state, occupancy, resource);
  return {all.begin(), all.end()};
}

}  // namespace vfiogate
