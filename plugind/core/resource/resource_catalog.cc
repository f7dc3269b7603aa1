#include "plugind/core/resource/resource_catalog.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ipc/types/units.h"
#include "ipc/types/viability.h"
#include "plugind/core/resource/allocation_response.h"

namespace vfiogate {
namespace {

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

const ResourceSettings* firstMatch(const Settings& settings, const PciDevice& device,
                                   const Learnt& learnt) {
  for (const ResourceSettings& entry : settings.resources) {
    if (entry.sets.empty() && matches(entry.select, device, learnt)) return &entry;
  }
  return nullptr;
}

LeftOut travelling(const UnitId& card, const std::string& more = "") {
  return {"companion",
          "travels with the display controller " + card.str() + " of its group" + more};
}

std::optional<LeftOut> companion(const Settings& settings, const Cards& cards,
                                 const PciDevice& device, const Learnt& learnt) {
  const ResourceSettings* entry = firstMatch(settings, device, learnt);
  const Companions wanted = entry == nullptr ? Companions::kHide : entry->allocation.companions;
  if (wanted == Companions::kAdvertise) return std::nullopt;
  if (const auto card = cards.of(device)) return travelling(*card);
  if (wanted != Companions::kAttach || !isCompanionKind(device)) return std::nullopt;
  return LeftOut{"companion",
                 "no display controller is in its group, and its entry says companions: attach: "
                 "give it an entry of its own"};
}

/// The names of one sorting, each made once: thousands of devices are of a few models.
class Names {
public:
  Names(const Settings& settings, const ModelNames& models, const SerialNumbers& serials)
      : settings_(settings), models_(models), serials_(serials) {}

  Learnt learntOf(const PciDevice* device) const {
    if (device == nullptr) return {{}, ""};
    Learnt learnt{{}, serials_.of(device->address)};
    if (!learnt.serial) learnt.whyNoSerial = serials_.whyUnknown(device->address);
    if (!device->vendor || !device->device) return learnt;
    const std::string* product = models_.product({*device->vendor, *device->device});
    if (product != nullptr) learnt.product = *product;
    return learnt;
  }

  const std::optional<ResourceName>& of(const ResourceSettings& entry, const Model& model) {
    const auto [name, isNew] = names_.try_emplace({&entry, model});
    if (isNew) name->second = entry.name ? entry.name : nameOfModel(settings_, model, models_);
    return name->second;
  }

private:
  const Settings& settings_;
  const ModelNames& models_;
  const SerialNumbers& serials_;
  std::map<std::pair<const ResourceSettings*, Model>, std::optional<ResourceName>> names_;
};

/// `function`: itself, or of whom it is a part; null: that is not known.
LeftOut unmatched(const Settings& settings, const PciDevice* function, const Learnt& learnt) {
  const auto wanted = [&settings](SelectorKey key) {
    return std::ranges::any_of(settings.resources, [key](const auto& entry) {
      return entry.select.values().contains(key);
    });
  };
  std::string why = "no entry of resources selects it";
  if (learnt.product.empty() && wanted(SelectorKey::kProduct)) {
    why += "; pci.ids has no name for its model, so product cannot";
  }
  if ((function == nullptr || function->slot.empty()) && wanted(SelectorKey::kSlot)) {
    why += "; the kernel names no slot for it, so slot cannot";
  }
  if (learnt.serial == "" && wanted(SelectorKey::kSerial)) {
    why += "; the card tells no serial number, so serial cannot";
  }
  return {"unmatched", why};
}

/// The name is that of an entry's further devices, where tickets alone are counted.
bool isOfMore(const Settings& settings, const ResourceName& name) {
  return std::ranges::any_of(settings.resources, [&name](const ResourceSettings& entry) {
    return entry.allocation.more && entry.allocation.more->name == name;
  });
}

/// Puts the unit into the resource. Returns why it is not there.
std::optional<LeftOut> enter(const Settings& settings, const UnitId& id,
                             const ResourceSettings& entry, const std::optional<ResourceName>& name,
                             ResourceCatalog& catalog) {
  if (!name) return LeftOut{"bad-name", "its resource's name is not one that a kubelet takes"};
  if (isOfMore(settings, *name)) {
    return LeftOut{"two-settings",
                   name->str() + " is the name of another entry's more: name one of them"};
  }
  ResourceDevices& resource =
      catalog.resources.try_emplace(*name, ResourceDevices{entry.allocation, {}, {}}).first->second;
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
                             const MediatedDevice& device, const Learnt& learnt,
                             ResourceCatalog& catalog) {
  for (const ResourceSettings& entry : settings.resources) {
    if (!entry.sets.empty() || !matches(entry.select, snapshot, device, learnt)) continue;
    const auto name = entry.name ? entry.name : nameOfType(settings, device.typeForPeople());
    return enter(settings, device.uuid, entry, name, catalog);
  }
  return unmatched(settings, parentOf(snapshot, device), learnt);
}

/// Puts `device` where it belongs. Returns why it belongs nowhere.
std::optional<LeftOut> place(const Settings& settings, const Snapshot& snapshot,
                             const PciDevice& device, const Learnt& learnt, Names& names,
                             ResourceCatalog& catalog) {
  const ResourceSettings* entry = firstMatch(settings, device, learnt);
  if (entry == nullptr) {
    return device.vgpuType == 0 ? asJudged(snapshot, device) : unmatched(settings, &device, learnt);
  }
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

/// The variables of KubeVirt's that somebody sets: by tickets of that name, or by devices (null).
using Variables = std::map<std::string, std::optional<ResourceName>>;

Variables variablesOf(const ResourceCatalog& catalog) {
  Variables variables;
  for (const auto& [name, resource] : catalog.resources) {
    variables.emplace(kubevirtVariable(name, DeviceKind::kFunction), std::nullopt);
    const auto& more = resource.allocation.more;
    if (more) variables.emplace(kubevirtVariable(more->name, DeviceKind::kFunction), std::nullopt);
  }
  return variables;
}

/// What keeps the card's answer from naming the companion; empty: nothing.
std::string notAttached(const ResourceCatalog& catalog, const UnitId& card,
                        const ResourceName& name, Variables& variables) {
  const auto resource = resourceOf(catalog, card);
  if (!resource) return ", which is in no resource: it is not attached";
  if (!mayAttach(catalog.resources.at(*resource).allocation)) {
    return "; it is not attached: the entry of " + resource->str() + " has to have " +
           std::string(kAttachNeeds);
  }
  const auto [owner, fresh] =
      variables.try_emplace(kubevirtVariable(name, DeviceKind::kFunction), name);
  if (fresh || owner->second == name) return "";
  return "; it is not attached: " + owner->first +
         " is the variable of another resource, too: give the companions a name of their own";
}

/// Makes the tickets, once it is known where all cards went.
void attachCompanions(const Settings& settings, const Snapshot& snapshot, const Cards& cards,
                      Names& names, ResourceCatalog& catalog) {
  Variables variables = variablesOf(catalog);
  for (auto& [address, why] : catalog.leftOut) {
    const Bdf* function = address.address();
    if (why.reason != "companion" || function == nullptr) continue;
    const PciDevice& device = snapshot.devices.at(*function);
    const ResourceSettings* entry = firstMatch(settings, device, names.learntOf(&device));
    const auto card = cards.of(device);
    const bool wanted = entry != nullptr && entry->allocation.companions == Companions::kAttach;
    if (!wanted || !card) continue;
    const auto& name = names.of(*entry, {*device.vendor, *device.device});
    if (!name) {
      why = travelling(*card, "; it is not attached: its name is not one that a kubelet takes");
      continue;
    }
    const std::string trouble = notAttached(catalog, *card, *name, variables);
    if (trouble.empty()) catalog.tickets.emplace(address, Ticket{*name, *card});
    why =
        travelling(*card, trouble.empty() ? ", whose answer names it as " + name->str() : trouble);
  }
}

/// The entries of sets, which take what others do not exclude. A unit that nothing else selects is
/// in its sets alone, and so is one of `elsewhere`, as long as nobody knows whether something does.
void addSets(const Settings& settings, const std::set<UnitId>& elsewhere,
             ResourceCatalog& catalog) {
  for (const ResourceSettings& entry : settings.resources) {
    if (entry.sets.empty() || !entry.name) continue;
    ResourceDevices resource{entry.allocation, {}, {}};
    for (const DeviceSet& set : entry.sets) resource.sets.emplace(setId(set.name), set.units);
    const std::set<UnitId> units = unitsOf(entry.sets);
    resource.devices.assign(units.begin(), units.end());
    catalog.resources.insert_or_assign(*entry.name, std::move(resource));
    for (const UnitId& unit : units) {
      const auto why = catalog.leftOut.find(unit);
      const bool only = why != catalog.leftOut.end() &&
                        (isOnlyUnselected(why->second) || elsewhere.contains(unit));
      if (only) catalog.leftOut.erase(why);
      catalog.tickets.erase(unit);
    }
  }
}

}  // namespace

bool isOnlyUnselected(const LeftOut& why) {
  return why.reason == "unmatched" || why.reason == "companion" || why.reason == kUnitSizeReason;
}

bool servedByPlugin(const ResourceCatalog& catalog, const ResourceName& resource) {
  const auto found = catalog.resources.find(resource);
  return found != catalog.resources.end() && servesPlugin(found->second.allocation);
}

bool servedByDra(const ResourceCatalog& catalog, const ResourceName& resource) {
  const auto found = catalog.resources.find(resource);
  return found != catalog.resources.end() && servesDra(found->second.allocation);
}

const ResourceName* resourceWithMore(const ResourceCatalog& catalog, const ResourceName& name) {
  for (const auto& [resource, devices] : catalog.resources) {
    if (devices.allocation.more && devices.allocation.more->name == name) return &resource;
  }
  return nullptr;
}

std::set<ResourceName> ticketResources(const ResourceCatalog& catalog) {
  std::set<ResourceName> names;
  for (const auto& [companion, ticket] : catalog.tickets) names.insert(ticket.resource);
  for (const auto& [resource, devices] : catalog.resources) {
    if (devices.allocation.more) names.insert(devices.allocation.more->name);
  }
  return names;
}

bool hasTickets(const ResourceCatalog& catalog, const ResourceName& resource) {
  return resourceWithMore(catalog, resource) != nullptr ||
         std::ranges::any_of(catalog.tickets, [&resource](const auto& entry) {
           return entry.second.resource == resource;
         });
}

bool configures(const ResourceCatalog& catalog, const ResourceName& resource) {
  return catalog.resources.contains(resource) || hasTickets(catalog, resource);
}

std::optional<ResourceName> resourceOf(const ResourceCatalog& catalog, const UnitId& address) {
  std::optional<ResourceName> inSet;
  for (const auto& [name, resource] : catalog.resources) {
    if (!std::ranges::binary_search(resource.devices, address)) continue;
    if (resource.sets.empty()) return name;
    if (!inSet) inSet = name;
  }
  return inSet;
}

bool hasDevice(const ResourceCatalog& catalog, const ResourceName& resource, const UnitId& id) {
  const auto found = catalog.resources.find(resource);
  return found != catalog.resources.end() && std::ranges::binary_search(found->second.devices, id);
}

bool isInSet(const ResourceCatalog& catalog, const ResourceName& resource, const std::string& set,
             const UnitId& id) {
  const auto found = catalog.resources.find(resource);
  if (found == catalog.resources.end()) return false;
  const auto units = found->second.sets.find(set);
  return units != found->second.sets.end() && units->second.contains(id);
}

bool hasSets(const ResourceCatalog& catalog, const ResourceName& resource) {
  const auto found = catalog.resources.find(resource);
  return found != catalog.resources.end() && !found->second.sets.empty();
}

bool inAnySet(const ResourceCatalog& catalog, const std::set<UnitId>& units) {
  return std::ranges::any_of(catalog.resources, [&units](const auto& entry) {
    const ResourceDevices& resource = entry.second;
    return !resource.sets.empty() && std::ranges::any_of(units, [&resource](const UnitId& unit) {
      return std::ranges::binary_search(resource.devices, unit);
    });
  });
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
                                  const ModelNames& models, const SerialNumbers& serials) {
  const Cards cards(snapshot);
  Names names(settings, models, serials);
  ResourceCatalog catalog;
  std::set<UnitId> elsewhere;
  const auto unknown = [&](const UnitId& unit, const Bdf& card, std::optional<Undecided> open) {
    if (!open) return std::optional<LeftOut>();
    catalog.unknownSerials.insert(card);
    if (!open->mayBeExcluded) elsewhere.insert(unit);
    return std::optional(std::move(open->why));
  };
  for (const auto& [address, device] : snapshot.devices) {
    auto reason = notOffered(snapshot, device);
    const Learnt learnt = names.learntOf(&device);
    if (!reason) reason = excluded(settings, device, learnt);
    if (!reason) reason = unknown(address, address, undecided(settings, device, learnt));
    if (!reason) reason = companion(settings, cards, device, learnt);
    if (!reason) reason = place(settings, snapshot, device, learnt, names, catalog);
    if (reason) catalog.leftOut.emplace(address, *reason);
  }
  for (const auto& [uuid, device] : snapshot.mediated) {  // after all addresses, as their ids are
    const PciDevice* parent = parentOf(snapshot, device);
    const Learnt learnt = names.learntOf(parent);
    auto reason = excluded(settings, snapshot, device, learnt);
    if (!reason && parent != nullptr) {
      reason = unknown(uuid, parent->address, undecided(settings, snapshot, device, learnt));
    }
    if (!reason) reason = place(settings, snapshot, device, learnt, catalog);
    if (reason) catalog.leftOut.emplace(uuid, *reason);
  }
  leaveOutOtherSizes(snapshot, catalog);
  attachCompanions(settings, snapshot, cards, names, catalog);
  addSets(settings, elsewhere, catalog);
  return catalog;
}

}  // namespace vfiogate
