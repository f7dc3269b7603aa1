#include "privd/cli/doctor/examine.h"

#include <algorithm>

namespace vfiogate {
namespace {

Finding judge(const PciDevice& device, std::uint32_t count, const std::string& where) {
  const std::string address = device.address.str();
  const std::string wanted = std::to_string(count);
  const auto say = [&](Level level, std::string what, std::string fix) {
    return Finding{Check::kVirtualFunctions, level, address,
                   std::move(what),          where, std::move(fix)};
  };
  if (device.virtualFunctions == count) return say(Level::kOk, "has " + wanted + ", as wanted", "");
  if (device.virtualFunctions == 0) {
    return say(Level::kWarning, "has none, and " + wanted + " are wanted",
               "systemctl restart vfiogate-binder; journalctl -u vfiogate-binder has why not");
  }
  return say(Level::kWarning,
             "has " + std::to_string(device.virtualFunctions) + ", and " + wanted +
                 " are wanted: privd ends none",
             "once nobody has one: echo 0 > /sys/bus/pci/devices/" + address + "/sriov_numvfs");
}

}  // namespace

void checkVirtualFunctions(const HostFacts& facts, Findings& findings) {
  const BootFacts& boot = facts.boot;
  if (!boot.options && !boot.options.absent()) {
    findings.push_back({Check::kVirtualFunctions, Level::kUnknown, "",
                        "what privd is to make could not be looked at", whyNot(boot.options),
                        "run it as root"});
    return;
  }
  if (boot.vfs.empty()) {
    findings.push_back(
        {Check::kVirtualFunctions, Level::kOk, "", "none are wanted", boot.options.path, ""});
    return;
  }
  if (!facts.hardware) {
    findings.push_back(unseenHardware(Check::kVirtualFunctions, facts));
    return;
  }
  for (const WantedVfs& one : boot.vfs) {
    const auto about = [&one](const auto& entry) { return isAbout(one, entry.second); };
    if (std::ranges::any_of(facts.hardware->devices, about)) continue;
    findings.push_back({Check::kVirtualFunctions, Level::kWarning, one.text,
                        "is about no physical function that is there", boot.options.path,
                        "privd list --select sriov=pf has those; SR-IOV may be off in firmware"});
  }
  for (const auto& [address, device] : facts.hardware->devices) {
    if (const auto count = vfsFor(device, boot.vfs)) {
      findings.push_back(judge(device, *count, boot.options.path));
    }
  }
}

}  // namespace vfiogate
