#pragma once
// Everything the simulated kernel knows at one moment.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/sysfs/kernel/uevent.h"
#include "sim/sysfs/topology/topology.h"

namespace vfiogate::sim {

/// Names a running operation; 0 names none.
using TaskId = std::uint64_t;

/// One `struct pci_dev`.
struct Device {
  explicit Device(const Hardware& found) : hardware(found), resetMethods(found.reset) {}

  Hardware hardware;         ///< as found when the kernel met it
  std::uint64_t serial = 0;  ///< another one each time it is added: open files do not survive
  std::string driver;        ///< still set while `releasing`, as in the kernel
  std::string driverOverride;
  std::uint32_t enableCount = 0;
  std::vector<std::string> resetMethods;
  bool vfioMember = false;               ///< its group is open to VFIO because of it
  std::optional<std::uint32_t> vfioDev;  ///< K of vfio-dev/vfioK
  std::uint32_t opens = 0;      ///< descriptors from VFIO_GROUP_GET_DEVICE_FD or BIND_IOMMUFD
  std::uint32_t cdevOpens = 0;  ///< opened, not bound to an iommufd: nothing shows it
  std::uint32_t users = 0;      ///< uses of its host driver's module, while that has it
  bool releasing = false;       ///< its driver is being taken away; the link is gone already
  TaskId lock = 0;
  std::uint32_t virtualFunctions = 0;
  bool vfAutoprobe = true;
  std::optional<Bdf> physicalFunction;  ///< of a virtual function
  std::uint32_t vfIndex = 0;
  std::uint32_t vgpuType = 0;  ///< that is set on it
};

/// A mediated device; always on kMediatedDriver.
struct Mediated {
  std::string uuid;
  Bdf parent;
  std::string type;
  std::uint32_t group = 0;    ///< its own
  std::uint32_t vfioDev = 0;  ///< K of vfio-dev/vfioK
  std::uint64_t serial = 0;
};

inline constexpr const char* kMediatedDriver = "vfio_mdev";

struct Group {
  std::string type;
  bool noIommu = false;
  std::string holder;  ///< who has /dev/vfio/G open; the node is an exclusive lock
};

struct Driver {
  DriverSpec spec;
  std::vector<IdMatch> dynamicIds;
};

/// A file whose writes hang or fail, by order of the person at the controls.
struct Obstruction {
  std::string path;         ///< real location, "sys/...", or "sys/bus/pci/drivers/*/bind"
  std::string text;         ///< only writes of this text; empty: all
  int error = 0;            ///< 0: they hang
  std::uint32_t times = 0;  ///< so many writes fail, then no more; 0: all
  bool silent = false;      ///< they succeed and do nothing
};

/// A write that has begun.
struct NotedWrite {
  TaskId task = 0;
  std::string attribute;  ///< as a program would name it, below the root of sysfs
  std::string text;
  std::optional<int> error;  ///< absent: it hangs
};

/// One write to come that will not go well.
struct NthWrite {
  std::uint32_t left = 1;  ///< 1: the next one
  int error = 0;           ///< 0: it hangs
};

struct World {
  static constexpr std::size_t kMostWrites = 1000;

  Topology topology;              ///< what there could be; `hardware` changes with renumber
  std::map<Bdf, Hardware> slots;  ///< what is plugged in
  std::map<Bdf, Device> devices;  ///< what the kernel knows
  std::map<std::string, Mediated> mediated;  ///< by UUID
  std::vector<Driver> drivers;               ///< loaded, in order of registration
  std::map<std::uint32_t, Group> groups;
  std::vector<Obstruction> obstructions;
  std::optional<NthWrite> nth;
  std::vector<NotedWrite> writes;  ///< the first ones since they were cleared
  std::size_t writesBeyond = 0;    ///< how many came after those
  std::vector<Uevent> events;      ///< not yet told to anybody
  TaskId rescanLock = 0;
  bool driversAutoprobe = true;
  std::uint64_t nextSerial = 1;
};

/// Below the root of sysfs, such as "devices/pci0000:00/0000:00:01.0/0000:01:00.0".
std::string devicePath(const World& world, const Hardware& hardware);

/// Null if none of that name is loaded.
const Driver* findDriver(const World& world, std::string_view name);
Driver* findDriver(World& world, std::string_view name);

/// Null if the kernel does not know it. `text` may end in a newline, as written by echo.
Device* findDevice(World& world, std::string_view text);

std::vector<const Device*> membersOf(const World& world, std::uint32_t group);

/// Enabling a device enables the bridges above it, if they are not, with or without a driver; for
/// good.
void enableBridgesAbove(World& world, const Device& device);

/// Whether the group's DMA is claimed through VFIO.
bool groupInUse(const World& world, std::uint32_t group);

/// The name of the group's node below /dev/vfio, such as "12" or "noiommu-0".
std::string groupNodeName(const World& world, std::uint32_t group);

/// Whether the group has a node below /dev/vfio.
bool hasGroupNode(const World& world, std::uint32_t group);

/// `text` without the newline that ends it.
std::string_view withoutNewline(std::string_view text);

/// What the kernel tells about a PCI device, with the keys it has at this moment.
Uevent pciEvent(const World& world, const Device& device, std::string_view action);

/// The keys that describe a PCI device in its events and its `uevent` file.
std::vector<std::pair<std::string, std::string>> pciKeys(const Device& device);

/// Such as "pci:v000010DEd00002684sv000010DEsd000016F3bc03sc00i00".
std::string modalias(const Hardware& hardware);

}  // namespace vfiogate::sim
