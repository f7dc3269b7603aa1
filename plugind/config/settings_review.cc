#include "plugind/config/settings_review.h"

#include <algorithm>
#include <set>

#include "ipc/base/hex.h"
#include "ipc/base/kube_names.h"
#include "plugind/core/refusal.h"
#include "plugind/core/resource/allocation_response.h"
#include "plugind/core/resource/resource_catalog.h"

namespace vfiogate {
namespace {

constexpr std::string_view kDefaultPrefix = "vfiogate.dev";

std::string entryPath(std::size_t index) {
  return "resources[" + std::to_string(index) + "]";
}

bool valuesMeet(SelectorKey key, const std::string& left, const std::string& right) {
  if (key == SelectorKey::kClass) return left.starts_with(right) || right.starts_with(left);
  const bool patterned = key == SelectorKey::kAddress || key == SelectorKey::kMdev ||
                         key == SelectorKey::kVgpu || key == SelectorKey::kProduct ||
                         key == SelectorKey::kSlot;
  if (!patterned) return left == right;
  const bool patterns = left.find('*') != std::string::npos && right.find('*') != std::string::npos;
  return patterns || matchesPattern(left, right) || matchesPattern(right, left);
}

/// True if every device that matches `inner` matches `outer`; may miss it, never makes it up.
bool contains(const Selector& outer, const Selector& inner) {
  return std::ranges::all_of(outer.values(), [&inner](const auto& wanted) {
    const auto narrower = inner.values().find(wanted.first);
    if (narrower == inner.values().end()) return false;
    return std::ranges::all_of(narrower->second, [&wanted](const std::string& value) {
      return std::ranges::any_of(wanted.second, [&](const std::string& wide) {
        if (wanted.first == SelectorKey::kClass) return value.starts_with(wide);
        return value == wide;
      });
    });
  });
}

void reviewNames(const Settings& settings, Findings& findings) {
  std::map<ResourceName, std::size_t> owners;
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const auto& name = settings.resources[i].name;
    if (!name) continue;
    const auto [owner, fresh] = owners.emplace(*name, i);
    if (!fresh) {
      findings.refuse(entryPath(i) + ".name", name->str() + " is already the name of " +
                                                  entryPath(owner->second) +
                                                  "; join their selectors or rename one");
    }
  }
  for (const auto& [model, name] : settings.aliases) {
    const auto owner = owners.find(name);
    if (owner == owners.end()) continue;
    findings.refuse("aliases", name.str() + " is already the name of " + entryPath(owner->second) +
                                   "; rename one of them");
  }
}

/// The variables that tell a container which devices of the resource it has.
std::set<std::string> variablesOf(const ResourceSettings& entry, const ResourceName& name) {
  std::set<std::string> variables;
  if (!servesPlugin(entry.allocation)) return variables;
  const bool mediated = selectsMediated(entry.select);
  const DeviceKind kind = mediated ? DeviceKind::kMediated : DeviceKind::kFunction;
  if (entry.allocation.kubevirtVariable) variables.insert(kubevirtVariable(name, kind));
  if (entry.allocation.sriovVariable && !mediated) variables.insert(sriovVariable(name));
  return variables;
}

/// Of two resources that give one variable, a container that asks for both learns of one alone.
void reviewVariables(const Settings& settings, Findings& findings) {
  std::map<std::string, ResourceName> givers;
  const auto review = [&](const ResourceSettings& entry, const ResourceName& name,
                          const std::string& path) {
    for (const std::string& variable : variablesOf(entry, name)) {
      const auto giver = givers.emplace(variable, name).first;
      if (giver->second == name) continue;
      findings.refuse(path, name.str() + " gives containers the same variable as " +
                                giver->second.str() + ", " + variable +
                                "; rename one, or set env: [none] where nothing reads it");
      return;
    }
  };
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const ResourceSettings& entry = settings.resources[i];
    if (entry.name) review(entry, *entry.name, entryPath(i) + ".name");
  }
  const auto unnamed = std::ranges::find_if(
      settings.resources, [](const ResourceSettings& entry) { return !entry.name; });
  if (unnamed == settings.resources.end()) return;
  for (const auto& [model, name] : settings.aliases) review(*unnamed, name, "aliases");
}

void reviewSelectors(const Settings& settings, Findings& findings) {
  const auto& entries = settings.resources;
  for (std::size_t later = 1; later < entries.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      if (!entries[earlier].sets.empty() || !entries[later].sets.empty()) continue;
      if (!mayOverlap(entries[earlier].select, entries[later].select)) continue;
      const std::string path = entryPath(later) + ".select";
      if (contains(entries[earlier].select, entries[later].select)) {
        findings.warn(
            path, "never matches: " + entryPath(earlier) + " comes first and selects all of it");
      } else {
        findings.hint(path, "may overlap " + entryPath(earlier) +
                                ", which comes first and gets what both select");
      }
    }
  }
}

void reviewPrefixes(const Settings& settings, Findings& findings) {
  std::set<std::string> foreign{settings.resourcePrefix};
  for (const ResourceSettings& entry : settings.resources) {
    if (entry.name) foreign.emplace(entry.name->prefix());
    if (entry.allocation.more) foreign.emplace(entry.allocation.more->name.prefix());
  }
  for (const auto& [model, name] : settings.aliases) foreign.emplace(name.prefix());
  foreign.erase(std::string(kDefaultPrefix));
  for (const std::string& prefix : foreign) {
    findings.hint("", "privd serves " + prefix + " only with --resource-prefix " + prefix + "/");
  }
}

void reviewBinding(const Settings& settings, Findings& findings) {
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const AllocationSettings& allocation = settings.resources[i].allocation;
    if (allocation.returnToOriginal && !allocation.onAllocate) {
      findings.warn(
          entryPath(i) + ".returnTo",
          "no effect without bind: on-allocate: only what was bound for an allocation goes back");
    }
  }
  if (bindsAny(settings)) {
    findings.hint("", "privd binds for an allocation only with bind among its --plugind-rights");
  }
}

/// What makes no sense of mediated devices and vGPUs: they are made, and never bound.
void reviewMediated(const Settings& settings, Findings& findings) {
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const ResourceSettings& entry = settings.resources[i];
    if (selectsVgpus(entry.select) && entry.allocation.onAllocate) {
      findings.refuse(entryPath(i) + ".bind",
                      "vGPUs are never bound: leave bind out of an entry with vgpu");
    }
    if (selectsVgpus(entry.select) && selectsMediated(entry.select)) {
      findings.refuse(entryPath(i) + ".select",
                      "never matches: mdev is of mediated devices, vgpu of virtual functions");
    }
    if (!selectsMediated(entry.select)) continue;
    if (entry.allocation.onAllocate) {
      findings.refuse(entryPath(i) + ".bind",
                      "mediated devices are never bound: leave bind out of an entry with mdev");
    }
    const auto drivers = entry.select.values().find(SelectorKey::kDriver);
    if (drivers == entry.select.values().end()) continue;
    if (std::ranges::all_of(drivers->second, [](const auto& name) { return name == "vfio-pci"; })) {
      findings.refuse(entryPath(i) + ".select.driver",
                      "never matches: beside mdev it is the parent's driver, which is one of the "
                      "host's, such as nvidia");
    }
  }
}

using Ids = std::vector<std::string>;

constexpr const char* kWhatWouldDo =
    "a letter and more after the '/' (and in the domain), and no dot after it";

const Ids* idsOf(const Selector& select, SelectorKey key) {
  const auto found = select.values().find(key);
  return found == select.values().end() ? nullptr : &found->second;
}

std::uint16_t numberOf(const std::string& id) {
  return static_cast<std::uint16_t>(parseHexDigits(id, 4).value_or(0));
}

/// True if the entry may select the model.
bool maySelect(const Selector& select, const Model& model) {
  const auto has = [](const Ids* ids, std::uint16_t number) {
    return ids == nullptr || std::ranges::find(*ids, hexDigits(number, 4)) != ids->end();
  };
  return has(idsOf(select, SelectorKey::kVendor), model.vendor) &&
         has(idsOf(select, SelectorKey::kDevice), model.device);
}

/// The names that the entry is known to make, with the ids alone where they are all that is known:
/// which digits follow decides nothing.
std::set<ResourceName> knownNames(const Settings& settings, const Selector& select) {
  std::set<ResourceName> names;
  const Ids* devices = idsOf(select, SelectorKey::kDevice);
  const Ids* vendors = idsOf(select, SelectorKey::kVendor);
  const Ids any{"0000"};
  const bool prefixed = settings.naming == Naming::kPciVendorDevice;
  const ModelNames models;
  if (vendors == nullptr && prefixed) vendors = &any;
  // What pci.ids says is known at the start only.
  if (settings.naming == Naming::kPciIds) vendors = nullptr;
  for (const std::string& vendor : vendors != nullptr ? *vendors : Ids()) {
    for (const std::string& device : devices != nullptr ? *devices : any) {
      const auto name = nameOfModel(settings, {numberOf(vendor), numberOf(device)}, models);
      if (name) names.insert(*name);
    }
  }
  for (const auto& [model, name] : settings.aliases) {
    if (maySelect(select, model)) names.insert(name);
  }
  return names;
}

void reviewMade(const Settings& settings, const ResourceSettings& entry, const std::string& path,
                Findings& findings) {
  for (const ResourceName& name : knownNames(settings, entry.select)) {
    if (isCdiKind(name)) continue;
    findings.refuse(path, "makes " + name.str() + ", which is no CDI kind: wanted is " +
                              kWhatWouldDo +
                              "; give the entry a `name`, or set naming: pci_vendor_device");
  }
  if (settings.naming == Naming::kPciIds) {
    findings.warn(
        path,
        "a name that begins with a digit is no CDI kind, and its devices are not offered: "
        "a model's that pci.ids does not know, and some that it does; give the entry a "
        "`name`, the models aliases, or set naming: pci_vendor_device");
    return;
  }
  const bool known = idsOf(entry.select, SelectorKey::kVendor) != nullptr;
  if (known || settings.naming == Naming::kPciVendorDevice) return;
  findings.warn(path,
                "names made of ids that begin with a digit are no CDI kinds, and their devices are "
                "not offered; give the entry a `name`, or set naming: pci_vendor_device");
}

void reviewKata(const AllocationSettings& allocation, const std::string& path, Findings& findings) {
  if (!allocation.kata || allocation.backend != Backend::kBoth) return;
  findings.refuse(path + ".backend",
                  "both hands each device over twice, and Kata, which kata: true is for, takes it "
                  "once: auto, legacy or iommufd");
}

/// Nothing of it passes silently, and nothing that root writes names such a node.
void reviewNoIommu(const AllocationSettings& allocation, const std::string& path,
                   Findings& findings) {
  if (allocation.backend != Backend::kNoIommu) return;
  const std::string way = path + ".backend";
  findings.warn(
      way,
      "noiommu isolates nothing: whoever has such a device reads and writes all memory of "
      "the node by DMA, so give it to none but those who may be root there");
  if (servesDra(allocation) || needsSpec(allocation)) {
    findings.refuse(way,
                    "noiommu goes with serve: plugin, inject: nodes and kata: false: no CDI spec "
                    "names a group without an IOMMU");
  }
  if (allocation.onAllocate) {
    findings.refuse(way,
                    "noiommu goes with bind: never: privd binds nothing without an IOMMU group, "
                    "so write the device's driver_override and bind it by hand");
  }
}

/// Keys that say how the device plugin hands a device over.
void reviewUnused(const AllocationSettings& allocation, const std::string& path,
                  Findings& findings) {
  if (allocation.serve != Serve::kDra) return;
  const std::string noEffect = "no effect with serve: dra: a claim has a CDI spec of its own";
  if (allocation.injectCdi) findings.warn(path + ".inject", noEffect);
  if (allocation.kata) findings.warn(path + ".kata", noEffect);
  if (allocation.besideNic) {
    findings.warn(path + ".alignWith",
                  "no effect with serve: dra: claims align by a constraint on "
                  "resource.kubernetes.io/pcieRoot");
  }
}

}  // namespace

bool mayOverlap(const Selector& left, const Selector& right) {
  if (selectsMediated(left) != selectsMediated(right)) return false;
  return std::ranges::all_of(left.values(), [&right](const auto& wanted) {
    const auto other = right.values().find(wanted.first);
    if (other == right.values().end()) return true;
    return std::ranges::any_of(wanted.second, [&](const std::string& one) {
      return std::ranges::any_of(other->second, [&](const std::string& two) {
        return valuesMeet(wanted.first, one, two);
      });
    });
  });
}

void reviewSettings(const Settings& settings, Findings& findings) {
  const auto& entries = settings.resources;
  if (entries.empty()) {
    findings.warn("resources", "nothing is advertised until something is named under resources");
  }
  if (entries.size() > kMostResources) {
    findings.refuse("resources", "found " + std::to_string(entries.size()) + " entries; at most " +
                                     std::to_string(kMostResources));
    return;
  }
  reviewNames(settings, findings);
  reviewVariables(settings, findings);
  reviewSelectors(settings, findings);
  reviewPrefixes(settings, findings);
  reviewCdiKinds(settings, findings);
  reviewBinding(settings, findings);
  reviewMediated(settings, findings);
  reviewDra(settings, findings);
  reviewCompanions(settings, findings);
  reviewSets(settings, findings);
  reviewMore(settings, findings);
  reviewIommufdSockets(settings, findings);
  const bool unnamed = std::ranges::any_of(entries, [](const auto& entry) { return !entry.name; });
  if (!settings.aliases.empty() && !unnamed) {
    findings.warn("aliases", "no effect: they name the devices of entries without a name");
  }
}

void reviewCdiKinds(const Settings& settings, Findings& findings) {
  if (std::ranges::any_of(settings.resources, [](const ResourceSettings& entry) {
        return needsSpec(entry.allocation);
      })) {
    findings.hint("", "privd writes CDI specs only with cdi among its --plugind-rights");
  }
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const ResourceSettings& entry = settings.resources[i];
    if (!needsSpec(entry.allocation)) continue;
    const std::string path = entryPath(i);
    if (!entry.name && (selectsMediated(entry.select) || selectsVgpus(entry.select))) {
      findings.warn(path + (entry.allocation.injectCdi ? ".inject" : ".kata"),
                    "names made of types with a dot are no CDI kinds, and their devices are not "
                    "offered; give the entry a `name`");
    } else if (!entry.name) {
      reviewMade(settings, entry, path + (entry.allocation.injectCdi ? ".inject" : ".kata"),
                 findings);
    } else if (!isCdiKind(*entry.name)) {
      findings.refuse(path + ".name", entry.name->str() +
                                          " is no CDI kind, which inject: cdi and "
                                          "kata: true need: wanted is " +
                                          kWhatWouldDo + ", such as " +
                                          std::string(entry.name->prefix()) + "/gpu");
    }
  }
}

void reviewDra(const Settings& settings, Findings& findings) {
  const bool named = !settings.dra.driver.empty();
  bool served = false;
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const AllocationSettings& allocation = settings.resources[i].allocation;
    const std::string path = entryPath(i);
    if (servesDra(allocation) && !named) {
      findings.refuse(path + ".serve",
                      "nobody serves it through DRA: set dra.driver, such as vfio.vfiogate.dev, or "
                      "serve: plugin");
    }
    served = served || servesDra(allocation);
    reviewKata(allocation, path, findings);
    reviewNoIommu(allocation, path, findings);
    reviewUnused(allocation, path, findings);
  }
  if (named && !served) {
    findings.warn("dra.driver", "no effect: no resource says serve: dra or serve: both");
  }
  if (named && served) {
    findings.hint("", "privd serves DRA only with --dra-driver " + settings.dra.driver +
                          ", and with cdi among its --plugind-rights");
  }
  if (!named && settings.dra.metadataFiles) {
    findings.warn("dra.metadataFiles", "no effect without dra.driver");
  }
}

std::optional<std::string> refuseReload(const Settings& inEffect, const Settings& posted,
                                        bool productsRead) {
  if (inEffect.dra.driver != posted.dra.driver) {
    const auto told = [](const std::string& driver) {
      return driver.empty() ? std::string("none") : quoteForeign(driver);
    };
    return "dra.driver is " + told(inEffect.dra.driver) + " and would be " +
           told(posted.dra.driver) + ": restart plugind for that";
  }
  if (wantsProducts(posted) && !productsRead) {
    return "it names or selects devices by pci.ids, which is read at the start: restart plugind "
           "for that";
  }
  return std::nullopt;
}

}  // namespace vfiogate
