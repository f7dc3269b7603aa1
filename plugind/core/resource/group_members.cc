#include "plugind/core/resource/group_members.h"

#include <algorithm>

namespace vfiogate {

std::set<Bdf> groupMembers(const Snapshot& snapshot, const Bdf& address) {
  std::set<Bdf> members{address};
  const auto device = snapshot.devices.find(address);
  if (device == snapshot.devices.end() || !device->second.group) return members;
  const auto group = snapshot.groups.find(*device->second.group);
  if (group == snapshot.groups.end()) return members;
  members.insert(group->second.members.begin(), group->second.members.end());
  return members;
}

bool meet(const std::set<Bdf>& left, const std::set<Bdf>& right) {
  return std::ranges::any_of(left, [&right](const Bdf& one) { return right.contains(one); });
}

}  // namespace vfiogate
