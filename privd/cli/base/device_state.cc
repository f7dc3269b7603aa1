#include "privd/cli/base/device_state.h"

namespace vfiogate {
namespace {

/// Behind what keeps it from use for good, before what the change may be about to mend.
bool isBeingChanged(const Snapshot& snapshot, const PciDevice& device, const Viability& seen) {
  if (!device.group || (!seen.ready() && seen.obstacle <= Obstacle::kWriteStuck)) return false;
  const auto group = snapshot.groups.find(*device.group);
  return group != snapshot.groups.end() && group->second.binding.busy;
}

}  // namespace

std::string stateOf(const Snapshot& snapshot, const PciDevice& device) {
  const Viability seen = viability(snapshot, device.address);
  if (isBeingChanged(snapshot, device, seen)) return kBindingState;
  if (!seen.ready()) return std::string(reasonCode(seen.obstacle));
  const auto group = snapshot.groups.find(*device.group);
  return group != snapshot.groups.end() && group->second.use == GroupUse::kOpen ? "in-use"
                                                                                : "passable";
}

std::string stateOf(const Snapshot& snapshot, const MediatedDevice& device) {
  return std::string(reasonCode(viability(snapshot, device).obstacle));
}

std::string whyOf(const Snapshot& snapshot, const MediatedDevice& device) {
  const Viability seen = viability(snapshot, device);
  return seen.ready() ? std::string() : explain(device, seen);
}

std::string whyOf(const Snapshot& snapshot, const PciDevice& device) {
  const Viability seen = viability(snapshot, device.address);
  if (isBeingChanged(snapshot, device, seen)) {
    return "its group's drivers are being changed: wait for the end";
  }
  return seen.ready() ? std::string() : explain(snapshot, device.address, seen);
}

}  // namespace vfiogate
