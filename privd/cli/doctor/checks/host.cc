#include "privd/cli/doctor/examine.h"
#include "privd/cli/doctor/kernel_parameters.h"

#include <algorithm>
#include <sstream>

namespace vfiogate {
namespace {

struct Hostile {
  const char* name;
  const char* item;  ///< empty: being there is enough
  Level level;
  const char* what;
};
constexpr std::array kHostile{
    Hostile{"pci", "nomsi", Level::kProblem, "devices get no message signalled interrupts"},
    Hostile{"pci", "disable_acs_redir", Level::kWarning, "devices may reach each other directly"},
    Hostile{"modprobe.blacklist", "vfio-pci", Level::kProblem,
            "vfio-pci is never loaded by itself"},
    Hostile{"modprobe.blacklist", "vfio_pci", Level::kProblem,
            "vfio-pci is never loaded by itself"},
    Hostile{"module_blacklist", "vfio-pci", Level::kProblem, "the kernel refuses to load vfio-pci"},
    Hostile{"module_blacklist", "vfio_pci", Level::kProblem, "the kernel refuses to load vfio-pci"},
    Hostile{"vfio_pci.disable_denylist", "", Level::kWarning,
            "devices that the kernel knows to break the host are taken, too"},
    Hostile{"intel_iommu", "igfx_off", Level::kInfo, "the integrated display has no group"},
};

bool takesFirmwareDisplay(const std::string& framebuffers) {
  return framebuffers.find("EFI VGA") != std::string::npos ||
         framebuffers.find("VESA VGA") != std::string::npos ||
         framebuffers.find("simple") != std::string::npos;
}

/// Who draws on what the firmware left; empty: nobody was seen.
std::string firmwareDisplay(const DisplayFacts& display) {
  if (display.framebuffers && takesFirmwareDisplay(*display.framebuffers)) {
    return display.framebuffers.path + ": " + *display.framebuffers;
  }
  for (const SeenNames* devices : {&display.simpleDisplays, &display.efiDisplays}) {
    if (*devices && std::ranges::any_of(**devices, [](const std::string& name) {
          return name.find("framebuffer") != std::string::npos;
        })) {
      return devices->path + ": " + someOf(**devices);
    }
  }
  return {};
}

/// "Max locked memory" of a process, in bytes; null: no such line. Unlimited is the largest.
std::optional<std::uint64_t> softMemlock(const std::string& limits) {
  constexpr std::string_view kLine = "Max locked memory";
  const std::size_t at = limits.find(kLine);
  if (at == std::string::npos) return std::nullopt;
  std::istringstream words(limits.substr(at + kLine.size(), 64));
  std::string soft;
  words >> soft;
  if (soft == "unlimited") return UINT64_MAX;
  std::uint64_t bytes = 0;
  std::istringstream number(soft);
  return number >> bytes ? std::optional(bytes) : std::nullopt;
}

Finding memlockOf(const std::string& who, const SeenText& limits, Level tooLow,
                  const std::string& fix) {
  const auto bytes = limits ? softMemlock(*limits) : std::nullopt;
  if (!bytes) {
    return {Check::kMemlock,
            Level::kUnknown,
            who,
            "its limit was not seen",
            limits ? limits.path + ": no line on locked memory" : whyNot(limits),
            ""};
  }
  const bool enough = *bytes == UINT64_MAX;
  return {Check::kMemlock,
          enough ? Level::kOk : tooLow,
          who,
          enough
              ? "may pin all memory"
              : "may pin " + std::to_string(*bytes >> 20U) + " MiB; VFIO pins a VM's memory whole",
          limits.path,
          enough ? "" : fix};
}

}  // namespace

void checkParameters(const HostFacts& facts, Findings& findings) {
  if (!facts.commandLine) {
    findings.push_back({Check::kKernelParameter, Level::kUnknown, "",
                        "the kernel's command line was not seen", whyNot(facts.commandLine), ""});
    return;
  }
  const auto parameters = KernelParameters::parse(*facts.commandLine);
  bool clean = true;
  for (const Hostile& hostile : kHostile) {
    const std::string item = hostile.item;
    if (item.empty() ? !parameters.has(hostile.name) : !parameters.lists(hostile.name, item)) {
      continue;
    }
    clean = false;
    const std::string given = hostile.name + (item.empty() ? item : "=" + item);
    findings.push_back({Check::kKernelParameter, hostile.level, given, hostile.what,
                        facts.commandLine.path, removeParameter(given)});
  }
  if (clean) {
    findings.push_back({Check::kKernelParameter, Level::kOk, "", "nothing against VFIO",
                        facts.commandLine.path, ""});
  }
}

void checkDisplay(const HostFacts& facts, Findings& findings) {
  if (!facts.hardware) {
    findings.push_back(unseenHardware(Check::kBootDisplay, facts));
    return;
  }
  const auto say = [&](Level level, const std::string& subject, std::string what,
                       std::string evidence, std::string fix) {
    findings.push_back({Check::kBootDisplay, level, subject, std::move(what), std::move(evidence),
                        std::move(fix)});
  };
  const auto boot = std::ranges::find_if(facts.hardware->devices,
                                         [](const auto& entry) { return entry.second.bootVga; });
  if (boot == facts.hardware->devices.end()) {
    say(Level::kOk, "", "no PCI device is the firmware's display", "boot_vga: nowhere 1", "");
    return;
  }
  const std::string address = boot->first.str();
  const std::string drawing = firmwareDisplay(facts.display);
  if (!offersVfio(boot->second)) {
    say(Level::kInfo, address, "the firmware's display: a VM that gets it takes the console",
        drawing, "");
  } else if (drawing.empty()) {
    say(Level::kOk, address, "on a VFIO driver, and no console of the firmware was seen", "", "");
  } else {
    say(Level::kWarning, address,
        "on a VFIO driver, while the host still draws on it: a VM may find its memory taken",
        drawing, addParameter("initcall_blacklist=sysfb_init"));
  }
}

void checkMemlock(const HostFacts& facts, Findings& findings) {
  findings.push_back(memlockOf("this session", facts.ownLimits, Level::kInfo,
                               "ulimit -l unlimited, or /etc/security/limits.d, before starting a "
                               "VM by hand"));
  for (const RuntimeFacts& runtime : facts.runtimes) {
    findings.push_back(memlockOf(runtime.name, runtime.limits, Level::kWarning,
                                 "systemctl edit " + runtime.name +
                                     ": [Service] LimitMEMLOCK=infinity; KubeVirt raises it "
                                     "by itself"));
  }
  if (facts.runtimes.empty()) {
    findings.push_back({Check::kMemlock, facts.processes ? Level::kInfo : Level::kUnknown,
                        "container runtime", "none is running that was seen",
                        facts.processes ? "no process of one below " + facts.processes.path
                                        : whyNot(facts.processes),
                        ""});
  }
}

}  // namespace vfiogate
