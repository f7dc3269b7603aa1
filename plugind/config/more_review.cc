#include "plugind/config/settings_review.h"

#include <algorithm>
#include <map>
#include <string>

#include "plugind/core/resource/allocation_response.h"

namespace vfiogate {
namespace {

bool isMediated(const UnitId& unit) {
  return unit.uuid() != nullptr;
}

std::string counted(std::size_t devices) {
  return std::to_string(devices) + (devices == 1 ? " device" : " devices");
}

/// A VM names as many devices as it has entries, whichever set the kubelet chooses.
void reviewSizes(const ResourceSettings& entry, const std::string& path, Findings& findings) {
  const std::size_t wanted = entry.allocation.more->count + 1;
  for (std::size_t i = 0; i < entry.sets.size(); ++i) {
    const std::set<UnitId>& units = entry.sets[i].units;
    const std::string place = path + ".sets[" + std::to_string(i) + "].devices";
    if (!units.empty() && units.size() != wanted) {
      findings.refuse(place, "has " + counted(units.size()) +
                                 ", and with more every set of this "
                                 "resource has " +
                                 std::to_string(wanted) +
                                 ", since a VM has an entry for each: give sets of another size a "
                                 "resource of their own");
    }
    const bool mixed =
        std::ranges::any_of(units, isMediated) && !std::ranges::all_of(units, isMediated);
    if (mixed) {
      findings.refuse(place,
                      "has addresses and UUIDs, which are in two variables of KubeVirt's: with "
                      "more a set is of one kind");
    }
  }
}

void reviewEntry(const ResourceSettings& entry, const std::string& path, Findings& findings) {
  if (!mayAttach(entry.allocation)) {
    findings.refuse(path + ".more", "tells KubeVirt of each device in a variable: it needs " +
                                        std::string(kAttachNeeds));
  }
  if (!entry.sets.empty()) return reviewSizes(entry, path, findings);
  if (entry.allocation.groupUnit != GroupUnit::kWhole) {
    findings.refuse(path + ".more",
                    "is for sets and for groupUnit: whole: one device of any other resource is one "
                    "device");
  }
  if (!entry.name) {
    findings.refuse(path + ".name",
                    "a resource with more needs a name: without one it is a resource for each "
                    "model, and all of them would share " +
                        entry.allocation.more->name.str());
  }
}

/// Nothing else has the name or its variable: there are tickets alone.
class Owners {
public:
  explicit Owners(const Settings& settings) {
    for (std::size_t i = 0; i < settings.resources.size(); ++i) {
      const auto& name = settings.resources[i].name;
      if (name) add(*name, "the name of resources[" + std::to_string(i) + "]");
    }
    for (const auto& [model, name] : settings.aliases) add(name, "the name of an alias");
  }

  void claim(const ResourceName& name, const std::string& path, Findings& findings) {
    const std::string variable = kubevirtVariable(name, DeviceKind::kFunction);
    const auto [owner, fresh] = owners_.try_emplace(variable, path);
    if (fresh) return;
    findings.refuse(path, name.str() + " is, or has the variable of, " + owner->second +
                              ": it counts what goes along with one resource alone, so take "
                              "another name");
  }

private:
  void add(const ResourceName& name, const std::string& whose) {
    owners_.try_emplace(kubevirtVariable(name, DeviceKind::kFunction), whose);
  }

  std::map<std::string, std::string> owners_;  ///< by KubeVirt's variable
};

}  // namespace

void reviewMore(const Settings& settings, Findings& findings) {
  Owners owners(settings);
  std::size_t resources = settings.resources.size();
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const ResourceSettings& entry = settings.resources[i];
    if (!entry.allocation.more) continue;
    const std::string path = "resources[" + std::to_string(i) + "]";
    ++resources;
    reviewEntry(entry, path, findings);
    owners.claim(entry.allocation.more->name, path + ".more.name", findings);
  }
  if (resources > kMostResources && settings.resources.size() <= kMostResources) {
    findings.refuse("resources", "with those of more there are " + std::to_string(resources) +
                                     " resources; at most " + std::to_string(kMostResources));
  }
}

}  // namespace vfiogate
