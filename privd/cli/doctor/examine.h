#pragma once
// The judgement of `privd doctor`: pure, one function a topic.

#include "privd/cli/doctor/finding.h"
#include "privd/cli/doctor/host_facts.h"

#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

/// Everything that there is to say of a host; each Check is in it at least once. In order of
/// weight, heaviest first; within a weight in the order of Check.
Findings examine(const HostFacts& facts);

void checkIommu(const HostFacts& facts, Findings& findings);
void checkInterrupts(const HostFacts& facts, Findings& findings);
void checkModules(const HostFacts& facts, Findings& findings);
void checkVfioPci(const HostFacts& facts, Findings& findings);
void checkGroups(const HostFacts& facts, Findings& findings);
void checkDevices(const HostFacts& facts, Findings& findings);
void checkWindows(const HostFacts& facts, Findings& findings);
void checkParameters(const HostFacts& facts, Findings& findings);
void checkDisplay(const HostFacts& facts, Findings& findings);
void checkMemlock(const HostFacts& facts, Findings& findings);
void checkCdi(const HostFacts& facts, Findings& findings);
void checkKubelet(const HostFacts& facts, Findings& findings);
void checkSecurity(const HostFacts& facts, Findings& findings);
void checkLandlock(const HostFacts& facts, Findings& findings);
void checkSysfs(const HostFacts& facts, Findings& findings);
void checkObstacles(const HostFacts& facts, Findings& findings);
/// Those that `vfs` lines of privd.conf want.
void checkVirtualFunctions(const HostFacts& facts, Findings& findings);

/// Models that vfio-pci or pci-stub takes at boot, whoever says so.
void checkPciIds(const HostFacts& facts, Findings& findings);
/// Drivers that driverctl keeps, against privd's and against what is bound.
void checkDriverctl(const HostFacts& facts, Findings& findings);
/// Lines of modprobe.d that are about VFIO's modules.
void checkModprobe(const HostFacts& facts, Findings& findings);
/// Those of modprobe's directories that are there, for people; the first if none is.
std::string modprobePlaces(const BootFacts& boot);

/// How to give the kernel a parameter for good.
std::string addParameter(std::string_view parameter);
std::string removeParameter(std::string_view parameter);

/// "a, b and 5 more".
std::string someOf(const std::vector<std::string>& names);

/// Whose driver a file of driverctl's is, by its name there ("pci-0000:65:00.0"); null: of no PCI
/// device.
std::optional<Bdf> driverctlAddress(std::string_view file);

/// What could not be judged for want of hardware that was seen.
Finding unseenHardware(Check check, const HostFacts& facts);

}  // namespace vfiogate
