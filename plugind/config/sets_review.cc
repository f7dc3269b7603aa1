#include "plugind/config/settings_review.h"

#include <algorithm>
#include <map>
#include <string>

namespace vfiogate {
namespace {

/// One set, with where it stands.
struct Place {
  std::size_t entry = 0;
  std::size_t set = 0;

  std::string path() const {
    return "resources[" + std::to_string(entry) + "].sets[" + std::to_string(set) + "]";
  }
};

std::vector<Place> placesOf(const Settings& settings) {
  std::vector<Place> places;
  for (std::size_t entry = 0; entry < settings.resources.size(); ++entry) {
    for (std::size_t set = 0; set < settings.resources[entry].sets.size(); ++set) {
      places.push_back({entry, set});
    }
  }
  return places;
}

const DeviceSet& setAt(const Settings& settings, const Place& place) {
  return settings.resources[place.entry].sets[place.set];
}

void reviewSetNames(const Settings& settings, const std::vector<Place>& places,
                    Findings& findings) {
  std::map<std::string, Place> owners;
  for (const Place& place : places) {
    const auto [owner, fresh] = owners.emplace(setAt(settings, place).name, place);
    if (fresh) continue;
    findings.refuse(place.path() + ".name", setAt(settings, place).name +
                                                " is already the name of " + owner->second.path() +
                                                "; rename one");
  }
}

bool includes(const DeviceSet& outer, const DeviceSet& inner) {
  return std::ranges::includes(outer.units, inner.units);
}

/// Of two sets, the later one at `place`.
void reviewPair(const Settings& settings, const Place& earlier, const Place& place,
                Findings& findings) {
  const DeviceSet& one = setAt(settings, earlier);
  const DeviceSet& other = setAt(settings, place);
  const auto shared = std::ranges::find_if(
      one.units, [&](const UnitId& unit) { return other.units.contains(unit); });
  if (shared == one.units.end()) return;
  if (earlier.entry == place.entry && (includes(one, other) || includes(other, one))) {
    findings.refuse(place.path() + ".devices",
                    "one of " + other.name + " and " + one.name +
                        " has all devices of the other, and the devices of one resource are "
                        "alike: give the larger sets a resource of their own");
    return;
  }
  for (const Place& each : {earlier, place}) {
    if (settings.resources[each.entry].setsOverlap) continue;
    findings.refuse(place.path() + ".devices",
                    shared->str() + " is in " + one.name + " (" + earlier.path() +
                        "), too: if only one of them is to be allocated at a time, write overlap: "
                        "exclude in resources[" +
                        std::to_string(each.entry) + "]");
    return;
  }
}

/// A claim's device names the counters of all groups of its set, and the API takes two sets of 32.
void reviewSize(const Settings& settings, Findings& findings) {
  std::set<UnitId> units;
  for (const ResourceSettings& entry : settings.resources) units.merge(unitsOf(entry.sets));
  if (units.size() <= kMostSetUnits) return;
  findings.refuse("resources", "the sets have " + std::to_string(units.size()) +
                                   " devices together; at most " + std::to_string(kMostSetUnits));
}

/// Keys that say how a resource's devices stand for groups, which sets do not.
void reviewKeys(const ResourceSettings& entry, const std::string& path, Findings& findings) {
  if (entry.allocation.groupUnit != GroupUnit::kOne) {
    findings.refuse(path + ".groupUnit", "a set is one device whatever its groups: leave it out");
  }
  if (entry.allocation.companions != Companions::kHide) {
    findings.refuse(path + ".companions",
                    "sets name their devices: add the companions to devices, or leave the key out");
  }
  if (entry.allocation.kata) {
    findings.refuse(path + ".kata",
                    "Kata looks devices up by their own names, and a set has none in the CDI spec: "
                    "leave it out");
  }
  if (entry.allocation.besideNic) {
    findings.refuse(path + ".alignWith",
                    "sets name their devices: put the network card into the set");
  }
}

}  // namespace

void reviewSets(const Settings& settings, Findings& findings) {
  const std::vector<Place> places = placesOf(settings);
  if (places.empty()) return;
  reviewSetNames(settings, places, findings);
  reviewSize(settings, findings);
  for (std::size_t later = 1; later < places.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      reviewPair(settings, places[earlier], places[later], findings);
    }
  }
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    if (settings.resources[i].sets.empty()) continue;
    reviewKeys(settings.resources[i], "resources[" + std::to_string(i) + "]", findings);
  }
}

}  // namespace vfiogate
