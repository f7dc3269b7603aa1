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

  /// Adds a mediated device with a group of its own to a parent that is there, and that is on its
  /// host driver from then on; to no PCI function where `parent` is empty.
  MediatedDevice& addMediated(std::string_view uuid, std::string_view parent, std::string type,
                              std::uint32_t group) {
    const Uuid name = *Uuid::parse(uuid);
    const IommuGroupId id(group);
    if (!parent.empty()) {
      PciDevice& whole = device(parent);
      whole.driver = "nvidia";
      whole.vfioDev.reset();
      whole.cdevNode = false;
      whole.mediated.push_back(name);
    }
    snapshot_.groups.insert_or_assign(id, IommuGroup{.id = id,
                                                     .type = "unknown",
                                                     .groupNode = true,
                                                     .use = GroupUse::kBlind,
                                                     .members = {},
                                                     .mediated = {name}});
    MediatedDevice made{.uuid = name, .type = std::move(type), .driver = "vfio_mdev", .group = id};
    if (!parent.empty()) made.parent = at(parent);
    if (!parent.empty()) made.numaNode = device(parent).numaNode;
    return snapshot_.mediated.insert_or_assign(name, std::move(made)).first->second;
  }

  void removeMediated(std::string_view uuid) {
    const auto found = snapshot_.mediated.find(*Uuid::parse(uuid));
    if (found == snapshot_.mediated.end()) return;
    std::erase(snapshot_.devices.at(*found->second.parent).mediated, found->first);
    snapshot_.groups.erase(*found->second.group);
    snapshot_.mediated.erase(found);
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
    for (const Uuid& uuid : group.mediated)
      seen.mediated.emplace(uuid, snapshot_.mediated.at(uuid));
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
