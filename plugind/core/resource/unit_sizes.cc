// Whole groups of another size than `more` says.

#include <map>
#include <string>
#include <utility>

#include "plugind/core/resource/device_nodes.h"
#include "plugind/core/resource/resource_catalog.h"

namespace vfiogate {
namespace {

/// Takes the devices of groups of another size out of the resource.
void leaveOut(const Snapshot& snapshot, ResourceDevices& resource, ResourceCatalog& catalog) {
  std::map<std::set<UnitId>, std::set<UnitId>> groups;  // by members
  for (const UnitId& id : resource.devices) groups[groupMembers(snapshot, id)].insert(id);
  for (const auto& group : groups) {
    const std::set<UnitId>& like = group.second;
    const auto bar = barOfSize(resource.allocation, like.size());
    if (!bar) continue;
    std::erase_if(resource.devices, [&like](const UnitId& id) { return like.contains(id); });
    for (const UnitId& id : like) {
      catalog.chosen.erase(id);
      catalog.leftOut.insert_or_assign(id, *bar);
    }
  }
}

}  // namespace

std::optional<LeftOut> barOfSize(const AllocationSettings& allocation, std::size_t devices) {
  if (!allocation.more || devices == allocation.more->count + 1) return std::nullopt;
  return LeftOut{kUnitSizeReason, "goes along with " + std::to_string(devices - 1) +
                                      " more, and more.count of its resource is " +
                                      std::to_string(allocation.more->count) +
                                      ": give units of another size a resource of their own"};
}

void leaveOutOtherSizes(const Snapshot& snapshot, ResourceCatalog& catalog) {
  for (auto& [name, resource] : catalog.resources) {
    const bool whole = resource.allocation.groupUnit == GroupUnit::kWhole;
    if (whole && resource.allocation.more) leaveOut(snapshot, resource, catalog);
  }
  std::erase_if(catalog.resources, [](const auto& entry) { return entry.second.devices.empty(); });
}

}  // namespace vfiogate
