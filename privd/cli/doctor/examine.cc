#include "privd/cli/doctor/examine.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr std::size_t kMostNames = 8;
constexpr const char* kHowToKeep =
    " (GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub) and reboot";

}  // namespace

Findings examine(const HostFacts& facts) {
  Findings findings;
  for (const auto check : {checkIommu, checkInterrupts, checkModules, checkVfioPci, checkDriverctl,
                           checkModprobe, checkGroups, checkDevices, checkWindows, checkParameters,
                           checkDisplay, checkMemlock, checkCdi, checkKubelet, checkSecurity,
                           checkLandlock, checkSysfs, checkObstacles, checkVirtualFunctions}) {
    check(facts, findings);
  }
  std::ranges::stable_sort(findings, [](const Finding& left, const Finding& right) {
    return left.level != right.level ? left.level > right.level : left.check < right.check;
  });
  return findings;
}

std::string addParameter(std::string_view parameter) {
  return "add " + std::string(parameter) + " to the kernel's command line" + kHowToKeep;
}

std::string removeParameter(std::string_view parameter) {
  return "take " + std::string(parameter) + " from the kernel's command line" + kHowToKeep;
}

std::string someOf(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMostNames) {
    text += " and " + std::to_string(names.size() - kMostNames) + " more";
  }
  return text;
}

Finding unseenHardware(Check check, const HostFacts& facts) {
  return {check,
          Level::kUnknown,
          "",
          "no PCI hardware was seen",
          whyNot(facts.hardware),
          "run it where the host's sysfs is, or name it: --sysfs DIR"};
}

}  // namespace vfiogate
