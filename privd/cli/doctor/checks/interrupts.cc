#include "privd/cli/doctor/examine.h"
#include "privd/cli/doctor/kernel_parameters.h"

#include "ipc/base/hex.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr std::uint32_t kRemapsInterrupts = 1U << 3;  // VT-d's extended capability register

/// Intel's units that say that they cannot; malformed ones are passed over.
std::vector<std::string> unitsWithout(const IommuFacts& iommu) {
  std::vector<std::string> without;
  for (const auto& [unit, ecap] : iommu.ecaps) {
    if (!ecap || ecap->empty()) continue;
    const auto lowest = parseHexDigits(ecap->substr(ecap->size() - 1), 1);
    if (lowest && (*lowest & kRemapsInterrupts) == 0) without.push_back(unit);
  }
  return without;
}

bool onArm(const IommuFacts& iommu) {
  return iommu.units && std::ranges::any_of(*iommu.units, [](const std::string& unit) {
           return unit.starts_with("smmu") || unit.starts_with("arm");
         });
}

Finding remapping(Level level, std::string what, std::string evidence, std::string fix = {}) {
  return {Check::kInterruptRemapping, level,         "", std::move(what),
          std::move(evidence),        std::move(fix)};
}

Finding judgeRemapping(const HostFacts& facts) {
  const auto parameters = KernelParameters::parse(facts.commandLine ? *facts.commandLine : "");
  for (const char* given : {"intremap=off", "nointremap"}) {
    if (given == std::string_view("nointremap") ? parameters.has(given)
                                                : parameters.lists("intremap", "off")) {
      return remapping(Level::kProblem, std::string("off, by ") + given,
                       facts.commandLine.path + ": " + given, removeParameter(given));
    }
  }
  if (!facts.iommu.units || facts.iommu.units->empty()) {
    return remapping(
        Level::kUnknown, "no IOMMU unit was seen",
        facts.iommu.units ? facts.iommu.units.path + ": empty" : whyNot(facts.iommu.units),
        "turn the IOMMU on first");
  }
  if (onArm(facts.iommu)) {
    return remapping(Level::kUnknown, "its evidence is known on x86 only; dmesg has GICv3 ITS",
                     facts.iommu.units.path + ": " + someOf(*facts.iommu.units));
  }
  const std::vector<std::string> without = unitsWithout(facts.iommu);
  if (!without.empty()) {
    return remapping(Level::kProblem, "an IOMMU unit cannot remap interrupts",
                     facts.iommu.units.path + ": " + someOf(without) + ": intel-iommu/ecap",
                     "update the firmware; QEMU: -device intel-iommu,intremap=on");
  }
  if (!facts.interrupts) {
    return remapping(Level::kUnknown, "interrupts were not seen", whyNot(facts.interrupts));
  }
  if (facts.interrupts->find(" IR-") == std::string::npos) {
    return remapping(
        Level::kWarning, "no remapped interrupt is in use", facts.interrupts.path + ": no IR-",
        "turn interrupt remapping and x2APIC on in firmware; dmesg says why it is off");
  }
  return remapping(Level::kOk, "on", facts.interrupts.path + ": IR-");
}

}  // namespace

void checkInterrupts(const HostFacts& facts, Findings& findings) {
  findings.push_back(judgeRemapping(facts));
  const SeenText& unsafe = facts.vfio.unsafeInterrupts;
  const auto parameters = KernelParameters::parse(facts.commandLine ? *facts.commandLine : "");
  constexpr const char* kParameter = "vfio_iommu_type1.allow_unsafe_interrupts";
  const auto atBoot = parameters.values(kParameter);
  const bool asked = !atBoot.empty() && (atBoot.back() == "1" || atBoot.back() == "Y");
  if (!unsafe && !asked) {
    findings.push_back({Check::kUnsafeInterrupts, unsafe.absent() ? Level::kOk : Level::kUnknown,
                        "", unsafe.absent() ? "vfio_iommu_type1 is not loaded" : "not readable",
                        whyNot(unsafe), ""});
    return;
  }
  const bool on = unsafe ? *unsafe == "Y" || *unsafe == "1" : asked;
  findings.push_back(
      {Check::kUnsafeInterrupts, on ? Level::kProblem : Level::kOk, "",
       on ? "a VM may send this host interrupts of its choice" : "not allowed",
       unsafe ? unsafe.path + ": " + *unsafe : facts.commandLine.path + ": " + kParameter,
       on ? "take allow_unsafe_interrupts out of /etc/modprobe.d and the kernel's command line, "
            "and turn interrupt remapping on"
          : ""});
}

}  // namespace vfiogate
