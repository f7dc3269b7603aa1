#include "privd/cli/doctor/examine.h"

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
