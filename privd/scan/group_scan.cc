#include "privd/scan/pci_scan.h"

#include "privd/scan/device_attributes.h"

#include <algorithm>
#include <set>
#include <string>

namespace vfiogate {
namespace {

/// True if nothing says whether the device's driver offers VFIO, or whether parts of it are
/// allocated.
bool useUnclear(const PciDevice& device) {
  return std::ranges::any_of(device.problems, [](const AttributeProblem& problem) {
    return problem.attribute == kVfioDevDirectory || problem.attribute == "driver" ||
           problem.attribute == kMediatedTypes;
  });
}

/// Ledger 3: bridges and functions on host drivers never count as use, nor does `enable` of a
/// function that its host driver offers to VFIO, as that driver may enable it itself; what cannot
/// be read is unknown, also whether something is a bridge: a switch of GPUs has a bridge's class.
GroupUse worstUse(const Snapshot& snapshot, const IommuGroup& group) {
  GroupUse use = GroupUse::kIdle;
  for (const Bdf& member : group.members) {
    const auto found = snapshot.devices.find(member);
    if (found == snapshot.devices.end()) continue;
    const PciDevice& device = found->second;
    if (device.headerType.value_or(0) != 0) continue;
    const bool cut = !device.mediated.empty() || device.vgpuType;
    if (cut && use == GroupUse::kIdle) use = GroupUse::kBlind;
    if (device.vgpuType) continue;
    const bool unclear = useUnclear(device);
    if (!device.driver.empty() && !offersVfio(device) && !unclear) continue;
    if (!device.enableCount || unclear || !isEndpoint(device)) {
      use = GroupUse::kUnknown;
    } else if (*device.enableCount > 0) {
      return GroupUse::kOpen;
    }
  }
  return use;
}

/// Of platform devices, which are members, too, nobody is told.
void readMembers(const SysfsRoot& sysfs, const std::string& directory, IommuGroup& group) {
  const auto names = sysfs.names(directory + "/devices");
  if (!names) return;
  for (const std::string& name : *names) {
    if (const auto address = Bdf::parse(name)) group.members.push_back(*address);
    if (const auto uuid = Uuid::parse(name)) group.mediated.push_back(*uuid);
  }
  std::ranges::sort(group.members);
  std::ranges::sort(group.mediated);
}

}  // namespace

std::optional<IommuGroup> readGroup(const SysfsRoot& sysfs, const DevRoot& dev, IommuGroupId id) {
  const std::string number = std::to_string(id.number());
  const std::string directory = std::string(kIommuGroups) + "/" + number;
  if (!sysfs.exists(directory)) return std::nullopt;
  DeviceAttributes from(sysfs, directory);
  IommuGroup group{
      .id = id,
      .type = from.text("type", DeviceAttributes::Need::kOptional),
      .noIommu = from.text("name", DeviceAttributes::Need::kOptional) == "vfio-noiommu",
      .groupNode = false,
      .use = GroupUse::kUnknown,
      .members = {},
      .mediated = {}};
  readMembers(sysfs, directory, group);
  // VFIO names a mediated device's group so, too, which the driver of its parent isolates.
  if (!group.mediated.empty()) group.noIommu = false;
  group.groupNode = dev.hasCharacterDevice((group.noIommu ? "vfio/noiommu-" : "vfio/") + number);
  return group;
}

bool offersVfioByGroup(const SysfsRoot& sysfs, const Snapshot& snapshot, const IommuGroup& group) {
  if (sysfs.exists("class/vfio-dev")) return false;
  if (!sysfs.exists("class/vfio/" + std::to_string(group.id.number()))) return false;
  std::set<std::string> drivers;
  for (const Bdf& member : group.members) {
    const auto found = snapshot.devices.find(member);
    if (found == snapshot.devices.end() || !isEndpoint(found->second)) continue;
    if (!found->second.driver.empty()) drivers.insert(found->second.driver);
  }
  return drivers.size() == 1;
}

GroupUse useOf(const Snapshot& snapshot, const IommuGroup& group) {
  if (!group.mediated.empty()) return GroupUse::kBlind;
  return group.members.empty() ? GroupUse::kUnknown : worstUse(snapshot, group);
}

}  // namespace vfiogate
