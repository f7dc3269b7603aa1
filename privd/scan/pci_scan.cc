#include "privd/scan/pci_scan.h"

#include "ipc/base/hex.h"
#include "ipc/types/vital_data.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace vfiogate {
namespace {

/// One reading: each device and each group is read at most once.
class Reread {
public:
  Reread(const SysfsRoot& sysfs, const DevRoot& dev, Snapshot& seen, const SlotNames& slots)
      : sysfs_(sysfs), dev_(dev), seen_(seen), slots_(slots) {}

  bool at(const Places& where) {
    noteNodes();
    for (const Bdf& address : where.devices) readOnce(address);
    due_.insert(where.groups.begin(), where.groups.end());
    while (!due_.empty()) readMembership(*due_.begin());
    for (const IommuGroupId id : done_) judgeGroup(id);
    return changed_;
  }

private:
  void noteNodes() {
    const bool control = dev_.hasCharacterDevice("vfio/vfio");
    const bool iommufd = dev_.hasCharacterDevice("iommu");
    changed_ |= std::exchange(seen_.controlNode, control) != control;
    changed_ |= std::exchange(seen_.iommufdNode, iommufd) != iommufd;
    const bool vfioPci = sysfs_.exists("bus/pci/drivers/vfio-pci");
    changed_ |= std::exchange(seen_.vfioPci, vfioPci) != vfioPci;
  }

  void wantGroup(const std::optional<IommuGroupId>& id) {
    if (id && !done_.contains(*id)) due_.insert(*id);
  }

  /// Puts into `known` what is there now; null: nothing is.
  template <typename Key, typename Value>
  void put(std::map<Key, Value>& known, const Key& key, std::optional<Value> now) {
    const auto before = known.find(key);
    const bool was = before != known.end();
    if (was == now.has_value() && (!was || before->second == *now)) return;
    changed_ = true;
    if (now) {
      known.insert_or_assign(key, std::move(*now));
    } else {
      known.erase(before);
    }
  }

  void readOnce(const Bdf& address) {
    if (!read_.insert(address).second) return;
    const auto known = seen_.devices.find(address);
    if (known != seen_.devices.end()) wantGroup(known->second.group);
    auto device = readDevice(sysfs_, dev_, address, slots_);
    if (device) {
      wantGroup(device->group);
    }
    if (device && known != seen_.devices.end()) {
      // Told by its group, below, and by its card.
      device->vfioGroup = known->second.vfioGroup;
      if (device->vgpuType == known->second.vgpuType)
        device->vgpuTypeName = known->second.vgpuTypeName;
    }
    put(seen_.devices, address, std::move(device));
  }

  void readMembership(IommuGroupId id) {
    due_.erase(id);
    if (!done_.insert(id).second) return;
    const auto known = seen_.groups.find(id);
    auto group = readGroup(sysfs_, dev_, id);
    std::vector<Bdf> before;
    if (known != seen_.groups.end()) before = known->second.members;
    const std::vector<Bdf> after = group ? group->members : std::vector<Bdf>();
    std::vector<Bdf> moved;
    std::ranges::set_symmetric_difference(before, after, std::back_inserter(moved));
    for (const Bdf& address : moved) readOnce(address);
    for (const Bdf& address : after) {
      if (!seen_.devices.contains(address)) readOnce(address);
    }
    if (group && known != seen_.groups.end()) group->use = known->second.use;
    put(seen_.groups, id, std::move(group));
  }

  void judgeGroup(IommuGroupId id) {
    const auto found = seen_.groups.find(id);
    if (found == seen_.groups.end()) return;
    const bool offered = offersVfioByGroup(sysfs_, seen_, found->second);
    for (const Bdf& address : found->second.members) {
      const auto member = seen_.devices.find(address);
      if (member == seen_.devices.end()) continue;
      const bool here = offered && !member->second.driver.empty() && isEndpoint(member->second);
      changed_ |= std::exchange(member->second.vfioGroup, here) != here;
    }
    const GroupUse use = useOf(seen_, found->second);
    changed_ |= std::exchange(found->second.use, use) != use;
  }

  const SysfsRoot& sysfs_;
  const DevRoot& dev_;
  Snapshot& seen_;
  const SlotNames& slots_;
  std::set<Bdf> read_;
  std::set<IommuGroupId> due_;
  std::set<IommuGroupId> done_;
  bool changed_ = false;
};

/// The names in a directory; none where it is not there.
Result<std::vector<std::string>, ReadError> namesIfAny(const SysfsRoot& sysfs, const char* path) {
  auto names = sysfs.names(path);
  if (!names && names.error().error == ENOENT) return std::vector<std::string>();
  return names;
}

std::string vitalDataOf(const Bdf& address) {
  return std::string(kPciDevices) + "/" + address.str() + "/vpd";
}

}  // namespace

void Places::add(const Places& more) {
  devices.insert(more.devices.begin(), more.devices.end());
  groups.insert(more.groups.begin(), more.groups.end());
  mediated.insert(more.mediated.begin(), more.mediated.end());
}

Result<Places, ReadError> placesOf(const SysfsRoot& sysfs) {
  const auto devices = namesIfAny(sysfs, kPciDevices);
  const auto groups = namesIfAny(sysfs, kIommuGroups);
  if (!devices) return Failure{devices.error()};
  if (!groups) return Failure{groups.error()};
  Places places;
  for (const std::string& name : *devices) {
    if (const auto address = Bdf::parse(name)) places.devices.insert(*address);
  }
  for (const std::string& name : *groups) {
    if (const auto number = parseDecimal(name)) places.groups.insert(IommuGroupId(*number));
  }
  return places;
}

Places placesOf(const Snapshot& seen) {
  Places places;
  for (const auto& [address, device] : seen.devices) places.devices.insert(address);
  for (const auto& [id, group] : seen.groups) places.groups.insert(id);
  for (const auto& [uuid, device] : seen.mediated) places.mediated.insert(uuid);
  return places;
}

bool reread(const SysfsRoot& sysfs, const DevRoot& dev, const Places& where, Snapshot& seen,
            const SlotNames& slots) {
  return Reread(sysfs, dev, seen, slots).at(where);
}

Result<Snapshot, ReadError> scan(const SysfsRoot& sysfs, const DevRoot& dev) {
  const auto places = placesOf(sysfs);
  if (!places) return Failure{places.error()};
  Snapshot snapshot;
  reread(sysfs, dev, *places, snapshot);
  return snapshot;
}

Result<kj::AutoCloseFd, ReadError> openVitalData(const SysfsRoot& sysfs, const Bdf& address) {
  return sysfs.openForReading(vitalDataOf(address));
}

Result<std::string, ReadError> readSerial(const SysfsRoot& sysfs, const Bdf& address) {
  const auto vpd = sysfs.readBytes(vitalDataOf(address), kMostVitalData);
  if (!vpd) return Failure{vpd.error()};
  return std::string(serialIn(*vpd));
}

}  // namespace vfiogate
