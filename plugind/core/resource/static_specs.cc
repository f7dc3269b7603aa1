#include "plugind/core/resource/static_specs.h"

#include <algorithm>

namespace vfiogate {
namespace {

using Wanted = std::map<ResourceName, StaticSpec>;

Wanted wantedBy(const ResourceCatalog& catalog) {
  Wanted wanted;
  for (const auto& [name, resource] : catalog.resources) {
    if (!needsSpec(resource.allocation)) continue;
    wanted.emplace(name,
                   StaticSpec{.resource = name.str(),
                              .backend = resource.allocation.backend,
                              .wholeGroups = resource.allocation.groupUnit == GroupUnit::kWhole,
                              .devices = resource.devices});
  }
  return wanted;
}

/// False: it is there.
bool insertOrdered(std::vector<UnitId>& devices, const UnitId& device) {
  const auto at = std::ranges::lower_bound(devices, device);
  if (at != devices.end() && *at == device) return false;
  devices.insert(at, device);
  return true;
}

/// Keeps what `earlier` has of what the record holds. True: it would be gone otherwise.
bool keepHeld(Wanted& wanted, const HolderRecord& record, const StaticSpec& earlier) {
  bool kept = false;
  for (const UnitId& device : earlier.devices) {
    const bool held = record.ids.contains(device) || record.rest.contains(device);
    if (!held && !(earlier.wholeGroups && record.members.contains(device))) continue;
    StaticSpec bare = earlier;
    bare.devices.clear();
    StaticSpec& spec = wanted.try_emplace(record.resource, std::move(bare)).first->second;
    kept |= insertOrdered(spec.devices, device);
  }
  return kept;
}

}  // namespace

SpecPlan planSpecs(const ResourceCatalog& catalog, const Snapshot& hardware,
                   const std::vector<HolderRecord>& records, const SpecPlan& before) {
  SpecPlan plan;
  Wanted wanted = wantedBy(catalog);
  for (const HolderRecord& record : records) {
    if (record.isClaim()) continue;
    const auto earlier =
        std::ranges::find(before.specs, record.resource.str(), &StaticSpec::resource);
    if (earlier != before.specs.end()) plan.keepsForHolders |= keepHeld(wanted, record, *earlier);
  }
  std::size_t devices = 0;
  for (auto& [name, spec] : wanted) {
    const bool fits =
        plan.specs.size() < kMostSpecs && devices + spec.devices.size() <= kMostSpecDevices;
    if (!fits) {
      plan.tooMany.insert(name);
      continue;
    }
    devices += spec.devices.size();
    for (const UnitId& device : spec.devices) {
      const auto nodes = vfioNodes(hardware, handedOver(spec, hardware, device), spec.backend);
      if (nodes) plan.nodes.insert_or_assign(device, pathsOf(*nodes));
    }
    plan.specs.push_back(std::move(spec));
  }
  return plan;
}

std::string cdiName(const ResourceName& resource, const UnitId& address) {
  return resource.str() + "=" + address.str();
}

std::optional<Bar> barFromSpec(const StaticSpecs& specs, const ResourceName& resource,
                               const UnitId& address) {
  const auto spec = specs.find(resource);
  if (spec == specs.end()) return Bar{kSpecReason, "its CDI spec was not asked for yet"};
  if (!spec->second.trouble.empty()) return Bar{kSpecReason, spec->second.trouble};
  if (spec->second.nodes.contains(address)) return std::nullopt;
  return Bar{kSpecReason, "its CDI spec does not name it: it had no node"};
}

bool mayRegister(const StaticSpecs& specs, const ResourceName& resource,
                 const AllocationSettings& allocation, const Frame& frame) {
  if (!needsSpec(allocation)) return true;
  if (std::ranges::any_of(frame.devices, &FrameDevice::healthy)) return true;
  const auto spec = specs.find(resource);
  return spec != specs.end() && spec->second.trouble.empty();
}

std::optional<Bar> barFromSpec(const StaticSpecs& specs, const ResourceName& resource,
                               const UnitId& address, const std::vector<std::string>& nodes) {
  if (auto bar = barFromSpec(specs, resource, address)) return bar;
  if (specs.at(resource).nodes.at(address) == nodes) return std::nullopt;
  return Bar{kSpecReason, "its CDI spec names other nodes than it has now: try again"};
}

}  // namespace vfiogate
