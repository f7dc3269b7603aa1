#include "plugind/core/explanation.h"

namespace vfiogate {
namespace {

std::string listOf(const std::set<Bdf>& addresses) {
  std::string text;
  for (const Bdf& address : addresses) text += (text.empty() ? "" : ", ") + address.str();
  return text;
}

std::string entryText(const Settings& settings, std::size_t index) {
  const ResourceSettings& entry = settings.resources[index];
  std::string text = "selected by resources[" + std::to_string(index) + "]";
  if (entry.name) return text + ", which names it";
  return text + ", named by its model";
}

std::string groupText(const GroupView& group) {
  if (!group.group) return "has no IOMMU group";
  return "IOMMU group " + std::to_string(group.group->number()) + ": " + listOf(group.members);
}

std::string holdingText(const GroupView& group) {
  std::string text = "the group is " + std::string(nameOf(group.holding));
  for (const HolderView& holder : group.holders) {
    text += "; " + holder.resource.str() + " to ";
    if (holder.claim) {
      text += "claim " + holder.claim->claimNamespace + "/" + holder.claim->name;
    } else {
      text += holder.podName ? "pod " + *holder.podName : "a pod that the kubelet has not named";
    }
    text += " since " + clockText(holder.since) + ", ref=" + holder.ref.str();
  }
  return text;
}

/// Who stands in the frame for the group of `device` instead of it; empty: nobody.
std::set<Bdf> standIns(const LedgerState& state, const ResourceName& resource,
                       const DeviceStatus& device) {
  std::set<Bdf> others;
  const auto shown = state.shown.find(resource);
  if (shown == state.shown.end()) return others;
  for (const Bdf& member : device.group.members) {
    if (member != device.address && shown->second.representatives.contains(member)) {
      others.insert(member);
    }
  }
  return others;
}

/// What the kubelet sees of it, and why no more. Fills `reason`.
std::string shownText(const LedgerState& state, const ResourceName& resource,
                      const DeviceStatus& device, std::string& reason) {
  if (device.healthy) {
    reason = "offered";
    return "the kubelet sees it, Healthy";
  }
  const std::string sees =
      device.shown ? "the kubelet sees it, Unhealthy: " : "the kubelet does not see it: ";
  const auto others = standIns(state, resource, device);
  if (!others.empty()) {
    reason = "represented";
    return sees + listOf(others) + " stands for its group (groupUnit)";
  }
  if (device.hardware != "ready") {
    reason = device.hardware;
    return sees + device.hardwareText;
  }
  if (device.group.holding != Holding::kFree) {
    reason = "group-" + std::string(nameOf(device.group.holding));
    return sees + "its group is " + std::string(nameOf(device.group.holding));
  }
  if (state.lendingClosed) {
    reason = "privd-away";
    return sees + "nothing is lent while privd is away";
  }
  if (!state.begun) {
    reason = "not-adopted";
    return sees + "what the kubelet remembers could not be read yet";
  }
  reason = "resting";
  return sees + "it left a moment ago, and comes back after the shortest time that an id rests";
}

}  // namespace

Explanation explain(const Settings& settings, const LedgerState& state, const Bdf& address) {
  Explanation told{.address = address, .resource = {}, .reason = {}, .lines = {}, .device = {}};
  const auto& devices = state.hardware.snapshot.devices;
  told.present = devices.contains(address);
  if (!told.present) {
    told.lines.emplace_back(state.hardwareKnown ? "there is no such PCI device on this node"
                                                : "privd has not told yet what there is");
  }
  const auto leftOut = state.catalog.leftOut.find(address);
  if (leftOut != state.catalog.leftOut.end()) {
    told.reason = leftOut->second.reason;
    told.lines.push_back("falls into no resource: " + leftOut->second.text);
    return told;
  }
  for (const ResourceStatus& resource : statusOf(state, {}).resources) {
    for (const DeviceStatus& device : resource.devices) {
      if (device.address != address) continue;
      told.resource = resource.name;
      told.device = device;
    }
  }
  if (!told.device) {
    told.reason = "gone";
    return told;
  }
  const auto chosen = state.catalog.chosen.find(address);
  std::string why = "falls into " + told.resource->str();
  if (chosen != state.catalog.chosen.end()) why += ": " + entryText(settings, chosen->second);
  told.lines.push_back(why);
  told.lines.push_back(groupText(told.device->group));
  told.lines.push_back(holdingText(told.device->group));
  told.lines.push_back(shownText(state, *told.resource, *told.device, told.reason));
  return told;
}

}  // namespace vfiogate
