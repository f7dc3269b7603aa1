#include "cli/table.h"
#include "privd/bind/plan/block_use.h"
#include "privd/cli/policy/guard_evidence.h"
#include "privd/scan/pci_scan.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace vfiogate {
namespace {

using Clear = Sight::Clear;

std::string textOfFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Sight because(const std::string& what, int error) {
  return {Clear::kNo, what + ": " + strerror(error)};
}

Sight probeDevices(const Result<Snapshot, ReadError>& snapshot) {
  if (!snapshot) return because("bus/pci/devices", snapshot.error().error);
  return {Clear::kYes, "sysfs shows " + std::to_string(snapshot->devices.size()) + " functions"};
}

Sight probeGroups(const Result<Snapshot, ReadError>& snapshot) {
  if (!snapshot) return because("kernel/iommu_groups", snapshot.error().error);
  if (snapshot->groups.empty()) return {Clear::kYes, "no IOMMU group: nothing can be bound"};
  return {Clear::kYes, counted(snapshot->groups.size(), "IOMMU group")};
}

/// False, too, of a hidden path of NVMe multipath, which has no node.
bool isOfADevice(const SysfsRoot& sysfs, const std::string& disk) {
  const std::string at = "class/block/" + disk;
  const auto hidden = sysfs.read(at + "/hidden");
  return sysfs.exists(at + "/device") && !sysfs.exists(at + "/partition") &&
         (!hidden || *hidden == "0");
}

/// Shared, and for reading: who uses the disk notices nothing.
Sight probeDisks(const SysfsRoot& sysfs, const DevRoot& dev) {
  const auto names = sysfs.names("class/block");
  if (!names) return because("class/block", names.error().error);
  for (const std::string& name : *names) {
    const auto removable = sysfs.read("class/block/" + name + "/removable");
    if (!isOfADevice(sysfs, name) || (removable && *removable == "1")) continue;
    const auto opened = dev.openNode(name, O_RDONLY | O_NONBLOCK);
    if (!opened) return because(name + " cannot be opened", opened.error().error);
    return {Clear::kYes, "exclusive open: " + name + " can be opened"};
  }
  return {Clear::kUntried, "no disk to try an exclusive open on"};
}

Sight probeMounts(const std::string& given) {
  const std::string path = given.empty() ? "/proc/self/mountinfo" : given;
  const auto mounts = parseMountinfo(textOfFile(path));
  const auto swaps = parseSwaps(textOfFile("/proc/swaps"));
  if (!mounts) return {Clear::kNo, path + " has no mounts"};
  if (!swaps) return {Clear::kNo, "/proc/swaps cannot be read"};
  return {Clear::kYes, path + " has " + std::to_string(mounts->size()) + " mounts"};
}

Sight probeRoutes(const std::string& given) {
  const std::string path = given.empty() ? "/proc/self/net/route" : given;
  const auto routes = parseRoutes(textOfFile(path));
  if (!routes) return {Clear::kNo, path + " cannot be read: give --host-route"};
  return {Clear::kYes, path + " has " + std::to_string(routes->size()) + " routes"};
}

/// sysfs shows interfaces of one network namespace; that of PCI functions is the host's.
Sight probeInterfaces(const SysfsRoot& sysfs) {
  const auto names = sysfs.names("class/net");
  if (!names) return because("class/net", names.error().error);
  std::size_t hardware = 0;
  for (const std::string& name : *names) {
    if (sysfs.exists("class/net/" + name + "/device")) ++hardware;
  }
  if (hardware == 0) {
    return {Clear::kNo,
            "sysfs shows no interface of hardware: this may be another network namespace than the "
            "host's"};
  }
  return {Clear::kYes, "sysfs shows " + std::to_string(hardware) + " interfaces of hardware"};
}

Sight probeModules(const SysfsRoot& sysfs) {
  const auto drivers = sysfs.names("bus/pci/drivers");
  if (!drivers) return because("bus/pci/drivers", drivers.error().error);
  std::size_t counted = 0;
  for (const std::string& driver : *drivers) {
    if (sysfs.read("bus/pci/drivers/" + driver + "/module/refcnt")) ++counted;
  }
  return {Clear::kYes, "reference counts of " + std::to_string(counted) + " of " +
                           std::to_string(drivers->size()) +
                           " PCI drivers; the others are built in"};
}

/// /dev/vfio/vfio is no group: opening it is nobody's loss.
Sight probeNodes(const DevRoot& dev) {
  const auto opened = dev.openNode("vfio/vfio", O_RDWR);
  if (opened) return {Clear::kYes, "VFIO's nodes can be opened, so a group can be held open"};
  Sight sight = because("vfio/vfio cannot be opened", opened.error().error);
  sight.what += ": taking devices from VFIO needs --allow-unguarded-unbind";
  return sight;
}

Sight probeState(const std::string& stateDir) {
  const std::string holds = stateDir + "/holds";
  if (access(holds.c_str(), R_OK) == 0) return {Clear::kYes, "exclusions are kept in " + holds};
  if (errno == ENOENT) return {Clear::kYes, holds + " is not there: nothing was ever excluded"};
  return because(holds, errno);
}

}  // namespace

HostSights findEvidence(const SightPlaces& places) {
  HostSights sights;
  sights.mounts = probeMounts(places.hostMountinfo);
  sights.routes = probeRoutes(places.hostRoute);
  sights.state = probeState(places.stateDir);
  const auto sysfs = SysfsRoot::open(places.sysfs);
  const auto dev = DevRoot::open(places.dev);
  if (!sysfs || !dev) {
    const Sight missing = !sysfs ? because(places.sysfs, sysfs.error().error)
                                 : because(places.dev, dev.error().error);
    sights.headers = sights.disks = sights.interfaces = sights.modules = missing;
    sights.groups = sights.nodes = missing;
    return sights;
  }
  const auto snapshot = scan(*sysfs, *dev);
  sights.headers = probeDevices(snapshot);
  sights.groups = probeGroups(snapshot);
  sights.disks = probeDisks(*sysfs, *dev);
  sights.interfaces = probeInterfaces(*sysfs);
  sights.modules = probeModules(*sysfs);
  sights.nodes = probeNodes(*dev);
  return sights;
}

}  // namespace vfiogate
