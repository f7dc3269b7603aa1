#include "ipc/types/units.h"
#include "privd/scan/device_attributes.h"
#include "privd/scan/pci_scan.h"

#include "ipc/base/hex.h"

#include <utility>

namespace vfiogate {
namespace {

/// Of one node: parents take some dozens each. More would not fit into what plugind is told.
constexpr std::size_t kMostOfNode = 1024;

/// Its directory is below its parent's: the last part but one of where it is.
std::optional<Bdf> parentOf(const SysfsRoot& sysfs, const std::string& directory) {
  const auto place = sysfs.link(directory);
  if (!place) return std::nullopt;
  const std::string above = place->substr(0, place->rfind('/'));
  const auto parent = Bdf::parse(above.substr(above.rfind('/') + 1));
  return parent ? std::optional(*parent) : std::nullopt;
}

/// What is read of mediated devices at one time.
class MediatedReread {
public:
  MediatedReread(const SysfsRoot& sysfs, const DevRoot& dev, Snapshot& seen)
      : sysfs_(sysfs), dev_(dev), seen_(seen) {}

  /// The groups that it had and has go into `groups`.
  void read(const Uuid& uuid, std::set<IommuGroupId>& groups) {
    const auto before = seen_.mediated.find(uuid);
    auto now = readMediated(sysfs_, dev_, uuid);
    const bool was = before != seen_.mediated.end();
    if (was && before->second.group) groups.insert(*before->second.group);
    if (now && now->group) groups.insert(*now->group);
    if (was == now.has_value() && (!was || before->second == *now)) return;
    changed_ = true;
    if (!now) {
      seen_.mediated.erase(before);
    } else if (was || seen_.mediated.size() < kMostOfNode) {
      seen_.mediated.insert_or_assign(uuid, *std::move(now));
    }
  }

  bool changed() const { return changed_; }

private:
  const SysfsRoot& sysfs_;
  const DevRoot& dev_;
  Snapshot& seen_;
  bool changed_ = false;
};

}  // namespace

std::set<Uuid> mediatedIn(const SysfsRoot& sysfs) {
  std::set<Uuid> all;
  const auto names = sysfs.names(kMediatedDevices);
  if (!names) return all;
  for (const std::string& name : *names) {
    const auto uuid = Uuid::parse(name);
    if (uuid && all.size() < kMostOfNode) all.insert(*uuid);
  }
  return all;
}

std::optional<MediatedDevice> readMediated(const SysfsRoot& sysfs, const DevRoot& dev,
                                           const Uuid& uuid) {
  const std::string directory = std::string(kMediatedDevices) + "/" + uuid.str();
  if (!sysfs.exists(directory)) return std::nullopt;
  DeviceAttributes from(sysfs, directory);
  MediatedDevice device{.uuid = uuid,
                        .type = from.linkName("mdev_type"),
                        .typeName = from.text("mdev_type/name", DeviceAttributes::Need::kOptional),
                        .parent = parentOf(sysfs, directory),
                        .numaNode = std::nullopt,
                        .driver = from.linkName("driver"),
                        .group = std::nullopt};
  if (device.parent) {
    DeviceAttributes parent(sysfs, std::string(kPciDevices) + "/" + device.parent->str());
    device.numaNode = parent.decimalOrMinusOne("numa_node");
  }
  if (const auto number = parseDecimal(from.linkName("iommu_group"))) {
    device.group = IommuGroupId(*number);
  }
  const VfioDev vfio = readVfioDev(from, dev);
  device.vfioDev = vfio.number;
  device.cdevNode = vfio.node;
  device.problems = from.takeProblems();
  // One that vanished half-way looks like a broken one, but its directory is gone.
  if (!sysfs.exists(directory)) return std::nullopt;
  return device;
}

bool rereadUnits(const SysfsRoot& sysfs, const DevRoot& dev, const Places& where, Snapshot& seen,
                 const SlotNames& slots) {
  MediatedReread mediated(sysfs, dev, seen);
  Places places = where;
  for (const Uuid& uuid : where.mediated) mediated.read(uuid, places.groups);
  bool changed = reread(sysfs, dev, places, seen, slots);
  changed |= nameVgpus(sysfs, places, seen);
  // A group may have got one of which no event told yet.
  std::set<Uuid> more;
  for (const IommuGroupId id : places.groups) {
    const auto group = seen.groups.find(id);
    if (group == seen.groups.end()) continue;
    for (const Uuid& uuid : group->second.mediated) {
      if (!where.mediated.contains(uuid)) more.insert(uuid);
    }
  }
  std::set<IommuGroupId> read;
  for (const Uuid& uuid : more) mediated.read(uuid, read);
  const auto egm = std::exchange(seen.egm, readEgm(sysfs, dev));
  return mediated.changed() || changed || egm != seen.egm;
}

Result<Snapshot, ReadError> scanUnits(const SysfsRoot& sysfs, const DevRoot& dev) {
  auto places = placesOf(sysfs);
  if (!places) return Failure{places.error()};
  Places everything = *std::move(places);
  everything.mediated = mediatedIn(sysfs);
  Snapshot snapshot;
  rereadUnits(sysfs, dev, everything, snapshot, readSlots(sysfs));
  return snapshot;
}

Snapshot scanGroup(const SysfsRoot& sysfs, const DevRoot& dev, IommuGroupId id) {
  Snapshot snapshot;
  rereadUnits(sysfs, dev, {.devices = {}, .groups = {id}}, snapshot);
  return snapshot;
}

}  // namespace vfiogate
