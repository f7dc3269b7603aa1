#pragma once
// sysfs and /dev, read into a Snapshot: all of it, one PCI function, one IOMMU group, or the places
// where something may have changed.

#include "ipc/types/snapshot.h"
#include "privd/scan/device_place.h"
#include "privd/scan/sysfs_root.h"

#include <optional>
#include <set>
#include <string>

namespace vfiogate {

/// Where to read. A device's groups, before and after, are looked at with it, and what a group got
/// or lost is looked at with the group.
struct Places {
  std::set<Bdf> devices;
  std::set<IommuGroupId> groups;
  std::set<Uuid> mediated{};

  bool empty() const { return size() == 0; }
  std::size_t size() const { return devices.size() + groups.size() + mediated.size(); }
  void add(const Places& more);

  friend bool operator==(const Places&, const Places&) = default;
};

/// Everything that sysfs lists now. Error: devices or groups cannot even be listed, which must not
/// look like a machine without any; a sysfs that has none is no error.
Result<Places, ReadError> placesOf(const SysfsRoot& sysfs);
/// Everything that `seen` has.
Places placesOf(const Snapshot& seen);

/// Reads these devices and groups anew and puts what is there now into `seen`; what is not there
/// leaves it. What cannot be read of a device is absent and named in its problems, and a group
/// whose use cannot be told is kUnknown. Reads neither `uevent` nor `driver_override`: on
/// kernel 6.1 both hang while somebody unbinds a device that is in use. `slots` are the machine's:
/// without them no device is in any. Returns true if `seen` is another than before.
bool reread(const SysfsRoot& sysfs, const DevRoot& dev, const Places& where, Snapshot& seen,
            const SlotNames& slots = {});

/// Below the root of sysfs: a directory for each mediated device.
inline constexpr const char* kMediatedDevices = "bus/mdev/devices";

/// The first kMaxMediated of them; none where the kernel has no such bus, or it cannot be listed.
std::set<Uuid> mediatedIn(const SysfsRoot& sysfs);

/// Null: the mediated device is not there, or not any more.
std::optional<MediatedDevice> readMediated(const SysfsRoot& sysfs, const DevRoot& dev,
                                           const Uuid& uuid);

/// reread(), and the mediated devices of `where` with their groups, and those of its groups, all
/// extended memory, and nameVgpus().
bool rereadUnits(const SysfsRoot& sysfs, const DevRoot& dev, const Places& where, Snapshot& seen,
                 const SlotNames& slots = {});
/// scan(), and all mediated devices and extended memory, and slots.
Result<Snapshot, ReadError> scanUnits(const SysfsRoot& sysfs, const DevRoot& dev);

/// The regions of GPUs' extended memory that have a node, ascending; none where the kernel has no
/// such class.
std::vector<EgmRegion> readEgm(const SysfsRoot& sysfs, const DevRoot& dev);

/// All PCI functions and IOMMU groups, without slots. Error: as placesOf().
Result<Snapshot, ReadError> scan(const SysfsRoot& sysfs, const DevRoot& dev);

/// One group and all that is in it, read now, without slots. Without the group if it is not there.
Snapshot scanGroup(const SysfsRoot& sysfs, const DevRoot& dev, IommuGroupId group);

/// Below the root of sysfs: a directory for each PCI function.
inline constexpr const char* kPciDevices = "bus/pci/devices";
/// Below a device's directory, made by a driver that offers VFIO.
inline constexpr const char* kVfioDevDirectory = "vfio-dev";
/// Below the directory of a device that is allocated in parts.
inline constexpr const char* kMediatedTypes = "mdev_supported_types";

/// Below the directory of a virtual function of which its host driver makes a vGPU.
inline constexpr const char* kVgpuType = "nvidia/current_vgpu_type";

/// Puts into `seen` what vGPUs' types are called, of those of `where` that have no name yet. A card
/// names a type for as long as it has room for another: what it has told of one of its functions
/// stands for all. Returns true if `seen` is another than before.
bool nameVgpus(const SysfsRoot& sysfs, const Places& where, Snapshot& seen);

/// Opens the function's vital product data, and reads nothing of it: that is for a process of its
/// own. Errors as of readSerial().
Result<kj::AutoCloseFd, ReadError> openVitalData(const SysfsRoot& sysfs, const Bdf& address);

/// The serial number of one function; empty: its vital product data has none. The card answers,
/// which may take seconds, and for as long as something keeps it closed the kernel keeps the
/// caller: for commands alone. ENOENT: it has no VPD. EACCES: only root may read it.
Result<std::string, ReadError> readSerial(const SysfsRoot& sysfs, const Bdf& address);

/// Null: the device is not there, or not any more. What could not be read of one that is there is a
/// value in it (PciDevice::problems).
std::optional<PciDevice> readDevice(const SysfsRoot& sysfs, const DevRoot& dev, const Bdf& address,
                                    const SlotNames& slots);

/// What a glance at a device tells.
enum class Glance : std::uint8_t {
  kSame,
  kUnannounced,  ///< something differs of which the kernel sends no event
  kUnheard,      ///< another driver, or another card: the event is on its way, or was lost
};

/// Reads, of what readDevice() reads, the driver, the ids (not of a virtual function) and what the
/// kernel sends no event for: whether the device answers, who has it open, of which type its vGPU
/// is. One that is gone, and one of which something cannot be read or could not, is never kSame.
Glance glanceAt(const SysfsRoot& sysfs, const PciDevice& was);

/// Below the root of sysfs: a directory for each IOMMU group.
inline constexpr const char* kIommuGroups = "kernel/iommu_groups";

/// What a driver that offers VFIO shows of a device: the number K of vfio-dev/vfioK, and whether
/// that has a node.
struct VfioDev {
  std::optional<std::uint32_t> number;
  bool node = false;
};
class DeviceAttributes;
/// Of the device that `from` reads; what is malformed is one of its problems.
VfioDev readVfioDev(DeviceAttributes& from, const DevRoot& dev);

/// Null: there is no such group. Its use is not read: it is its members'.
std::optional<IommuGroup> readGroup(const SysfsRoot& sysfs, const DevRoot& dev, IommuGroupId id);

/// On a kernel without vfio-dev (before 6.1): whether the drivers of the group's members offer
/// VFIO. Such a kernel shows that one of them does; they all do if they are one.
bool offersVfioByGroup(const SysfsRoot& sysfs, const Snapshot& snapshot, const IommuGroup& group);

/// The use of a group, from the members that `snapshot` has (ledger.md 3). A group without any that
/// we know is not idle for that: its list could not be read, or all of it is no PCI function.
GroupUse useOf(const Snapshot& snapshot, const IommuGroup& group);

}  // namespace vfiogate
