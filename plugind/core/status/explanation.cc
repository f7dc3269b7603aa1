#include "plugind/core/status/explanation.h"

#include <algorithm>

#include "ipc/types/units.h"
#include "ipc/types/vfio_nodes.h"
#include "ipc/types/viability.h"

namespace vfiogate {
namespace {

std::string listOf(const std::set<UnitId>& addresses) {
  std::string text;
  for (const UnitId& address : addresses) text += (text.empty() ? "" : ", ") + address.str();
  return text;
}

std::string entryText(const Settings& settings, std::size_t index) {
  const ResourceSettings& entry = settings.resources[index];
  std::string text = "selected by resources[" + std::to_string(index) + "]";
  if (entry.name) return text + ", which names it";
  const bool byType = selectsMediated(entry.select) || selectsVgpus(entry.select);
  return text + ", named by its " + (byType ? "type" : "model");
}

/// In which sets of the resource the device is.
std::string setsText(const Settings& settings, const ResourceName& resource,
                     const UnitId& address) {
  std::string names;
  for (const ResourceSettings& entry : settings.resources) {
    if (entry.name != resource) continue;
    for (const DeviceSet& set : entry.sets) {
      if (set.units.contains(address)) names += (names.empty() ? "" : ", ") + set.name;
    }
  }
  return names;
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
    text += " since " + utcText(holder.since) + ", ref=" + holder.ref.str();
  }
  return text;
}

/// What the kubelet sees of it, and why no more.
std::string shownText(const DeviceStatus& device) {
  if (device.reason == "offered" && !device.healthy) return "claims may have it (DRA)";
  if (device.healthy) return "the kubelet sees it, Healthy";
  const std::string sees =
      device.shown ? "the kubelet sees it, Unhealthy: " : "the kubelet does not see it: ";
  return sees + device.reasonText;
}

/// Of a GPU's extended memory, and what keeps it from going along.
std::string memoryText(const Snapshot& snapshot, const EgmRegion& region) {
  std::string text =
      pathOf({SpecNode::Kind::kEgm, region.number}) + " goes along with all of its GPUs:";
  std::string bars;
  for (const Bdf& gpu : region.gpus) {
    text += (gpu == region.gpus.front() ? " " : ", ") + gpu.str();
    if (!isPresent(snapshot, gpu)) {
      bars += "; " + gpu.str() + " is gone";
    } else if (const Viability judged = viability(snapshot, gpu); !judged.ready()) {
      bars += "; " + gpu.str() + ": " + explain(snapshot, gpu, judged);
    }
  }
  return text + bars;
}

}  // namespace

Explanation explain(const Settings& settings, const LedgerState& state, const UnitId& address) {
  Explanation told{
      .address = address, .resource = {}, .reason = {}, .text = {}, .lines = {}, .device = {}};
  told.present = isPresent(state.hardware.snapshot, address);
  if (!told.present) {
    told.lines.emplace_back(state.hardwareKnown ? "there is no such device on this node"
                                                : "privd has not told yet what there is");
  }
  const auto leftOut = state.catalog.leftOut.find(address);
  if (leftOut != state.catalog.leftOut.end()) {
    told.reason = leftOut->second.reason;
    told.text = leftOut->second.text;
    told.lines.push_back("falls into no resource: " + leftOut->second.text);
    return told;
  }
  // What it has left may show it for some time.
  const auto now = resourceOf(state.catalog, address);
  for (const ResourceStatus& resource : statusOf(state, {}).resources) {
    for (const DeviceStatus& device : resource.devices) {
      if (device.address != address || (told.resource && resource.name != now)) continue;
      told.resource = resource.name;
      told.device = device;
    }
  }
  if (!told.device) {
    told.reason = state.hardwareKnown ? "gone" : "privd-away";
    told.text = told.lines.front();
    return told;
  }
  const auto chosen = state.catalog.chosen.find(address);
  std::string why = "falls into " + told.resource->str();
  const bool known = chosen != state.catalog.chosen.end();
  if (known) why += ": " + entryText(settings, chosen->second);
  const std::string sets = setsText(settings, *told.resource, address);
  if (!known && !sets.empty()) why += ", allocated together with its set: " + sets;
  told.lines.push_back(why);
  if (known && settings.resources[chosen->second].allocation.backend == Backend::kNoIommu) {
    told.lines.emplace_back(
        "backend noiommu: whoever has it reads and writes all memory of the node");
  }
  told.lines.push_back(groupText(told.device->group));
  told.lines.push_back(holdingText(told.device->group));
  told.reason = told.device->reason;
  told.text = told.device->reasonText;
  told.lines.push_back(shownText(*told.device));
  const Snapshot& hardware = state.hardware.snapshot;
  for (const EgmRegion& region : hardware.egm) {
    const Bdf* gpu = address.address();
    const bool shares = gpu != nullptr && std::ranges::binary_search(region.gpus, *gpu);
    if (shares) told.lines.push_back(memoryText(hardware, region));
  }
  return told;
}

}  // namespace vfiogate
