#pragma once
// What `privd doctor` says of one thing that it looked at.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// In order of weight. kUnknown: the evidence could not be had, and the finding names it.
enum class Level : std::uint8_t { kOk, kInfo, kUnknown, kWarning, kProblem };

/// "ok", "info", "unknown", "warning", "problem".
std::string_view nameOf(Level level);

/// What is looked at. The spellings are promised by docs/doctor.md.
enum class Check : std::uint8_t {
  kIommu,
  kIommuPassthrough,
  kIommuCoverage,
  kNoIommuMode,
  kInterruptRemapping,
  kUnsafeInterrupts,
  kVfioModule,
  kVfioPciParameters,
  kVfioPciIds,
  kDriverctl,
  kModprobeConfig,
  kVfioNodes,
  kGroupViability,
  kDeviceState,
  kDeviceReset,
  kSharedGroup,
  kAcsOverride,
  kKernelParameter,
  kBootDisplay,
  kMemlock,
  kBarUnassigned,
  kCdiDirectory,
  kRuntimeCdi,
  kKubeletDirectory,
  kSecurityModule,
  kLandlock,
  kSysfsWritable,
  kNodeObstacle,
  kVirtualFunctions,
};
/// The name and what is asked, in the order of Check.
struct CheckName {
  std::string_view code;
  std::string_view question;
};
inline constexpr std::array kCheckNames{
    CheckName{"iommu", "is the IOMMU on"},
    CheckName{"iommu-passthrough", "is the host's own DMA translated"},
    CheckName{"iommu-coverage", "has every endpoint a group"},
    CheckName{"no-iommu-mode", "may VFIO work without an IOMMU"},
    CheckName{"interrupt-remapping", "are interrupts remapped"},
    CheckName{"unsafe-interrupts", "may VFIO work without interrupt remapping"},
    CheckName{"vfio-module", "are VFIO's modules there"},
    CheckName{"vfio-pci-parameters", "how vfio-pci was told to work"},
    CheckName{"vfio-pci-ids", "which models are taken at boot"},
    CheckName{"driverctl", "does driverctl agree with privd and with what is bound"},
    CheckName{"modprobe-config", "does modprobe's configuration work against VFIO"},
    CheckName{"vfio-nodes", "are VFIO's nodes in /dev"},
    CheckName{"group-viability", "which function keeps a group from being allocated"},
    CheckName{"device-state", "is a device on a VFIO driver unusable"},
    CheckName{"device-reset", "can devices on a VFIO driver be reset"},
    CheckName{"shared-group", "which devices only go together"},
    CheckName{"acs-override", "are groups what the hardware isolates"},
    CheckName{"kernel-parameter", "does the command line work against VFIO"},
    CheckName{"boot-display", "who holds the firmware's display"},
    CheckName{"memlock", "may a VM pin its memory"},
    CheckName{"bar-unassigned", "does every BAR have an address"},
    CheckName{"cdi-directory", "are the directories of CDI specs sound"},
    CheckName{"runtime-cdi", "does containerd read CDI specs"},
    CheckName{"kubelet-directory", "are the kubelet's directories there and root's"},
    CheckName{"security-module", "which security module is on"},
    CheckName{"landlock", "can the kernel confine which files privd opens"},
    CheckName{"sysfs-writable", "can devices be bound from here"},
    CheckName{"node-obstacle", "does something keep every device of this host back"},
    CheckName{"virtual-functions", "are the virtual functions there that privd is to make"},
};

/// The stable name, such as "vfio-module".
std::string_view codeOf(Check check);

struct Finding {
  Check check;
  Level level;
  std::string subject;   ///< device, group, module, directory or parameter; empty: the host
  std::string what;      ///< in words
  std::string evidence;  ///< what was read where; of kUnknown: what could not be
  std::string fix;       ///< command or document; empty where nothing is to be mended
};
using Findings = std::vector<Finding>;

}  // namespace vfiogate
