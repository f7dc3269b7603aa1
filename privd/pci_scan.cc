#include "privd/pci_scan.h"

#include "ipc/types/hex.h"
#include "privd/device_attributes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

using Need = DeviceAttributes::Need;

constexpr const char* kDevices = "bus/pci/devices";
constexpr const char* kGroups = "kernel/iommu_groups";
constexpr const char* kVfioDev = "vfio-dev";
constexpr const char* kMediatedTypes = "mdev_supported_types";
constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kHeaderTypeOffset = 0x0e;
constexpr unsigned kMultiFunctionBit = 0x80;
constexpr std::size_t kMostMediated = 256;

template <typename T>
std::optional<T> narrowed(std::optional<std::uint32_t> value) {
  if (!value) return std::nullopt;
  return static_cast<T>(*value);
}

void readIds(DeviceAttributes& from, PciDevice& device) {
  device.vendor = narrowed<std::uint16_t>(from.hex("vendor", 0xffff, Need::kRequired));
  device.device = narrowed<std::uint16_t>(from.hex("device", 0xffff, Need::kRequired));
  device.subvendor = narrowed<std::uint16_t>(from.hex("subsystem_vendor", 0xffff, Need::kOptional));
  device.subdevice = narrowed<std::uint16_t>(from.hex("subsystem_device", 0xffff, Need::kOptional));
  device.classCode = from.hex("class", 0xffffff, Need::kRequired);
  device.revision = narrowed<std::uint8_t>(from.hex("revision", 0xff, Need::kOptional));
  device.modalias = from.text("modalias");
}

void readHeader(DeviceAttributes& from, PciDevice& device) {
  const auto header = from.bytes("config", kHeaderBytes);
  if (!header) return;
  if (header->size() <= kHeaderTypeOffset) {
    from.blame("config", "malformed: shorter than a header");
    return;
  }
  const bool allOnes = std::ranges::all_of(*header, [](char c) { return c == '\xff'; });
  device.answers = !allOnes;
  if (allOnes) return;
  const auto type = static_cast<std::uint8_t>((*header)[kHeaderTypeOffset]);
  device.headerType = static_cast<std::uint8_t>(type & ~kMultiFunctionBit);
}

/// The number K of the directory vfio-dev/vfioK that a driver which offers VFIO makes.
void readVfio(DeviceAttributes& from, const DevRoot& dev, PciDevice& device) {
  const auto names = from.sysfs().names(from.pathOf(kVfioDev));
  if (!names) {
    const int error = names.error().error;
    if (error != ENOENT) from.blame(kVfioDev, std::string("unreadable: ") + strerror(error));
    return;
  }
  for (const std::string& name : *names) {
    if (!name.starts_with("vfio")) continue;
    device.vfioDev = parseDecimal(name.substr(4));
    // Kernels without cdev have the directory too, but no number of a device node in it.
    device.cdevNode = device.vfioDev &&
                      from.sysfs().exists(from.pathOf("vfio-dev/" + name + "/dev")) &&
                      dev.hasCharacterDevice("vfio/devices/" + name);
    if (device.vfioDev) return;
  }
  from.blame(kVfioDev, "malformed: no vfio and number in it");
}

void readSriov(DeviceAttributes& from, PciDevice& device) {
  const std::string physical = from.linkName("physfn");
  if (!physical.empty()) {
    device.sriov = SriovRole::kVirtualFunction;
    if (const auto address = Bdf::parse(physical)) {
      device.physicalFunction = *address;
    } else {
      from.blame("physfn", "malformed: not a PCI address");
    }
    return;
  }
  if (!from.sysfs().exists(from.pathOf("sriov_totalvfs"))) return;
  device.sriov = SriovRole::kPhysicalFunction;
  // Counted, and not read from `sriov_numvfs`: on 6.1 that hangs while the number is being lowered
  // and somebody holds one of them.
  if (const auto names = from.sysfs().names(from.pathOf(""))) {
    device.virtualFunctions = static_cast<std::uint32_t>(std::ranges::count_if(
        *names, [](const std::string& name) { return name.starts_with("virtfn"); }));
  }
}

bool isUuid(const std::string& name) {
  if (name.size() != 36) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? name[i] != '-' : !parseHexDigits(name.substr(i, 1), 1)) return false;
  }
  return true;
}

/// Only parents of mediated devices have types of them, so only they are searched.
void readMediated(DeviceAttributes& from, PciDevice& device) {
  if (!from.sysfs().exists(from.pathOf(kMediatedTypes))) return;
  const auto names = from.sysfs().names(from.pathOf(""));
  if (!names) {
    from.blame(kMediatedTypes, std::string("unreadable: ") + strerror(names.error().error));
    return;
  }
  for (const std::string& name : *names) {
    if (!isUuid(name) || device.mediated.size() >= kMostMediated) continue;
    device.mediated.push_back({name, from.linkName(name + "/mdev_type")});
  }
}

void readGroup(DeviceAttributes& from, PciDevice& device) {
  const std::string name = from.linkName("iommu_group");
  if (name.empty()) return;
  if (const auto number = parseDecimal(name)) {
    device.group = IommuGroupId(*number);
  } else {
    from.blame("iommu_group", "malformed: not a group's number");
  }
}

/// The part of the device's place that names the root complex, "pci0000:00".
std::string rootOf(const SysfsRoot& sysfs, const std::string& directory) {
  const auto place = sysfs.link(directory);
  if (!place) return {};
  const std::size_t begin = place->find("/pci");
  if (begin == std::string::npos) return {};
  return place->substr(begin + 1, place->find('/', begin + 1) - begin - 1);
}

/// Null: the device is not there, or not any more.
std::optional<PciDevice> readDevice(const SysfsRoot& sysfs, const DevRoot& dev,
                                    const Bdf& address) {
  const std::string directory = std::string(kDevices) + "/" + address.str();
  DeviceAttributes from(sysfs, directory);
  PciDevice device{.address = address};
  readIds(from, device);
  readHeader(from, device);
  device.driver = from.linkName("driver");
  readVfio(from, dev, device);
  device.numaNode = from.decimalOrMinusOne("numa_node");
  readGroup(from, device);
  device.bootVga = from.decimal("boot_vga", Need::kOptional).value_or(0) == 1;
  readSriov(from, device);
  device.resetMethods = from.text("reset_method");
  device.enableCount = from.decimal("enable", Need::kRequired);
  device.pcieRoot = rootOf(sysfs, directory);
  readMediated(from, device);
  device.problems = from.takeProblems();
  // One that vanished half-way looks like a broken one, but its directory is gone.
  if (!device.problems.empty() && !sysfs.exists(directory)) return std::nullopt;
  return device;
}

/// True if nothing says whether the device's driver offers VFIO, or whether parts of it are lent.
bool useUnclear(const PciDevice& device) {
  return std::ranges::any_of(device.problems, [](const AttributeProblem& problem) {
    return problem.attribute == kVfioDev || problem.attribute == "driver" ||
           problem.attribute == kMediatedTypes;
  });
}

/// Ledger 3: bridges and functions on host drivers never count as use; what cannot be read is
/// unknown, also whether something is a bridge: a switch of GPUs has a bridge's class.
GroupUse useOf(const Snapshot& snapshot, const IommuGroup& group) {
  GroupUse use = GroupUse::kIdle;
  for (const Bdf& member : group.members) {
    const auto found = snapshot.devices.find(member);
    if (found == snapshot.devices.end()) continue;
    const PciDevice& device = found->second;
    if (device.headerType.value_or(0) != 0) continue;
    if (!device.mediated.empty() && use == GroupUse::kIdle) use = GroupUse::kBlind;
    const bool unclear = useUnclear(device);
    if (!device.driver.empty() && !device.vfioDev && !unclear) continue;
    if (!device.enableCount || unclear || !isEndpoint(device)) {
      use = GroupUse::kUnknown;
    } else if (*device.enableCount > 0) {
      return GroupUse::kOpen;
    }
  }
  return use;
}

/// Null: who is in the group cannot be told.
std::optional<std::vector<Bdf>> membersOf(const SysfsRoot& sysfs, const std::string& directory) {
  const auto names = sysfs.names(directory + "/devices");
  if (!names) return std::nullopt;
  std::vector<Bdf> members;
  for (const std::string& name : *names) {
    // Groups have members that are no PCI functions, too: platform devices, mediated devices.
    if (const auto address = Bdf::parse(name)) members.push_back(*address);
  }
  std::ranges::sort(members);
  return members;
}

IommuGroup readGroupDirectory(const SysfsRoot& sysfs, const DevRoot& dev, IommuGroupId id) {
  const std::string number = std::to_string(id.number());
  const std::string directory = std::string(kGroups) + "/" + number;
  DeviceAttributes from(sysfs, directory);
  return IommuGroup{.id = id,
                    .type = from.text("type"),
                    .noIommu = from.text("name") == "vfio-noiommu",
                    .groupNode = dev.hasCharacterDevice("vfio/" + number),
                    .use = GroupUse::kUnknown,
                    .members = membersOf(sysfs, directory).value_or(std::vector<Bdf>())};
}

/// A group without members that we know is not idle for that: its list could not be read, or all
/// of it is no PCI function.
GroupUse useOrUnknown(const Snapshot& snapshot, const IommuGroup& group) {
  return group.members.empty() ? GroupUse::kUnknown : useOf(snapshot, group);
}

/// The names in a directory; none where it is not there.
Result<std::vector<std::string>, ReadError> namesIfAny(const SysfsRoot& sysfs, const char* path) {
  auto names = sysfs.names(path);
  if (!names && names.error().error == ENOENT) return std::vector<std::string>();
  return names;
}

}  // namespace

Result<Snapshot, ReadError> scan(const SysfsRoot& sysfs, const DevRoot& dev) {
  const auto devices = namesIfAny(sysfs, kDevices);
  const auto groups = namesIfAny(sysfs, kGroups);
  if (!devices) return Failure{devices.error()};
  if (!groups) return Failure{groups.error()};
  Snapshot snapshot;
  snapshot.controlNode = dev.hasCharacterDevice("vfio/vfio");
  snapshot.iommufdNode = dev.hasCharacterDevice("iommu");
  for (const std::string& name : *devices) {
    const auto address = Bdf::parse(name);
    if (!address) continue;
    if (auto device = readDevice(sysfs, dev, *address)) {
      snapshot.devices.emplace(*address, std::move(*device));
    }
  }
  for (const std::string& name : *groups) {
    const auto number = parseDecimal(name);
    if (!number) continue;
    IommuGroup group = readGroupDirectory(sysfs, dev, IommuGroupId(*number));
    group.use = useOrUnknown(snapshot, group);
    snapshot.groups.emplace(group.id, std::move(group));
  }
  return snapshot;
}

Snapshot scanGroup(const SysfsRoot& sysfs, const DevRoot& dev, IommuGroupId id) {
  Snapshot snapshot;
  snapshot.controlNode = dev.hasCharacterDevice("vfio/vfio");
  snapshot.iommufdNode = dev.hasCharacterDevice("iommu");
  if (!sysfs.exists(std::string(kGroups) + "/" + std::to_string(id.number()))) return snapshot;
  IommuGroup group = readGroupDirectory(sysfs, dev, id);
  for (const Bdf& member : group.members) {
    if (auto device = readDevice(sysfs, dev, member)) {
      snapshot.devices.emplace(member, std::move(*device));
    }
  }
  group.use = useOrUnknown(snapshot, group);
  snapshot.groups.emplace(id, std::move(group));
  return snapshot;
}

}  // namespace vfiogate
