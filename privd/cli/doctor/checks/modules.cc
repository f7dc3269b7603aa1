#include "privd/cli/doctor/examine.h"
#include "privd/cli/doctor/kernel_parameters.h"

#include "ipc/base/hex.h"

#include <algorithm>

namespace vfiogate {
namespace {

/// Names in sysfs have '_' where most files have '-'.
bool listsModule(const std::string& list, const std::string& name) {
  std::string dashed = name;
  std::ranges::replace(dashed, '_', '-');
  return list.find("/" + dashed + ".ko") != std::string::npos ||
         list.find("/" + name + ".ko") != std::string::npos;
}

Finding judgeModule(const ModuleFacts& modules, const std::string& name) {
  const auto say = [&](Level level, std::string what, std::string evidence, std::string fix = {}) {
    return Finding{Check::kVfioModule,  level,         name, std::move(what),
                   std::move(evidence), std::move(fix)};
  };
  if (modules.builtIn && listsModule(*modules.builtIn, name)) {
    return say(Level::kOk, "built in", modules.builtIn.path);
  }
  if (modules.loaded && std::ranges::find(*modules.loaded, name) != modules.loaded->end()) {
    return say(Level::kOk, "loaded", modules.loaded.path);
  }
  if (!modules.dependencies) {
    return say(Level::kUnknown, "not loaded; whether this kernel has it could not be seen",
               whyNot(modules.dependencies), "modprobe " + name);
  }
  if (listsModule(*modules.dependencies, name)) {
    return say(Level::kWarning, "there, and not loaded", modules.dependencies.path,
               "modprobe " + name + ", and its name into /etc/modules-load.d/vfiogate.conf");
  }
  return say(Level::kProblem, "this kernel does not have it", modules.dependencies.path,
             "install the distribution's whole kernel, or build it with VFIO");
}

bool isOn(const SeenText& parameter) {
  return parameter && (*parameter == "Y" || *parameter == "1");
}

void checkPciParameters(const VfioFacts& vfio, Findings& findings) {
  if (!vfio.disableIdleD3 && !vfio.disableVga && !vfio.disableDenylist) {
    const bool absent = vfio.disableIdleD3.absent();
    findings.push_back({Check::kVfioPciParameters, absent ? Level::kInfo : Level::kUnknown, "",
                        absent ? "vfio_pci is not loaded" : "not readable",
                        whyNot(vfio.disableIdleD3), ""});
    return;
  }
  const auto value = [](const SeenText& parameter) { return parameter ? *parameter : "?"; };
  const bool denylist = isOn(vfio.disableDenylist);
  findings.push_back(
      {Check::kVfioPciParameters, denylist ? Level::kWarning : Level::kInfo, "",
       denylist ? "devices that the kernel knows to break the host are taken, too"
       : isOn(vfio.disableIdleD3)
           ? "idle devices stay powered"
           : "idle devices sleep in D3; where one does not wake up, set disable_idle_d3=Y",
       "disable_idle_d3=" + value(vfio.disableIdleD3) + " disable_vga=" + value(vfio.disableVga) +
           " disable_denylist=" + value(vfio.disableDenylist),
       denylist ? "take disable_denylist out of /etc/modprobe.d" : ""});
}

/// How many devices "10de:2684" or "10de:2684:..." takes; null: it makes no sense.
std::optional<std::size_t> takenBy(const std::string& id, const Snapshot& hardware) {
  const std::size_t colon = id.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto vendor = parseHex(id.substr(0, colon));
  const auto device = parseHex(id.substr(colon + 1, id.find(':', colon + 1) - colon - 1));
  if (!vendor || !device) return std::nullopt;
  return std::ranges::count_if(hardware.devices, [&](const auto& entry) {
    return entry.second.vendor == *vendor && entry.second.device == *device;
  });
}

void checkPciIds(const HostFacts& facts, Findings& findings) {
  if (!facts.commandLine) {
    findings.push_back({Check::kVfioPciIds, Level::kUnknown, "",
                        "the kernel's command line was not seen", whyNot(facts.commandLine), ""});
    return;
  }
  const std::vector<std::string> ids =
      KernelParameters::parse(*facts.commandLine).values("vfio-pci.ids");
  if (ids.empty()) {
    findings.push_back({Check::kVfioPciIds, Level::kOk, "", "none on the command line",
                        facts.commandLine.path, ""});
  }
  for (const std::string& id : ids) {
    const auto taken = takenBy(id, facts.hardware ? *facts.hardware : Snapshot{});
    const bool doubled = taken && *taken > 1;
    findings.push_back(
        {Check::kVfioPciIds, !taken || doubled ? Level::kWarning : Level::kInfo, id,
         !taken    ? "makes no sense: give VENDOR:DEVICE in hexadecimal digits"
         : doubled ? "takes " + std::to_string(*taken) + " devices at boot, all of this model"
                   : "is taken at boot, wherever it is plugged in",
         facts.commandLine.path + ": vfio-pci.ids",
         doubled || !taken ? "bind by address instead: driverctl set-override ADDRESS vfio-pci, or "
                             "driver_override in sysfs"
                           : ""});
  }
}

void checkNodes(const HostFacts& facts, Findings& findings) {
  if (!facts.hardware) {
    findings.push_back(unseenHardware(Check::kVfioNodes, facts));
    return;
  }
  const bool control = facts.hardware->controlNode;
  const bool iommufd = facts.hardware->iommufdNode;
  findings.push_back({Check::kVfioNodes, control || iommufd ? Level::kOk : Level::kWarning, "",
                      control && iommufd ? "/dev/vfio/vfio and /dev/iommu"
                      : control          ? "/dev/vfio/vfio; no /dev/iommu, so no iommufd"
                      : iommufd          ? "/dev/iommu; no /dev/vfio/vfio"
                                         : "neither /dev/vfio/vfio nor /dev/iommu",
                      "",
                      control || iommufd ? ""
                                         : "modprobe vfio-pci; in a container: mount the "
                                           "host's /dev, or name it: --dev DIR"});
}

}  // namespace

void checkModules(const HostFacts& facts, Findings& findings) {
  for (const char* name : {"vfio", "vfio_pci", "vfio_iommu_type1"}) {
    findings.push_back(judgeModule(facts.modules, name));
  }
}

void checkVfioPci(const HostFacts& facts, Findings& findings) {
  checkPciParameters(facts.vfio, findings);
  checkPciIds(facts, findings);
  checkNodes(facts, findings);
}

}  // namespace vfiogate
