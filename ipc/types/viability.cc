#include "ipc/types/viability.h"

#include "ipc/types/units.h"

#include <algorithm>
#include <utility>

namespace vfiogate {
namespace {

constexpr std::uint32_t kBridgeBaseClass = 0x06;
constexpr std::uint32_t kSystemBaseClass = 0x08;

bool beingUnbound(const PciDevice& device) {
  return device.driver.empty() && device.enableCount.value_or(0) > 0;
}

bool onHostDriver(const PciDevice& device) {
  return !device.driver.empty() && !offersVfio(device);
}

/// pci-stub claims a device for nobody, and the kernel counts a group with it as viable.
bool harmlessMember(const PciDevice& device) {
  return device.driver == "pci-stub";
}

Viability judgeAlone(const PciDevice& device) {
  const auto stop = [](Obstacle obstacle) { return Viability{obstacle, std::nullopt}; };
  if (!device.vendor || !device.device || !device.classCode) return stop(Obstacle::kUnreadable);
  if (!isEndpoint(device)) return stop(Obstacle::kBridge);
  if (isPlatform(device) && !offersVfio(device)) return stop(Obstacle::kPlatform);
  if (!device.group) return stop(Obstacle::kNoGroup);
  if (!device.answers) return stop(Obstacle::kNotAnswering);
  if (beingUnbound(device)) return stop(Obstacle::kBeingUnbound);
  if (onHostDriver(device) && !device.mediated.empty()) return stop(Obstacle::kMediatedParent);
  if (device.vgpuType == 0) return stop(Obstacle::kNoVgpuType);
  if (onHostDriver(device)) return stop(Obstacle::kHostDriver);
  if (device.driver.empty()) return stop(Obstacle::kNoDriver);
  return {};
}

/// What would be no news to whoever has to mend the machine first.
bool isBroken(const Viability& alone) {
  return !alone.ready() && alone.obstacle <= Obstacle::kNotAnswering;
}

Obstacle judgeBinding(const IommuGroup& group) {
  if (group.binding.excluded) return Obstacle::kOperatorExcluded;
  return group.binding.stuck ? Obstacle::kWriteStuck : Obstacle::kNone;
}

Viability judgeMembers(const Snapshot& snapshot, const IommuGroup& group, const Bdf& address) {
  for (const Bdf& member : group.members) {
    const auto found = snapshot.devices.find(member);
    if (member == address || found == snapshot.devices.end() || !isEndpoint(found->second))
      continue;
    if (beingUnbound(found->second)) return {Obstacle::kMemberStuck, member};
    if (onHostDriver(found->second) && !harmlessMember(found->second)) {
      return {Obstacle::kMemberOnHost, member};
    }
  }
  return {};
}

/// The member with virtual functions in other groups: whoever has it has a hand in what the holders
/// of those do.
std::optional<Bdf> memberWithVfs(const Snapshot& snapshot, const IommuGroup& group) {
  const auto device = [&snapshot](const Bdf& member) {
    const auto found = snapshot.devices.find(member);
    return found == snapshot.devices.end() ? nullptr : &found->second;
  };
  for (const Bdf& member : group.members) {
    const PciDevice* physical = device(member);
    if (physical == nullptr || physical->virtualFunctions == 0) continue;
    const auto here = std::ranges::count_if(group.members, [&](const Bdf& other) {
      const PciDevice* function = device(other);
      return function != nullptr && function->physicalFunction == member;
    });
    if (std::cmp_greater(physical->virtualFunctions, here)) return member;
  }
  return std::nullopt;
}

std::string withProblems(const PciDevice& device, std::string text) {
  for (const auto& problem : device.problems)
    text += "; " + problem.attribute + " is " + problem.why;
  return text;
}

}  // namespace

std::string_view nameOf(GroupUse use) {
  switch (use) {
    case GroupUse::kIdle:
      return "idle";
    case GroupUse::kOpen:
      return "open";
    case GroupUse::kBlind:
      return "blind";
    case GroupUse::kUnknown:
      return "unknown";
  }
  return "unknown";
}

bool isEndpoint(const PciDevice& device) {
  if (device.headerType) return *device.headerType == 0;
  return !device.classCode || (*device.classCode >> 16) != kBridgeBaseClass;
}

bool isPlatform(const PciDevice& device) {
  if (!device.classCode) return false;
  const std::uint32_t subclass = *device.classCode >> 8;
  switch (subclass) {
    case 0x0500:  // memory
    case 0x0580:
    case 0x0600:  // host bridge; an NVSwitch has 0680
    case 0x0601:  // ISA bridge
    case 0x0604:  // PCI bridge
    case 0x0c05:  // SMBus
    case 0x0c80:  // SPI and other serial buses
      return true;
    default:
      return subclass >> 8 == kSystemBaseClass && subclass != 0x0880;
  }
}

Viability viability(const Snapshot& snapshot, const Bdf& address) {
  const PciDevice& device = snapshot.devices.at(address);
  const Viability alone = judgeAlone(device);
  if (isBroken(alone)) return alone;
  const auto group = snapshot.groups.find(*device.group);
  const bool known = group != snapshot.groups.end();
  const Obstacle binding = known ? judgeBinding(group->second) : Obstacle::kNone;
  if (binding != Obstacle::kNone) return {binding, std::nullopt};
  if (!alone.ready()) return alone;
  if (!known) return {Obstacle::kNoGroup, std::nullopt};
  if (group->second.noIommu) return {Obstacle::kNoIommu, std::nullopt};
  if (const Viability members = judgeMembers(snapshot, group->second, address); !members.ready()) {
    return members;
  }
  if (const auto physical = memberWithVfs(snapshot, group->second)) {
    return {Obstacle::kHasVfs, physical};
  }
  if (!group->second.groupNode && !device.cdevNode) return {Obstacle::kNoNode, std::nullopt};
  return {};
}

Viability viability(const Snapshot& snapshot, const MediatedDevice& device) {
  const auto stop = [](Obstacle obstacle) { return Viability{obstacle, std::nullopt}; };
  const auto group = device.group ? snapshot.groups.find(*device.group) : snapshot.groups.end();
  if (group == snapshot.groups.end()) return stop(Obstacle::kNoGroup);
  const Obstacle binding = judgeBinding(group->second);
  if (binding != Obstacle::kNone) return stop(binding);
  if (device.driver.empty()) return stop(Obstacle::kNoDriver);
  if (!group->second.groupNode && !device.cdevNode) return stop(Obstacle::kNoNode);
  return {};
}

Viability viabilityOf(const Snapshot& snapshot, const UnitId& id) {
  const MediatedDevice* mediated = mediatedOf(snapshot, id);
  return mediated == nullptr ? viability(snapshot, *id.address()) : viability(snapshot, *mediated);
}

std::string_view reasonCode(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::kNone:
      return "passable";
    case Obstacle::kUnreadable:
      return "unreadable";
    case Obstacle::kBridge:
      return "bridge";
    case Obstacle::kPlatform:
      return "platform";
    case Obstacle::kNoGroup:
      return "no-group";
    case Obstacle::kNoIommu:
      return "no-iommu";
    case Obstacle::kNotAnswering:
      return "not-answering";
    case Obstacle::kOperatorExcluded:
      return "operator-excluded";
    case Obstacle::kWriteStuck:
      return "write-stuck";
    case Obstacle::kBeingUnbound:
      return "being-unbound";
    case Obstacle::kMediatedParent:
      return "mediated-parent";
    case Obstacle::kNoVgpuType:
      return "no-vgpu-type";
    case Obstacle::kHostDriver:
      return "host-driver";
    case Obstacle::kNoDriver:
      return "no-driver";
    case Obstacle::kMemberOnHost:
      return "member-on-host-driver";
    case Obstacle::kMemberStuck:
      return "member-being-unbound";
    case Obstacle::kHasVfs:
      return "has-vfs";
    case Obstacle::kNoNode:
      return "no-node";
  }
  return "unknown";
}

std::string_view obstacleText(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::kOperatorExcluded:
      return "excluded by an operator: privd release gives it back";
    case Obstacle::kWriteStuck:
      return "a write that changes its drivers has not come back: see privd's log, then reboot";
    default:
      return {};
  }
}

std::string explain(const Snapshot& snapshot, const Bdf& address, const Viability& viability) {
  const PciDevice& device = snapshot.devices.at(address);
  const auto culprit = [&]() {
    return viability.culprit ? viability.culprit->str() : std::string();
  };
  const auto memberOnHost = [&]() -> std::string {
    const auto found =
        viability.culprit ? snapshot.devices.find(*viability.culprit) : snapshot.devices.end();
    if (found == snapshot.devices.end()) return "a group member is bound to a host driver";
    return "group member " + culprit() + " is bound to " + found->second.driver +
           (isPlatform(found->second)
                ? " and part of the machine itself: use a slot whose group it is not in"
                : ": bind the whole group to vfio-pci");
  };
  switch (viability.obstacle) {
    case Obstacle::kNone:
      return "can be passed through";
    case Obstacle::kUnreadable:
      return withProblems(device, "sysfs does not say what it is: vendor, device or class");
    case Obstacle::kBridge:
      return "a bridge; bridges are never passed through";
    case Obstacle::kPlatform:
      return "part of the machine itself: the host needs it";
    case Obstacle::kNoGroup:
      return "no IOMMU group: turn the IOMMU on in firmware and kernel; where it is on, as on "
             "ARM64, a device gets its group with its first driver";
    case Obstacle::kNoIommu:
      return "VFIO no-IOMMU mode isolates nothing: turn the IOMMU on (plugind's backend: noiommu "
             "allocates it all the same)";
    case Obstacle::kNotAnswering:
      return "reads all ones: dead or powered off; reset or replug it";
    case Obstacle::kOperatorExcluded:
    case Obstacle::kWriteStuck:
      return std::string(obstacleText(viability.obstacle));
    case Obstacle::kBeingUnbound:
      return "being unbound while in use: stop the VM that uses it";
    case Obstacle::kMediatedParent:
      return "stays bound to " + device.driver + ", which has made " +
             std::to_string(device.mediated.size()) +
             " mediated device(s) of it: those can be allocated; remove them to pass it through "
             "whole";
    case Obstacle::kNoVgpuType:
      return withProblems(device,
                          "no vGPU type is set: write the number of one of its "
                          "nvidia/creatable_vgpu_types to its nvidia/current_vgpu_type");
    case Obstacle::kHostDriver:
      if (device.vgpuType) {
        return "a vGPU for which " + device.driver +
               " offers no VFIO device: look into the kernel's log";
      }
      return "bound to " + device.driver + ", not to a VFIO driver: bind its group to vfio-pci";
    case Obstacle::kNoDriver:
      return "bound to no driver: bind its group to vfio-pci";
    case Obstacle::kMemberOnHost:
      return memberOnHost();
    case Obstacle::kMemberStuck:
      return "group member " + culprit() + " is being unbound while in use: stop its VM";
    case Obstacle::kHasVfs:
      return (viability.culprit == address ? "" : "group member " + culprit() + " ") +
             std::string(
                 "has virtual functions, which are devices of other groups: allocate "
                 "those, or write 0 to its sriov_numvfs");
    case Obstacle::kNoNode:
      return "no node in /dev/vfio for it: is /dev the host's?";
  }
  return {};
}

std::string explain(const MediatedDevice& /*device*/, const Viability& viability) {
  switch (viability.obstacle) {
    case Obstacle::kNone:
      return "can be passed through";
    case Obstacle::kNoGroup:
      return "no IOMMU group: its driver did not register it with VFIO; look into the kernel's log";
    case Obstacle::kNoDriver:
      return "bound to no driver: bind it to one of /sys/bus/mdev/drivers";
    case Obstacle::kNoNode:
      return "no node in /dev/vfio for it: is /dev the host's?";
    default:
      break;
  }
  return std::string(obstacleText(viability.obstacle));
}

std::string explainUnit(const Snapshot& snapshot, const UnitId& id, const Viability& viability) {
  const MediatedDevice* mediated = mediatedOf(snapshot, id);
  return mediated == nullptr ? explain(snapshot, *id.address(), viability)
                             : explain(*mediated, viability);
}

}  // namespace vfiogate
