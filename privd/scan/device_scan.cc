#include "privd/scan/pci_scan.h"

#include "ipc/base/hex.h"
#include "privd/scan/device_attributes.h"

#include <endian.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace vfiogate {
namespace {

using Need = DeviceAttributes::Need;

constexpr std::size_t kHeaderBytes = 64;
/// The ids, which are all ones in a virtual function's, too, and command and status, which are in
/// none that answers.
constexpr std::size_t kGlanceBytes = 8;
constexpr std::size_t kHeaderTypeOffset = 0x0e;
constexpr unsigned kMultiFunctionBit = 0x80;
constexpr std::size_t kMostMediated = 256;
constexpr std::string_view kModalias = "pci:v0000VVVVd0000DDDDsv0000VVVVsd0000DDDDbcCCscCCiCC";

template <typename T>
std::optional<T> narrowed(std::optional<std::uint32_t> value) {
  if (!value) return std::nullopt;
  return static_cast<T>(*value);
}

/// The digits that follow `before`, both taken from the front of `text`. Null: something else does.
std::optional<std::uint32_t> takeHex(std::string_view& text, std::string_view before,
                                     std::size_t digits) {
  if (!text.starts_with(before)) return std::nullopt;
  const auto number = parseHexDigits(text.substr(before.size(), digits), digits);
  if (number) text.remove_prefix(before.size() + digits);
  return number;
}

/// Of `modalias`, which has what `vendor`, `device`, `subsystem_*` and `class` have: one file
/// instead of six. False: it is not as the kernel writes it (modalias_show() in pci-sysfs.c).
bool takeIds(std::string_view modalias, PciDevice& device) {
  const bool whole = modalias.size() == kModalias.size();
  device.vendor = narrowed<std::uint16_t>(takeHex(modalias, "pci:v0000", 4));
  device.device = narrowed<std::uint16_t>(takeHex(modalias, "d0000", 4));
  device.subvendor = narrowed<std::uint16_t>(takeHex(modalias, "sv0000", 4));
  device.subdevice = narrowed<std::uint16_t>(takeHex(modalias, "sd0000", 4));
  const auto base = takeHex(modalias, "bc", 2);
  const auto sub = takeHex(modalias, "sc", 2);
  const auto interface = takeHex(modalias, "i", 2);
  if (!whole || !modalias.empty()) return false;  // one of them was not there
  device.classCode = *base << 16U | *sub << 8U | *interface;
  return true;
}

void readIds(DeviceAttributes& from, PciDevice& device) {
  const std::string revision = from.text("revision", Need::kOptional);
  std::string_view rest = revision;
  const auto number = takeHex(rest, "0x", 2);
  if (number && rest.empty()) {
    device.revision = static_cast<std::uint8_t>(*number);
  } else if (!revision.empty()) {
    from.blameText("revision", revision);
  }
  device.modalias = from.text("modalias", Need::kRequired);
  if (!device.modalias.empty() && !takeIds(device.modalias, device))
    from.blameText("modalias", device.modalias);
}

/// What `config` begins with is another card than `was`. A virtual function's ids are all ones.
bool isAnother(std::string_view config, const PciDevice& was) {
  std::array<std::uint16_t, 2> ids{};
  if (config.size() < sizeof(ids) || config.starts_with("\xff\xff\xff\xff")) return false;
  memcpy(ids.data(), config.data(), sizeof(ids));
  return le16toh(ids[0]) != was.vendor || le16toh(ids[1]) != was.device;
}

bool answeredBy(std::string_view config) {
  return !std::ranges::all_of(config, [](char c) { return c == '\xff'; });
}

void readHeader(DeviceAttributes& from, PciDevice& device) {
  const auto header = from.bytes("config", kHeaderBytes);
  if (!header) return;
  if (header->size() <= kHeaderTypeOffset) {
    from.blame("config", "malformed: shorter than a header");
    return;
  }
  device.answers = answeredBy(*header);
  if (!device.answers) return;
  const auto type = static_cast<std::uint8_t>((*header)[kHeaderTypeOffset]);
  device.headerType = static_cast<std::uint8_t>(type & ~kMultiFunctionBit);
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
  if (!from.exists("sriov_totalvfs")) return;
  device.sriov = SriovRole::kPhysicalFunction;
  // Counted, and not read from `sriov_numvfs`: on 6.1 that hangs while the number is being lowered
  // and somebody holds one of them.
  if (const auto names = from.names()) {
    device.virtualFunctions = static_cast<std::uint32_t>(std::ranges::count_if(
        *names, [](const std::string& name) { return name.starts_with("virtfn"); }));
  }
}

/// Only parents of mediated devices have types of them, so only they are searched.
void readParts(DeviceAttributes& from, PciDevice& device) {
  if (!from.exists(kMediatedTypes)) return;
  const auto names = from.names();
  if (!names) {
    from.blame(kMediatedTypes, std::string("unreadable: ") + strerror(names.error().error));
    return;
  }
  for (const std::string& name : *names) {
    const auto uuid = Uuid::parse(name);
    if (uuid && device.mediated.size() < kMostMediated) device.mediated.push_back(*uuid);
  }
  std::ranges::sort(device.mediated);
}

/// A type that cannot be read is as good as none. Of a device whose role and driver are known.
void readVgpu(DeviceAttributes& from, PciDevice& device) {
  if (device.sriov != SriovRole::kVirtualFunction || device.driver.empty()) return;
  if (!from.exists(kVgpuType)) return;
  device.vgpuType = from.decimal(kVgpuType, Need::kRequired).value_or(0);
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

void readPlace(const SysfsRoot& sysfs, const std::string& directory, const SlotNames& slots,
               PciDevice& device) {
  const auto path = sysfs.link(directory);
  if (!path) return;
  DevicePlace place = placeOf(*path, device.physicalFunction, slots);
  device.pcieRoot = std::move(place.root);
  device.rootPort = place.rootPort;
  device.slot = std::move(place.slot);
}

}  // namespace

VfioDev readVfioDev(DeviceAttributes& from, const DevRoot& dev) {
  VfioDev found;
  const auto names = from.names(kVfioDevDirectory);
  if (!names) {
    const int error = names.error().error;
    if (error != ENOENT)
      from.blame(kVfioDevDirectory, std::string("unreadable: ") + strerror(error));
    return found;
  }
  for (const std::string& name : *names) {
    if (!name.starts_with("vfio")) continue;
    found.number = parseDecimal(name.substr(4));
    // Kernels without cdev have the directory too, but no number of a device node in it.
    found.node = found.number && from.exists("vfio-dev/" + name + "/dev") &&
                 dev.hasCharacterDevice("vfio/devices/" + name);
    if (found.number) return found;
  }
  from.blame(kVfioDevDirectory, "malformed: no vfio and number in it");
  return found;
}

std::optional<PciDevice> readDevice(const SysfsRoot& sysfs, const DevRoot& dev, const Bdf& address,
                                    const SlotNames& slots) {
  const std::string directory = std::string(kPciDevices) + "/" + address.str();
  DeviceAttributes from(sysfs, directory);
  PciDevice device{.address = address};
  readIds(from, device);
  readHeader(from, device);
  device.driver = from.linkName("driver");
  const VfioDev vfio = readVfioDev(from, dev);
  device.vfioDev = vfio.number;
  device.cdevNode = vfio.node;
  device.numaNode = from.decimalOrMinusOne("numa_node");
  readGroup(from, device);
  device.bootVga = from.decimal("boot_vga", Need::kOptional).value_or(0) == 1;
  readSriov(from, device);
  device.resetMethods = from.text("reset_method", Need::kOptional);
  device.enableCount = from.decimal("enable", Need::kRequired);
  readPlace(sysfs, directory, slots, device);
  readParts(from, device);
  readVgpu(from, device);
  device.problems = from.takeProblems();
  // One that vanished half-way looks like a broken one, but its directory is gone.
  if (!device.problems.empty() && !sysfs.exists(directory)) return std::nullopt;
  return device;
}

Glance glanceAt(const SysfsRoot& sysfs, const PciDevice& was) {
  if (!was.problems.empty()) return Glance::kUnannounced;
  DeviceAttributes from(sysfs, std::string(kPciDevices) + "/" + was.address.str());
  PciDevice now = was;
  now.vgpuType.reset();
  now.driver = from.linkName("driver");
  if (now.driver != was.driver) return Glance::kUnheard;
  const std::string config = from.bytes("config", kGlanceBytes).value_or("");
  if (isAnother(config, was)) return Glance::kUnheard;
  now.answers = answeredBy(config);
  // Ledger 3: of a device on its host's driver it says nothing.
  if (was.driver.empty() || offersVfio(was))
    now.enableCount = from.decimal("enable", Need::kRequired);
  readVgpu(from, now);
  now.problems = from.takeProblems();
  return now == was ? Glance::kSame : Glance::kUnannounced;
}

}  // namespace vfiogate
