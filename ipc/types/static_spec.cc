#include "ipc/types/static_spec.h"

#include <algorithm>

namespace vfiogate {

std::set<Bdf> handedOver(const StaticSpec& spec, const Snapshot& hardware, const Bdf& address) {
  std::set<Bdf> all{address};
  const auto device = hardware.devices.find(address);
  if (!spec.wholeGroups || device == hardware.devices.end() || !device->second.group) return all;
  const auto group = hardware.groups.find(*device->second.group);
  if (group == hardware.groups.end()) return all;
  for (const Bdf& member : group->second.members) {
    if (std::ranges::binary_search(spec.devices, member)) all.insert(member);
  }
  return all;
}

}  // namespace vfiogate
