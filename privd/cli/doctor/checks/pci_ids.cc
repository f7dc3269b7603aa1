#include "cli/table.h"
#include "privd/cli/doctor/examine.h"
#include "privd/cli/doctor/kernel_parameters.h"
#include "privd/cli/doctor/modprobe_config.h"

#include "ipc/base/hex.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr const char* kByAddress = "bind by address instead: privd bind ADDRESS --keep";

/// A model that a driver takes at boot.
struct BootId {
  std::string id;
  bool vfio = true;   ///< false: pci-stub takes it
  std::string where;  ///< file and parameter
};

/// The devices that "10de:2684" or "10de:2684:..." takes; null: it makes no sense.
std::optional<std::vector<Bdf>> takenBy(const std::string& id, const Snapshot& hardware) {
  const std::size_t colon = id.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto vendor = parseHex(id.substr(0, colon));
  const auto device = parseHex(id.substr(colon + 1, id.find(':', colon + 1) - colon - 1));
  if (!vendor || !device) return std::nullopt;
  std::vector<Bdf> taken;
  for (const auto& [address, each] : hardware.devices) {
    if (each.vendor == *vendor && each.device == *device) taken.push_back(address);
  }
  return taken;
}

std::vector<BootId> idsOf(const HostFacts& facts) {
  std::vector<BootId> ids;
  const auto parameters = KernelParameters::parse(facts.commandLine ? *facts.commandLine : "");
  for (const auto& [name, vfio] : {std::pair{"vfio-pci.ids", true}, {"pci-stub.ids", false}}) {
    for (const std::string& id : parameters.values(name)) {
      ids.push_back({id, vfio, facts.commandLine.path + ": " + name});
    }
  }
  for (const auto& [file, text] : facts.boot.modprobeFiles) {
    for (const ModprobeLine& line : parseModprobe(text ? *text : "")) {
      const bool vfio = line.module == "vfio_pci";
      if (line.command != "options" || (!vfio && line.module != "pci_stub")) continue;
      for (const std::string& id : valuesOf(line, "ids")) {
        ids.push_back({id, vfio, text.path + ":" + std::to_string(line.number)});
      }
    }
  }
  return ids;
}

/// A device that vfio-pci takes by its model, and driverctl gives to another driver.
std::optional<Finding> contradiction(const BootId& id, const std::vector<Bdf>& taken,
                                     const BootFacts& boot) {
  for (const auto& [file, driver] : boot.overrides) {
    const auto address = driverctlAddress(file);
    if (!address || std::ranges::find(taken, *address) == taken.end()) continue;
    if (!driver || driver->find("vfio") != std::string::npos) continue;
    return Finding{
        Check::kVfioPciIds,
        Level::kWarning,
        id.id,
        "takes " + address->str() + " for vfio-pci at boot, and driverctl gives it to " + *driver,
        id.where + "; " + driver.path,
        "take the id away and bind by address, or driverctl unset-override " + address->str()};
  }
  return std::nullopt;
}

Finding judge(const BootId& id, const HostFacts& facts) {
  const auto taken = takenBy(id.id, facts.hardware ? *facts.hardware : Snapshot{});
  const auto say = [&](Level level, std::string what, std::string fix) {
    return Finding{Check::kVfioPciIds, level, id.id, std::move(what), id.where, std::move(fix)};
  };
  if (!taken) {
    return say(Level::kWarning, "makes no sense: give VENDOR:DEVICE in hexadecimal digits",
               kByAddress);
  }
  const std::string count = std::to_string(taken->size());
  if (!id.vfio) {
    return say(
        taken->empty() ? Level::kInfo : Level::kWarning,
        "pci-stub takes " + counted(taken->size(), "such device") + " at boot, and offers no VFIO",
        taken->empty() ? "" : kByAddress);
  }
  if (auto found = contradiction(id, *taken, facts.boot)) return *std::move(found);
  if (taken->size() > 1) {
    return say(Level::kWarning, "takes " + count + " devices at boot, all of this model",
               kByAddress);
  }
  return say(Level::kInfo, "is taken at boot, wherever it is plugged in", "");
}

}  // namespace

void checkPciIds(const HostFacts& facts, Findings& findings) {
  const std::vector<BootId> ids = idsOf(facts);
  for (const BootId& id : ids) findings.push_back(judge(id, facts));
  if (!facts.commandLine) {
    findings.push_back({Check::kVfioPciIds, Level::kUnknown, "",
                        "the kernel's command line was not seen", whyNot(facts.commandLine), ""});
  } else if (ids.empty()) {
    findings.push_back({Check::kVfioPciIds, Level::kOk, "", "none is named",
                        facts.commandLine.path + ", " + modprobePlaces(facts.boot), ""});
  }
}

}  // namespace vfiogate
