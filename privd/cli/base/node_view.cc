#include "privd/cli/base/node_view.h"

#include "cli/common_options.h"
#include "ipc/base/hex.h"
#include "ipc/types/units.h"
#include "privd/base/open_file.h"
#include "privd/cli/base/recorded_holders.h"
#include "privd/cli/base/running_changes.h"
#include "privd/scan/pci_scan.h"
#include "privd/state/state_directory.h"

#include <CLI/CLI.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vfiogate {

void addViewOptions(CLI::App& command, ViewOptions& options) {
  addPathOption(command, "--sysfs", options.sysfs, "the root below which sysfs is found");
  addPathOption(command, "--dev", options.dev, "the root below which device nodes are looked for");
  addPathOption(command, "--pci-ids", options.pciIds, "names of devices and classes");
  addPathOption(command, "--state-dir", options.stateDir,
                std::string("where privd hold has what is excluded [") + kMachinesState +
                    ", where no --sysfs or --dev is given]");
}

void addRecordOption(CLI::App& command, ViewOptions& options) {
  addPathOption(command, "--record-dir", options.recordDir,
                std::string("the record of allocations, for who has what, and changes that run [") +
                    kMachinesRecord + ", where no --sysfs or --dev is given]");
}

void addRescanOption(CLI::App& command, std::uint32_t& seconds) {
  CLI::Option* rescan =
      command.add_option("--rescan", seconds, "how long between rereads without a hint")
          ->capture_default_str()
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  takeNumber(*rescan, "SECONDS", "number of seconds", 1, 86'400);
}

Result<NodeView, std::string> NodeView::take(const ViewOptions& options) {
  const auto sysfs = SysfsRoot::open(options.sysfs);
  if (!sysfs) {
    return Failure{"--sysfs " + options.sysfs + ": " + strerror(sysfs.error().error)};
  }
  if (!sysfs->exists("bus/pci/devices")) {
    return Failure{"--sysfs " + options.sysfs + ": has no bus/pci/devices: is it a sysfs?"};
  }
  const auto dev = DevRoot::open(options.dev);
  if (!dev) return Failure{"--dev " + options.dev + ": " + strerror(dev.error().error)};
  auto seen = scanUnits(*sysfs, *dev);
  if (!seen) {
    return Failure{"--sysfs " + options.sysfs +
                   ": cannot be listed: " + strerror(seen.error().error)};
  }
  NodeView view{.snapshot = std::move(seen).value(),
                .names = PciIds::load(options.pciIds),
                .problem = {},
                .changesProblem = {}};
  const UnknownStates unknown = markStates(view.snapshot, options.stateDir, options.recordDir);
  view.problem = unknown.excluded;
  view.changesProblem = unknown.changes;
  return view;
}

std::string NodeView::className(const PciDevice& device) const {
  if (!device.classCode) return "class unknown";
  return names.className(*device.classCode).value_or("class " + hexDigits(*device.classCode, 6));
}

std::string NodeView::deviceName(const PciDevice& device) const {
  if (!device.vendor || !device.device) return "unknown";
  const auto vendor = names.vendor(*device.vendor);
  const auto name = names.device(*device.vendor, *device.device);
  const std::string ids = hexDigits(*device.vendor, 4) + ":" + hexDigits(*device.device, 4);
  if (!vendor) return ids;
  return *vendor + " " + name.value_or("[" + ids + "]");
}

std::string NodeView::briefName(const PciDevice& device) const {
  if (!device.vendor || !device.device) return "unknown";
  const std::string ids =
      "[" + hexDigits(*device.vendor, 4) + ":" + hexDigits(*device.device, 4) + "]";
  const auto vendor = names.vendor(*device.vendor);
  const auto name = names.device(*device.vendor, *device.device);
  return (vendor ? briefVendor(*vendor) + " " : "") + (name ? *name + " " : "") + ids;
}

ExcludedDevices readExcluded(const std::string& stateDir) {
  ExcludedDevices excluded;
  if (stateDir.empty()) return excluded;
  const std::string folder = stateDir + "/" + kExclusionsFolder;
  const auto failed = [&](int error) {
    if (error != ENOENT) excluded.problem = folder + ": " + strerror(error);
    return excluded;
  };
  auto directory = openAt(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
  if (!directory) return failed(directory.error().error);
  const auto names = directoryNames(kj::mv(directory).value());
  if (!names) return failed(names.error().error);
  for (const std::string& name : *names) {
    const auto device = UnitId::parse(name);
    if (device && device->str() == name) excluded.devices.insert(*device);
  }
  return excluded;
}

void markExcluded(Snapshot& snapshot, const ExcludedDevices& excluded) {
  for (auto& [id, group] : snapshot.groups) {
    group.binding.excluded = std::ranges::any_of(
        unitsOf(group), [&](const UnitId& unit) { return excluded.devices.contains(unit); });
  }
}

UnknownStates markStates(Snapshot& snapshot, const std::string& stateDir,
                         const std::string& recordDir, const std::string& procRoot) {
  const ExcludedDevices excluded = readExcluded(stateDir);
  const RunningChanges changes = readRunningChanges(recordDir, procRoot);
  markExcluded(snapshot, excluded);
  markChanges(snapshot, changes);
  return {excluded.problem, changes.problem};
}

}  // namespace vfiogate
