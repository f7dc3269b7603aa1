#include "plugind/core/resource/resource_catalog.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "ipc/types/viability.h"
#include "plugind/core/resource/allocation_response.h"

namespace vfiogate {
namespace {

constexpr std::uint32_t kDisplay = 0x03;
// What a display controller brings along: audio, USB-C and its serial controller.
constexpr std::array<std::uint32_t, 3> kCompanionClasses{0x0403, 0x0c03, 0x0c80};

/// The first display controller of each group.
using Displays = std::map<IommuGroupId, UnitId>;

Displays findDisplays(const Snapshot& snapshot) {
  Displays displays;
  for (const auto& [address, device] : snapshot.devices) {
    const bool isDisplay = device.classCode && (*device.classCode >> 16) == kDisplay;
    if (isDisplay && device.group && isEndpoint(device)) displays.emplace(*device.group, address);
  }
  return displays;
}

LeftOut asJudged(const Snapshot& snapshot, const PciDevice& device) {
  const Viability judged = viability(snapshot, device.address);
  return LeftOut{std::string(reasonCode(judged.obstacle)),
                 explain(snapshot, device.address, judged)};
}

/// Bridges, and what cannot be named, in the words of everybody.
std::optional<LeftOut> notOffered(const Snapshot& snapshot, const PciDevice& device) {
  const bool readable = device.vendor && device.device && device.classCode;
  if (readable && isEndpoint(device)) return std::nullopt;
  return asJudged(snapshot, device);
}

LeftOut excludedBy(std::size_t index) {
  return {"excluded", "matches exclude[" + std::to_string(index) + "]"};
}

std::optional<LeftOut> excluded(const Settings& settings, const PciDevice& device) {
  for (std::size_t i = 0; i < settings.exclude.size(); ++i) {
    if (matches(settings.exclude[i], device)) return excludedBy(i);
  }
  return std::nullopt;
}

/// By its own type, or with the whole parent.
std::optional<LeftOut> excluded(const Settings& settings, const Snapshot& snapshot,
                                const MediatedDevice& device) {
  const auto parent =
      device.parent ? snapshot.devices.find(*device.parent) : snapshot.devices.end();
  for (std::size_t i = 0; i < settings.exclude.size(); ++i) {
    const bool whole =
        parent != snapshot.devices.end() && matches(settings.exclude[i], parent->second);
    if (whole || matches(settings.exclude[i], snapshot, device)) return excludedBy(i);
  }
  return std::nullopt;
}

const ResourceSettings* firstMatch(const Settings& settings, const PciDevice& device) {
  for (const ResourceSettings& entry : settings.resources) {
    if (matches(entry.select, device)) return &entry;
  }
  return nullptr;
}

std::optional<LeftOut> companion(const Settings& settings, const Displays& displays,
                                 const PciDevice& device) {
  if (!device.group) return std::nullopt;
  const ResourceSettings* entry = firstMatch(settings, device);
  if (entry != nullptr && entry->allocation.companions == Companions::kAdvertise)
    return std::nullopt;
  const auto display = displays.find(*device.group);
  if (display == displays.end()) return std::nullopt;
  for (const std::uint32_t hidden : kCompanionClasses) {
    if ((*device.classCode >> 8) != hidden) continue;
    return LeftOut{"companion", "travels with the display controller " + display->second.str() +
                                    " of its group"};
  }
  return std::nullopt;
}

/// The names of one sorting, each made once: thousands of devices are of a few models.
class Names {
public:
  Names(const Settings& settings, const ModelNames& models)
      : settings_(settings), models_(models) {}

  const std::optional<ResourceName>& of(const ResourceSettings& entry, const Model& model) {
    const auto [name, isNew] = names_.try_emplace({&entry, model});
    if (isNew) name->second = entry.name ? entry.name : nameOfModel(settings_, model, models_);
    return name->second;
  }

private:
  const Settings& settings_;
  const ModelNames& models_;
  std::map<std::pair<const ResourceSettings*, Model>, std::optional<ResourceName>> names_;
};

LeftOut unmatched() {
  return {"unmatched", "no entry of resources selects it"};
}

/// Puts the unit into the resource. Returns why it is not there.
std::optional<LeftOut> enter(const Settings& settings, const UnitId& id,
                             const ResourceSettings& entry, const std::optional<ResourceName>& name,
                             ResourceCatalog& catalog) {
  if (!name) return LeftOut{"bad-name", "its resource's name is not one that a kubelet takes"};
  ResourceDevices& resource =
      catalog.resources.try_emplace(*name, ResourceDevices{entry.allocation, {}}).first->second;
  if (resource.allocation != entry.allocation) {
    return LeftOut{"two-settings", "another entry of resources makes " + name->str() +
                                       " with other settings: name one of them"};
  }
  resource.devices.push_back(id);
  catalog.chosen.emplace_hint(catalog.chosen.end(), id,
                              static_cast<std::size_t>(&entry - settings.resources.data()));
  return std::nullopt;
}

/// Puts the mediated device where it belongs. Returns why it belongs nowhere.
std::optional<LeftOut> place(const Settings& settings, const Snapshot& snapshot,
                             const MediatedDevice& device, ResourceCatalog& catalog) {
  for (const ResourceSettings& entry : settings.resources) {
    if (!matches(entry.select, snapshot, device)) continue;
    const auto name = entry.name ? entry.name : nameOfType(settings, device.typeForPeople());
    return enter(settings, device.uuid, entry, name, catalog);
  }
  return unmatched();
}

/// Puts `device` where it belongs. Returns why it belongs nowhere.
std::optional<LeftOut> place(const Settings& settings, const Snapshot& snapshot,
                             const PciDevice& device, Names& names, ResourceCatalog& catalog) {
  const ResourceSettings* entry = firstMatch(settings, device);
  if (entry == nullptr) return device.vgpuType == 0 ? asJudged(snapshot, device) : unmatched();
  const bool named = servesPlugin(entry->allocation) && entry->allocation.kubevirtVariable;
  if (named && !kubevirtAccepts(device.address)) {
    return LeftOut{"segment", "KubeVirt takes no segment above 16 bit: set env: [none]"};
  }
  if (selectsVgpus(entry->select) && !entry->name) {
    const auto name = nameOfType(settings, device.vgpuTypeForPeople());
    return enter(settings, device.address, *entry, name, catalog);
  }
  const auto& name = names.of(*entry, {*device.vendor, *device.device});
  return enter(settings, device.address, *entry, name, catalog);
}

}  // namespace

bool servedByPlugin(const ResourceCatalog& catalog, const ResourceName& resource) {
  const auto found = catalog.resources.find(resource);
  return found != catalog.resources.end() && servesPlugin(found->second.allocation);
}

bool servedByDra(const ResourceCatalog& catalog, const ResourceName& resource) {
  const auto found = catalog.resources.find(resource);
  return found != catalog.resources.end() && servesDra(found->second.allocation);
}

std::optional<ResourceName> resourceOf(const ResourceCatalog& catalog, const UnitId& address) {
  for (const auto& [name, resource] : catalog.resources) {
    if (std::ranges::binary_search(resource.devices, address)) return name;
  }
  return std::nullopt;
}

std::optional<ResourceName> nameOfType(const Settings& settings, std::string type) {
  for (char& c : type) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.';
    if (!plain) c = '_';
  }
  return ResourceName::parse(settings.resourcePrefix + "/" + type);
}

ResourceCatalog sortIntoResources(const Settings& settings, const Snapshot& snapshot,
                                  const ModelNames& models) {
  const Displays displays = findDisplays(snapshot);
  Names names(settings, models);
  ResourceCatalog catalog;
  for (const auto& [address, device] : snapshot.devices) {
    auto reason = notOffered(snapshot, device);
    if (!reason) reason = excluded(settings, device);
    if (!reason) reason = companion(settings, displays, device);
    if (!reason) reason = place(settings, snapshot, device, names, catalog);
    if (reason) catalog.leftOut.emplace(address, *reason);
  }
  for (const auto& [uuid, device] : snapshot.mediated) {  // after all addresses, as their ids are
    auto reason = excluded(settings, snapshot, device);
    if (!reason) reason = place(settings, snapshot, device, catalog);
    if (reason) catalog.leftOut.emplace(uuid, *reason);
  }
  return catalog;
}

}  // namespace vfiogate
