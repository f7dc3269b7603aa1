#pragma once
// The names by which people know a PCI device: its address in the spellings that tools print, and
// what other parts of sysfs call it.

#include "ipc/base/result.h"
#include "ipc/types/unit_id.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// What --help says of an argument that findDevice() reads.
inline constexpr const char* kDeviceHelp =
    "0000:65:00.0, 65:00.0 or pci_0000_65_00_0; or the name of the device's slot, network "
    "interface or disk";

/// The same of findUnit().
inline constexpr const char* kUnitHelp =
    "0000:65:00.0, 65:00.0 or pci_0000_65_00_0; the name of the device's slot, network interface "
    "or "
    "disk; or a mediated device's UUID";

enum class AddressTrouble {
  kOtherName,   ///< not written as an address: it may be a slot, an interface or a disk
  kOutOfRange,  ///< written as one, but no bus has such a device or function
  kNoFunction,  ///< "65:00", which may have several functions
};

/// Reads 0000:65:00.0 as the kernel writes it, 65:00.0 (lspci), 00000000:65:00.0 (nvidia-smi),
/// pci_0000_65_00_0 (libvirt), pci-0000:65:00.0 (udev), pci@0000:65:00.0 (lshw), and a path below
/// /sys that ends with one; in either case, with or without leading zeros.
Result<Bdf, AddressTrouble> readAddress(std::string_view text);

/// All that begins with it is one device: "0000:65:00." for "65:00". Null where readAddress() does
/// not answer kNoFunction.
std::optional<std::string> deviceOfAllFunctions(std::string_view text);

/// The PCI function in which a path of sysfs ends: that of
/// ../../devices/pci0000:00/0000:00:1c.0/0000:03:00.0/net/eth0 is 0000:03:00.0.
std::optional<Bdf> functionInPath(std::string_view path);

/// Finds the device that `text` means: an address as readAddress() reads it, there or not; else a
/// slot, network interface, disk, or an NVMe, DRM or InfiniBand device below `sysfs`, with or
/// without /dev/. Error: in words, with what was tried and what is near it.
Result<Bdf, std::string> findDevice(const std::string& text, const std::string& sysfs);

/// The UUID in which `text` ends, of either case: "3F5E2C10-0001-4A5B-8C6D-000000000001", or a path
/// of sysfs. Null: it is none.
std::optional<Uuid> readUuid(std::string_view text);

/// Finds the unit that `text` means: a UUID as readUuid() reads it, there or not; else as
/// findDevice().
Result<UnitId, std::string> findUnit(const std::string& text, const std::string& sysfs);
Result<std::vector<UnitId>, std::string> findUnits(const std::vector<std::string>& texts,
                                                   const std::string& sysfs);

/// All of them, each once, in the order in which they were given.
Result<std::vector<Bdf>, std::string> findDevices(const std::vector<std::string>& texts,
                                                  const std::string& sysfs);

}  // namespace vfiogate
