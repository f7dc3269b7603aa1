#pragma once
// Builds snapshots of made-up hardware, a line per device.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ipc/types/snapshot.h"

namespace vfiogate::test {

inline Bdf at(std::string_view address) {
  return *Bdf::parse(address);
}

/// Hardware under construction: every device endpoint, on vfio-pci, in an idle group with a node,
/// until a test says otherwise. Groups follow their devices.
class Hardware {
public:
  Hardware() {
    snapshot_.controlNode = true;
    snapshot_.iommufdNode = true;
    snapshot_.vfioPci = true;
  }

  /// Adds 10de:2684, a display controller, at `address` in `group`; what it returns may be changed.
  PciDevice& add(std::string_view address, std::uint32_t group) {
    remove(address);
    PciDevice device{.address = at(address)};
    device.vendor = std::uint16_t{0x10de};
    device.device = std::uint16_t{0x2684};
    device.classCode = 0x030000;
    device.headerType = std::uint8_t{0};
    device.driver = "vfio-pci";
    device.vfioDev = static_cast<std::uint32_t>(snapshot_.devices.size());
    device.cdevNode = true;
    device.pcieRoot = "pci0000:00";
    snapshot_.devices.insert_or_assign(at(address), device);
    regroup(address, group);
    return snapshot_.devices.at(at(address));
  }

  /// Moves a device into another group, as a replug may.
  void regroup(std::string_view address, std::uint32_t group) {
    leaveGroup(at(address));
    const IommuGroupId id(group);
    snapshot_.devices.at(at(address)).group = id;
    IommuGroup fresh{.id = id, .type = "DMA", .noIommu = false, .groupNode = true};
    fresh.use = GroupUse::kIdle;
    auto& members = snapshot_.groups.try_emplace(id, fresh).first->second.members;
    members.push_back(at(address));
    std::ranges::sort(members);
  }

  void remove(std::string_view address) {
    leaveGroup(at(address));
    snapshot_.devices.erase(at(address));
  }

  PciDevice& device(std::string_view address) { return snapshot_.devices.at(at(address)); }
  IommuGroup& group(std::uint32_t number) { return snapshot_.groups.at(IommuGroupId(number)); }
  Snapshot& snapshot() { return snapshot_; }
  const Snapshot& snapshot() const { return snapshot_; }

  /// What a reread of one group shows: it and its members only.
  Snapshot reread(IommuGroupId id) const {
    Snapshot seen;
    const IommuGroup& group = snapshot_.groups.at(id);
    seen.groups.emplace(id, group);
    for (const Bdf& member : group.members) {
      seen.devices.emplace(member, snapshot_.devices.at(member));
    }
    return seen;
  }

private:
  void leaveGroup(const Bdf& address) {
    const auto device = snapshot_.devices.find(address);
    if (device == snapshot_.devices.end() || !device->second.group) return;
    IommuGroup& group = snapshot_.groups.at(*device->second.group);
    std::erase(group.members, address);
    if (group.members.empty()) snapshot_.groups.erase(group.id);
    device->second.group.reset();
  }

  Snapshot snapshot_;
};

}  // namespace vfiogate::test
