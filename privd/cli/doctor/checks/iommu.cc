#include "cli/table.h"
#include "privd/cli/doctor/examine.h"
#include "privd/cli/doctor/kernel_parameters.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr std::array kOffSwitches{std::pair{"iommu", "off"}, std::pair{"intel_iommu", "off"},
                                  std::pair{"amd_iommu", "off"}};

bool inMachine(const HostFacts& facts) {
  return facts.processor && facts.processor->find(" hypervisor") != std::string::npos;
}

/// The table by which firmware announces an IOMMU; empty: it announces none.
std::string announced(const std::vector<std::string>& tables) {
  for (const char* table : {"DMAR", "IVRS", "IORT"}) {
    if (std::ranges::find(tables, table) != tables.end()) return table;
  }
  return {};
}

Finding off(std::string why, std::string evidence, std::string fix) {
  return {Check::kIommu,       Level::kProblem, "", "the IOMMU is off: " + std::move(why),
          std::move(evidence), std::move(fix)};
}

Finding withoutGroups(const HostFacts& facts) {
  const auto parameters = KernelParameters::parse(facts.commandLine ? *facts.commandLine : "");
  for (const auto& [name, value] : kOffSwitches) {
    const std::string given = std::string(name) + "=" + value;
    if (parameters.lists(name, value)) {
      return off(given + " turns it off", facts.commandLine.path + ": " + given,
                 removeParameter(given));
    }
  }
  const SeenNames& tables = facts.iommu.firmwareTables;
  // A container has an empty directory there: no evidence.
  if (!tables || tables->empty()) {
    return off("no IOMMU group; whether firmware announces one could not be seen",
               tables ? tables.path + ": empty" : whyNot(tables),
               "turn VT-d or AMD-Vi on in firmware, and give an Intel kernel intel_iommu=on");
  }
  const std::string table = announced(*tables);
  if (table.empty()) {
    return off("firmware announces none", tables.path + ": neither DMAR, IVRS nor IORT",
               inMachine(facts) ? "give this virtual machine one (QEMU: -device "
                                  "intel-iommu,intremap=on with kernel-irqchip=split)"
                                : "turn VT-d or AMD-Vi on in firmware");
  }
  if (!facts.commandLine) {
    return off("firmware announces it in " + table, whyNot(facts.commandLine),
               "see dmesg for DMAR or AMD-Vi");
  }
  if (table == "DMAR" && !parameters.lists("intel_iommu", "on")) {
    return off("firmware announces it, and the kernel was not told to use it",
               tables.path + ": DMAR; " + facts.commandLine.path + ": no intel_iommu=on",
               addParameter("intel_iommu=on"));
  }
  return off("firmware announces it in " + table + ", the kernel made no group of it",
             tables.path + ": " + table, "see dmesg for DMAR, AMD-Vi or SMMU");
}

void checkPassthrough(const HostFacts& facts, Findings& findings) {
  if (!facts.commandLine) {
    findings.push_back({Check::kIommuPassthrough, Level::kUnknown, "",
                        "the kernel's command line was not seen", whyNot(facts.commandLine), ""});
    return;
  }
  const auto parameters = KernelParameters::parse(*facts.commandLine);
  const bool passes = parameters.lists("iommu", "pt") || parameters.lists("iommu.passthrough", "1");
  findings.push_back({Check::kIommuPassthrough, passes ? Level::kInfo : Level::kOk, "",
                      passes ? "the host's own DMA is not translated; what a VM gets is"
                             : "not asked to be left untranslated",
                      facts.commandLine.path, ""});
}

void checkCoverage(const HostFacts& facts, Findings& findings) {
  std::vector<std::string> bare;
  std::size_t covered = 0;
  for (const auto& [address, device] : facts.hardware->devices) {
    if (!isEndpoint(device)) continue;
    device.group ? static_cast<void>(++covered) : bare.push_back(address.str());
  }
  if (covered == 0 || bare.empty()) {
    findings.push_back({Check::kIommuCoverage, covered == 0 ? Level::kInfo : Level::kOk, "",
                        covered == 0 ? "no endpoint has a group" : "every endpoint has a group", "",
                        ""});
    return;
  }
  findings.push_back({Check::kIommuCoverage, Level::kWarning, "",
                      std::to_string(bare.size()) + " endpoints have no group", someOf(bare),
                      "look for igfx_off on the command line, and for a firmware that leaves "
                      "devices out; they cannot be passed through"});
}

void checkNoIommu(const HostFacts& facts, Findings& findings) {
  const SeenText& mode = facts.vfio.unsafeNoIommu;
  if (!mode) {
    findings.push_back({Check::kNoIommuMode, mode.absent() ? Level::kOk : Level::kUnknown, "",
                        mode.absent() ? "VFIO has no such mode, or is not loaded" : "not readable",
                        whyNot(mode), ""});
    return;
  }
  const bool on = *mode == "Y" || *mode == "1";
  findings.push_back({Check::kNoIommuMode, on ? Level::kProblem : Level::kOk, "",
                      on ? "VFIO hands out devices without any isolation" : "off",
                      mode.path + ": " + *mode, on ? "echo N > " + mode.path : ""});
}

}  // namespace

void checkIommu(const HostFacts& facts, Findings& findings) {
  checkPassthrough(facts, findings);
  checkNoIommu(facts, findings);
  if (!facts.hardware) {
    findings.push_back(unseenHardware(Check::kIommu, facts));
    findings.push_back(unseenHardware(Check::kIommuCoverage, facts));
    return;
  }
  checkCoverage(facts, findings);
  const auto isolates = [](const auto& entry) { return !entry.second.noIommu; };
  const auto groups = std::ranges::count_if(facts.hardware->groups, isolates);
  if (groups == 0) {
    findings.push_back(withoutGroups(facts));
    return;
  }
  const SeenNames& units = facts.iommu.units;
  findings.push_back({Check::kIommu, Level::kOk, "",
                      "on, " + counted(static_cast<std::uint64_t>(groups), "group"),
                      units ? units.path + ": " + someOf(*units) : whyNot(units), ""});
}

}  // namespace vfiogate
