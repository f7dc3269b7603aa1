#pragma once
// Settings with entries, and where a catalogue puts a device.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugind/core/resource/resource_catalog.h"
#include "tests/support/hardware.h"

namespace vfiogate::test {

inline ResourceSettings entry(std::string_view select, std::string_view name = "") {
  ResourceSettings settings;
  settings.select = *Selector::parse(select);
  settings.name = ResourceName::parse(name);
  return settings;
}

/// Settings with the entries given.
inline Settings offering(std::vector<ResourceSettings> entries) {
  Settings settings;
  settings.resources = std::move(entries);
  return settings;
}

/// Where a device went: its resource, or "-" and the reason.
inline std::string placeOf(const ResourceCatalog& catalog, std::string_view address) {
  std::string place;
  for (const auto& [name, resource] : catalog.resources) {
    for (const UnitId& device : resource.devices) {
      if (device == at(address)) place += name.str();
    }
  }
  const auto left = catalog.leftOut.find(at(address));
  return left == catalog.leftOut.end() ? place : place + "-" + left->second.reason;
}

}  // namespace vfiogate::test
