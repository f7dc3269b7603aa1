#include "plugind/core/status/explanation.h"

#include <algorithm>

#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/ledger/state/foreign_ids.h"
#include "plugind/core/ledger/state/physical_functions.h"

namespace vfiogate {
namespace {

/// Who stands in the frame for the group of `device` instead of it; empty: nobody.
std::string standIns(const LedgerState& state, const ResourceName& resource,
                     const DeviceStatus& device) {
  std::string others;
  const auto shown = state.shown.find(resource);
  if (shown == state.shown.end()) return others;
  for (const UnitId& member : device.group.members) {
    if (member != device.address && shown->second.representatives.contains(member)) {
      others += (others.empty() ? "" : ", ") + member.str();
    }
  }
  return others;
}

/// A pod of this resource has it: the kubelet may offer that pod the device again.
bool hasIt(const ResourceName& resource, const DeviceStatus& device) {
  return isHeld(device.group.holding) &&
         std::ranges::any_of(device.group.holders, [&](const HolderView& holder) {
           return !holder.claim && holder.resource == resource &&
                  holder.ids.contains(device.address);
         });
}

Bar barOf(Holding holding) {
  const std::string name(nameOf(holding));
  return {"group-" + name, "its group is " + name + ": who asks for it is refused, " +
                               std::string(refusalOf(holding))};
}

}  // namespace

// In the order in which a request is judged (rows 1 to 13), so that both say the same.
Bar offerReason(const LedgerState& state, const ResourceName& resource,
                const DeviceStatus& device) {
  if (device.healthy) return {"offered", ""};
  const auto configured = state.catalog.resources.find(resource);
  const bool claimsOnly =
      configured != state.catalog.resources.end() && !servesPlugin(configured->second.allocation);
  const std::string others = standIns(state, resource, device);
  // Of a group that somebody has, the device of the frame is that one's, and stands for nobody.
  const bool free = device.group.holding == Holding::kFree;
  if (free && !others.empty()) return {"represented", others + " stands for its group (groupUnit)"};
  if (state.allocationClosed) return {"privd-away", "nothing is allocated while privd is away"};
  if (!state.begun) return {"not-adopted", "what the kubelet remembers could not be read yet"};
  if (!free && !hasIt(resource, device)) return barOf(device.group.holding);
  if (const ResourceName* suspected = suspectedIn(state, device.group.members);
      free && suspected != nullptr) {
    return {"foreign-ids", suspicionText(state, *suspected)};
  }
  if (const auto physical = allocatedPhysicalFunction(state, device.group.members)) {
    return physical->bar;
  }
  if (device.hardware != "ready" && device.hardware != "bindable")
    return {device.hardware, device.hardwareText};
  if (restsUnbound(state, device.address)) {
    return {"bind-failed", "privd could not bind it: the journal says why; it is tried again soon"};
  }
  if (isResting(state, device.address)) {
    return {
        "flapping",
        "it comes and goes: find out why; it is back when it was steady for " +
            std::to_string(
                std::chrono::duration_cast<std::chrono::seconds>(state.settings.holdDown).count()) +
            " s"};
  }
  if (!free) return barOf(device.group.holding);
  if (claimsOnly) return {"offered", ""};
  return {"resting",
          "it left a moment ago, and comes back after the shortest time that an id rests"};
}

}  // namespace vfiogate
