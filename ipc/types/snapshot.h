#pragma once
// What the node's PCI hardware looks like at one moment, as privd read it from sysfs.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/types/bdf.h"
#include "ipc/types/iommu_group.h"
#include "ipc/types/unit_id.h"

namespace vfiogate {

enum class SriovRole : std::uint8_t { kNone, kPhysicalFunction, kVirtualFunction };

/// Whether somebody has a device of a group open (ledger.md 3). kBlind: this kind of device has no
/// reading (mediated devices, vGPUs). kUnknown: the reading failed.
enum class GroupUse : std::uint8_t { kIdle, kOpen, kBlind, kUnknown };

/// "idle", "open", "blind" or "unknown".
std::string_view nameOf(GroupUse use);

/// A sysfs attribute that could not be taken at its word.
struct AttributeProblem {
  std::string attribute;  ///< its name below the device, such as "vendor"
  std::string why;        ///< "absent", "malformed: ...", "unreadable: ..."
  friend bool operator==(const AttributeProblem&, const AttributeProblem&) = default;
};

/// One PCI function. What sysfs did not say, or said in a form that makes no sense, is absent here
/// and named in `problems`; one broken attribute hides neither the device nor another device.
struct PciDevice {
  Bdf address;
  std::optional<std::uint16_t> vendor;
  std::optional<std::uint16_t> device;
  std::optional<std::uint16_t> subvendor;
  std::optional<std::uint16_t> subdevice;
  std::optional<std::uint32_t> classCode;  ///< 24 bit: base class, subclass, interface
  std::optional<std::uint8_t> revision;
  std::optional<std::uint8_t> headerType;  ///< without the multi-function bit; from `config`
  bool answers = true;                     ///< false: configuration space reads all ones
  std::string driver;                      ///< name of the bound driver; empty: none
  std::optional<std::uint32_t> vfioDev;    ///< K of vfio-dev/vfioK: its driver offers VFIO
  /// Its driver offers VFIO, told by its group: for kernels before 6.1, which have no vfio-dev.
  bool vfioGroup = false;
  bool cdevNode = false;  ///< /dev/vfio/devices/vfioK is a character device
  std::string modalias;
  std::optional<std::uint32_t> numaNode;  ///< absent where the kernel says -1
  std::optional<IommuGroupId> group;
  bool bootVga = false;
  SriovRole sriov = SriovRole::kNone;
  std::optional<Bdf> physicalFunction;       ///< of a virtual function
  std::uint32_t virtualFunctions = 0;        ///< enabled now on a physical function
  std::string resetMethods;                  ///< as the kernel lists them, blank-separated
  std::optional<std::uint32_t> enableCount;  ///< sysfs `enable`
  std::string pcieRoot;                      ///< root complex, such as "pci0000:00"
  std::optional<Bdf> rootPort;               ///< of the bridges above it the one on the root bus
  std::string slot;                          ///< the physical one of its card; empty: none is told
  std::vector<Uuid> mediated;                ///< made of it now. Source: directories below its own
  /// A virtual function of which its host driver makes a vGPU, and offers that to VFIO by itself:
  /// the type's number, 0: none is set. Source: nvidia/current_vgpu_type.
  std::optional<std::uint32_t> vgpuType;
  std::string vgpuTypeName;  ///< "NVIDIA L40S-1Q"; empty: none, or the driver does not tell
  std::vector<AttributeProblem> problems;

  /// The type for people: its name, or a number as a mediated device's, "nvidia-1147".
  std::string vgpuTypeForPeople() const {
    return vgpuTypeName.empty() ? driver + "-" + std::to_string(vgpuType.value_or(0))
                                : vgpuTypeName;
  }

  friend bool operator==(const PciDevice&, const PciDevice&) = default;
};

/// A mediated device: a part of its parent, which the parent's driver makes, with an IOMMU group of
/// its own. What sysfs did not say is absent or empty here. Source: /sys/bus/mdev/devices.
struct MediatedDevice {
  Uuid uuid;
  std::string type;                       ///< the id of its type, "nvidia-711"
  std::string typeName;                   ///< "NVIDIA A16-4Q"
  std::optional<Bdf> parent;              ///< absent: no PCI function
  std::optional<std::uint32_t> numaNode;  ///< the parent's
  std::string driver;                     ///< each one of the bus offers VFIO; empty: none
  std::optional<IommuGroupId> group;
  std::optional<std::uint32_t> vfioDev;  ///< K of vfio-dev/vfioK
  bool cdevNode = false;                 ///< /dev/vfio/devices/vfioK is a character device
  std::vector<AttributeProblem> problems;

  /// The type for people: its name, or its id where the parent's driver gives none.
  const std::string& typeForPeople() const { return typeName.empty() ? type : typeName; }

  friend bool operator==(const MediatedDevice&, const MediatedDevice&) = default;
};

/// Where a group stands with whoever binds. Source: privd itself, not sysfs.
struct GroupBinding {
  bool bindable = false;            ///< policy and guards would let plugind bind it now
  bool busy = false;                ///< a change of its drivers runs
  bool excluded = false;            ///< excluded by an operator
  bool boundForAllocation = false;  ///< privd bound it for an allocation
  bool stuck = false;               ///< a write for it has not come back
  /// What keeps it from being bound for an allocation, by the first guard that refuses: "users:
  /// 0000:01:00.0: module nvidia is used 3 times ...". Empty: nothing, or nobody would bind it.
  std::string bar{};

  friend bool operator==(const GroupBinding&, const GroupBinding&) = default;
};

/// One IOMMU group as the kernel has it.
struct IommuGroup {
  IommuGroupId id;
  std::string type;        ///< such as "DMA-FQ"; empty: not readable
  bool noIommu = false;    ///< made by VFIO's no-IOMMU mode: no isolation at all
  bool groupNode = false;  ///< /dev/vfio/<id> is a character device
  GroupUse use = GroupUse::kUnknown;
  std::vector<Bdf> members;    ///< ascending
  std::vector<Uuid> mediated;  ///< ascending; the kernel makes groups of one
  GroupBinding binding;

  friend bool operator==(const IommuGroup&, const IommuGroup&) = default;
};

/// Whether this privd could bind a device, as far as sysfs is concerned. Source: an attempt at its
/// start to open what binding writes.
enum class SysfsWriting : std::uint8_t { kUnknown, kPossible, kReadOnly, kDenied };

/// A region of extended GPU memory (EGM): a socket's memory that its GPUs reach as theirs, for a
/// virtual machine that has them all. Source: /sys/class/egm.
struct EgmRegion {
  std::uint32_t number = 0;  ///< N of /dev/egmN, which is there
  std::vector<Bdf> gpus;     ///< ascending, never none

  friend bool operator==(const EgmRegion&, const EgmRegion&) = default;
};

struct Snapshot {
  std::map<Bdf, PciDevice> devices;
  std::map<IommuGroupId, IommuGroup> groups;
  std::map<Uuid, MediatedDevice> mediated;
  std::vector<EgmRegion> egm;  ///< ascending by number
  bool controlNode = false;    ///< /dev/vfio/vfio is a character device
  bool iommufdNode = false;    ///< /dev/iommu is a character device
  bool vfioPci = false;        ///< the kernel has the driver vfio-pci, loaded or built in
  SysfsWriting sysfsWriting = SysfsWriting::kUnknown;

  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

/// Its driver offers VFIO, under any name.
inline bool offersVfio(const PciDevice& device) {
  return device.vfioDev.has_value() || device.vfioGroup;
}

/// True for what can be handed to a virtual machine; false for bridges. Judged by header type, as
/// an NVSwitch has a bridge's class and is an endpoint. Unknown header: by class.
bool isEndpoint(const PciDevice& device);

/// True for what the machine itself is made of, judged by class: host, ISA and PCI bridges, memory
/// controllers, SMBus and other serial buses, timers and interrupt controllers.
bool isPlatform(const PciDevice& device);

}  // namespace vfiogate
