#include "privd/cli/doctor/examine.h"

#include <algorithm>

namespace vfiogate {
namespace {

/// Where privd is told to bind the device at boot; empty: it is not.
std::string declaredWhere(const std::vector<DeclaredDevices>& declared, const PciDevice& device) {
  const auto found = std::ranges::find_if(
      declared, [&](const DeclaredDevices& each) { return matches(each.which, device); });
  return found == declared.end() ? "" : found->where;
}

/// What driverctl does to `device` at boot, and what speaks against it.
Finding judgeOverride(const PciDevice& device, const SeenText& override,
                      const std::string& declared) {
  const std::string address = device.address.str();
  const std::string driver = *override == "none" ? "no driver" : *override;
  const std::string now = device.driver.empty() ? "no driver" : device.driver;
  const auto say = [&](Level level, std::string what, const std::string& fix) {
    return Finding{Check::kDriverctl,
                   level,
                   address,
                   std::move(what),
                   override.path + (declared.empty() ? "" : "; " + declared),
                   fix};
  };
  const std::string end = "driverctl unset-override " + address;
  const bool forVfio = driver.find("vfio") != std::string::npos;
  if (!declared.empty() && !forVfio) {
    return say(Level::kProblem,
               "driverctl gives it to " + driver + " at boot, and privd is told to bind it to VFIO",
               end + ", or privd forget " + address + " (of a declare line: take it away)");
  }
  if (!declared.empty()) {
    return say(Level::kWarning, "both driverctl and privd bind it at boot", end);
  }
  if (forVfio == offersVfio(device)) {
    return say(Level::kInfo, "driverctl gives it to " + driver + " at boot", "");
  }
  return say(Level::kWarning,
             "is on " + now + ", and driverctl gives it to " + driver + " at the next boot",
             forVfio ? "driverctl load-override " + address + ", or " + end
                     : end + " once nobody uses it, then privd bind " + address + " --keep");
}

Finding judgeFile(const std::string& file, const SeenText& override, const HostFacts& facts) {
  const auto say = [&](Level level, std::string what, std::string fix) {
    return Finding{Check::kDriverctl, level, file, std::move(what), override.path, std::move(fix)};
  };
  const auto address = driverctlAddress(file);
  if (!address)
    return say(Level::kInfo, "of no PCI device: driverctl leaves PCI devices alone", "");
  if (!override) {
    return {Check::kDriverctl,   Level::kUnknown,  file,
            "could not be read", whyNot(override), "run it as root"};
  }
  if (override->empty() || override->find_first_of(" \t\n/") != std::string::npos) {
    return say(Level::kWarning, "names no driver: driverctl can load nothing from it",
               "driverctl unset-override " + address->str());
  }
  const auto device = facts.hardware->devices.find(*address);
  if (device == facts.hardware->devices.end()) {
    return say(Level::kInfo, "no device is there now", "");
  }
  return judgeOverride(device->second, override,
                       declaredWhere(facts.boot.declared, device->second));
}

}  // namespace

std::optional<Bdf> driverctlAddress(std::string_view file) {
  constexpr std::string_view kBus = "pci-";
  if (!file.starts_with(kBus)) return std::nullopt;
  const auto address = Bdf::parse(file.substr(kBus.size()));
  return address ? std::optional(*address) : std::nullopt;
}

void checkDriverctl(const HostFacts& facts, Findings& findings) {
  const BootFacts& boot = facts.boot;
  if (!boot.driverctl) {
    const bool absent = boot.driverctl.absent();
    findings.push_back({Check::kDriverctl, absent ? Level::kOk : Level::kUnknown, "",
                        absent ? "keeps no driver for any device" : "could not be looked at",
                        whyNot(boot.driverctl), ""});
    return;
  }
  if (boot.overrides.empty()) {
    findings.push_back({Check::kDriverctl, Level::kOk, "", "keeps no driver for any device",
                        boot.driverctl.path, ""});
  } else if (!facts.hardware) {
    findings.push_back(unseenHardware(Check::kDriverctl, facts));
  } else {
    if (!boot.kept && !boot.kept.absent()) {
      findings.push_back({Check::kDriverctl, Level::kUnknown, "",
                          "what privd is told to bind could not be looked at", whyNot(boot.kept),
                          "run it as root"});
    }
    for (const auto& [file, override] : boot.overrides) {
      findings.push_back(judgeFile(file, override, facts));
    }
  }
}

}  // namespace vfiogate
