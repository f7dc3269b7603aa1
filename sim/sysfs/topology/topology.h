#pragma once
// The hardware, drivers and kernel of a simulated node, as a topology file describes them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ipc/types/bdf.h"

namespace vfiogate::sim {

/// Which PCI functions a driver takes by itself. Absent means any.
struct IdMatch {
  std::optional<std::uint16_t> vendor;
  std::optional<std::uint16_t> device;
  std::uint32_t classCode = 0;
  std::uint32_t classMask = 0;  ///< 0: any class

  friend bool operator==(const IdMatch&, const IdMatch&) = default;
};

/// What a driver does with a group's DMA: a host driver claims it and keeps VFIO out; the others
/// leave it to their user (platform-facts.md 7, group viability).
enum class DriverKind : std::uint8_t { kHost, kVfio, kStub, kPort };

/// The module of a driver.
struct ModuleSpec {
  std::string name;
  bool builtin = false;              ///< part of the kernel: nothing counts its uses
  std::uint32_t refcnt = 0;          ///< uses that nothing here explains
  std::vector<std::string> holders;  ///< modules that use it, each counted once
};

struct DriverSpec {
  std::string name;
  DriverKind kind = DriverKind::kHost;
  std::vector<IdMatch> ids;
  bool overrideOnly = false;  ///< ids count only when driver_override names this driver
  bool loaded = true;         ///< false: comes with the command load-driver
  bool sriov = false;         ///< implements sriov_numvfs
  ModuleSpec module;          ///< without a name: the driver's, with _ for -
};

/// A disk, a partition, or what stands on them.
struct BlockSpec {
  std::string name;  ///< "nvme0n1"
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint64_t sectors = 0;         ///< of 512 bytes
  std::vector<std::string> holders;  ///< block devices that stand on it: "dm-0"
  std::string fs;                    ///< mounted: "ext4"; empty: no
};

struct DiskSpec {
  BlockSpec whole;
  std::string parent;  ///< its place below the device: "nvme/nvme0"
  std::vector<BlockSpec> partitions;
};

/// A block device of no hardware.
struct VirtualDiskSpec {
  BlockSpec block;
  std::string backing;  ///< of a loop device: its file
};

struct InterfaceSpec {
  std::string name;
  std::string parent;  ///< its place below the device, above "net": "virtio0"; empty: none
  std::uint32_t flags = 0x1003;
  std::string operstate = "up";
  std::string master;              ///< the bridge or bond it is part of; empty: none
  std::vector<std::string> upper;  ///< interfaces that stand on it
};

/// A keyboard, or what else can be pressed.
struct InputSpec {
  std::string name;                       ///< "input5"
  std::string parent;                     ///< its place below the device, above "input"
  std::string keys = "fffffffffffffffe";  ///< `capabilities/key`: which it has
};

/// What a host driver makes of its device, and only while it has it.
struct HostObjects {
  std::vector<DiskSpec> disks;
  std::vector<InterfaceSpec> interfaces;
  std::vector<std::string> cards;         ///< of DRM: "card0", "renderD128"
  std::vector<std::string> framebuffers;  ///< "fb0"
  std::vector<InputSpec> inputs;
};

/// A type of vGPUs that a host driver makes of virtual functions, and offers to VFIO by itself.
struct VgpuTypeSpec {
  std::uint32_t id = 0;          ///< 1147
  std::string name;              ///< for people, "NVIDIA L40S-1Q"
  std::uint32_t instances = 16;  ///< how many fill the card

  friend bool operator==(const VgpuTypeSpec&, const VgpuTypeSpec&) = default;
};

struct SriovSpec {
  std::uint32_t total = 0;   ///< most virtual functions
  std::uint16_t device = 0;  ///< device id of the virtual functions
  std::uint32_t offset = 1;  ///< routing id of the first one, from the physical function's
  std::uint32_t stride = 1;
  std::optional<std::uint32_t> firstGroup;  ///< group of the first one, counting up; else free ones
  std::vector<VgpuTypeSpec> vgpuTypes;      ///< of its functions, while a host driver has them
};

/// A type of mediated devices that a device is cut into.
struct MediatedTypeSpec {
  std::string id;                ///< "nvidia-256"
  std::string name;              ///< for people, "GRID A16-1Q"; empty: the file is missing
  std::uint32_t instances = 16;  ///< how many there can be

  friend bool operator==(const MediatedTypeSpec&, const MediatedTypeSpec&) = default;
};

struct MediatedSpec {
  std::string uuid;
  std::string type;                    ///< a type's id
  std::optional<std::uint32_t> group;  ///< absent: a free number

  friend bool operator==(const MediatedSpec&, const MediatedSpec&) = default;
};

/// One PCI function in its slot, whether the kernel knows it or not.
struct Hardware {
  explicit Hardware(const Bdf& where) : address(where) {}

  Bdf address;
  std::optional<Bdf> behind;  ///< the bridge it hangs on; else it sits on a root bus
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  std::uint16_t subvendor = 0;
  std::uint16_t subdevice = 0;
  std::uint32_t classCode = 0;
  std::uint8_t revision = 0;
  bool bridge = false;  ///< header type 1
  bool multifunction = false;
  std::optional<std::uint32_t> group;
  std::int32_t numa = -1;
  std::string serialNumber;          ///< in its vital product data; empty: it has none
  std::optional<std::uint32_t> egm;  ///< region of GPUs' extended memory: N of /dev/egmN
  std::optional<bool> bootVga;
  std::vector<std::string> reset;     ///< reset methods, in the kernel's order
  std::optional<std::string> driver;  ///< at boot; "" none; absent: whoever matches
  std::optional<SriovSpec> sriov;
  std::vector<MediatedTypeSpec> mediatedTypes;    ///< while a host driver has it
  std::vector<MediatedSpec> mediated;             ///< there from boot
  std::vector<VgpuTypeSpec> vgpuTypes;            ///< of a virtual function
  std::map<std::string, std::string> attributes;  ///< read instead of what the kernel would say
  std::vector<std::string> absent;                ///< attributes that are missing
  std::vector<std::string> children;              ///< directories while a host driver has it
  HostObjects objects;
  bool present = true;  ///< false: comes with the command plug
  bool answers = true;  ///< false: configuration space reads all ones
};

/// A physical slot, as a directory of bus/pci/slots.
struct SlotSpec {
  std::string name;                    ///< "4", "4-1"
  std::optional<std::string> address;  ///< what its file says; absent: there is no file
  std::optional<Bdf> port;             ///< comes and goes with this bridge; absent: always there

  friend bool operator==(const SlotSpec&, const SlotSpec&) = default;
};

enum class IommuMode : std::uint8_t { kOn, kOff, kUnsafeNoIommu };

/// The whole node.
struct Topology {
  /// Kernel 6.1: reading `uevent` or `driver_override` waits while the device is being unbound.
  /// Later kernels answer (platform-facts.md 7).
  bool readsWaitForUnbind = true;
  IommuMode iommu = IommuMode::kOn;
  std::string groupType = "DMA-FQ";
  bool cdev = false;  ///< /dev/vfio/devices and /dev/iommu exist
  std::int32_t numaNodes = 1;
  std::vector<DriverSpec> drivers;
  std::vector<VirtualDiskSpec> virtualDisks;
  std::vector<SlotSpec> slots;
  std::map<Bdf, Hardware> hardware;
};

}  // namespace vfiogate::sim
