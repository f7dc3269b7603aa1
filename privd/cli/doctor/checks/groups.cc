#include "privd/cli/doctor/examine.h"
#include "privd/cli/doctor/kernel_parameters.h"

#include "ipc/types/viability.h"

#include <algorithm>

namespace vfiogate {
namespace {

bool blockedByMember(Obstacle obstacle) {
  return obstacle == Obstacle::kMemberOnHost || obstacle == Obstacle::kMemberStuck;
}

std::vector<const PciDevice*> endpointsOf(const Snapshot& hardware, const IommuGroup& group) {
  std::vector<const PciDevice*> endpoints;
  for (const Bdf& member : group.members) {
    const auto found = hardware.devices.find(member);
    if (found != hardware.devices.end() && isEndpoint(found->second)) {
      endpoints.push_back(&found->second);
    }
  }
  return endpoints;
}

/// Whoever stands in the way leaves its driver, unless the host needs it.
std::string fixFor(const Snapshot& hardware, const Viability& seen) {
  const std::string culprit = seen.culprit ? seen.culprit->str() : std::string("it");
  if (seen.culprit && isPlatform(hardware.devices.at(*seen.culprit))) {
    return "use a slot below a port with ACS, or turn ACS on in firmware (lspci -vv: ACSCap)";
  }
  return "echo vfio-pci > driver_override of " + culprit +
         ", unbind it, then write its address to drivers_probe";
}

std::vector<std::string> addressesOf(const std::vector<const PciDevice*>& devices) {
  std::vector<std::string> addresses;
  for (const PciDevice* device : devices) addresses.push_back(device->address.str());
  return addresses;
}

void checkViability(const Snapshot& hardware, Findings& findings) {
  std::size_t used = 0;
  std::size_t blocked = 0;
  for (const auto& [id, group] : hardware.groups) {
    const auto endpoints = endpointsOf(hardware, group);
    const auto onVfio =
        std::ranges::find_if(endpoints, [](const PciDevice* each) { return offersVfio(*each); });
    if (onVfio == endpoints.end()) continue;
    ++used;
    const Viability seen = viability(hardware, (*onVfio)->address);
    if (!blockedByMember(seen.obstacle)) continue;
    ++blocked;
    findings.push_back({Check::kGroupViability, Level::kProblem, std::to_string(id.number()),
                        explain(hardware, (*onVfio)->address, seen),
                        (*onVfio)->address.str() + " is on " + (*onVfio)->driver,
                        fixFor(hardware, seen)});
  }
  if (blocked == 0) {
    findings.push_back({Check::kGroupViability, Level::kOk, "",
                        used == 0   ? "no group has a device on a VFIO driver"
                        : used == 1 ? "the group on VFIO is whole"
                                    : "all " + std::to_string(used) + " groups on VFIO are whole",
                        "", ""});
  }
}

/// One slot's functions belong together anyhow.
bool oneSlot(const std::vector<const PciDevice*>& endpoints) {
  const Bdf& first = endpoints.front()->address;
  return std::ranges::all_of(endpoints, [&](const PciDevice* each) {
    return each->address.segment() == first.segment() && each->address.bus() == first.bus() &&
           each->address.device() == first.device();
  });
}

void checkShared(const Snapshot& hardware, Findings& findings) {
  bool shared = false;
  for (const auto& [id, group] : hardware.groups) {
    const auto endpoints = endpointsOf(hardware, group);
    if (endpoints.size() < 2 || oneSlot(endpoints)) continue;
    shared = true;
    findings.push_back(
        {Check::kSharedGroup, Level::kInfo, std::to_string(id.number()),
         std::to_string(endpoints.size()) + " devices only go to a VM together",
         someOf(addressesOf(endpoints)) + ": no access control (ACS) between them",
         "use a slot below a port with ACS, or turn ACS on in firmware (lspci -vv: ACSCap)"});
  }
  if (!shared) {
    findings.push_back(
        {Check::kSharedGroup, Level::kOk, "",
         hardware.groups.empty() ? "there is no group" : "no group reaches over several slots", "",
         ""});
  }
}

void checkOverride(const HostFacts& facts, Findings& findings) {
  if (!facts.commandLine) {
    findings.push_back({Check::kAcsOverride, Level::kUnknown, "",
                        "the kernel's command line was not seen", whyNot(facts.commandLine), ""});
    return;
  }
  const bool given = KernelParameters::parse(*facts.commandLine).has("pcie_acs_override");
  findings.push_back({Check::kAcsOverride, given ? Level::kWarning : Level::kOk, "",
                      given ? "groups are smaller than what the hardware isolates: a VM may reach "
                              "the devices of others"
                            : "groups are what the kernel found",
                      facts.commandLine.path, given ? removeParameter("pcie_acs_override") : ""});
}

}  // namespace

void checkGroups(const HostFacts& facts, Findings& findings) {
  checkOverride(facts, findings);
  if (!facts.hardware) {
    findings.push_back(unseenHardware(Check::kGroupViability, facts));
    findings.push_back(unseenHardware(Check::kSharedGroup, facts));
    return;
  }
  checkViability(*facts.hardware, findings);
  checkShared(*facts.hardware, findings);
}

}  // namespace vfiogate
