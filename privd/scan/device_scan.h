#pragma once
// One PCI function from sysfs.

#include "ipc/types/snapshot.h"
#include "privd/scan/sysfs_root.h"

#include <optional>

namespace vfiogate {

/// Below the root of sysfs: a directory for each PCI function.
inline constexpr const char* kPciDevices = "bus/pci/devices";
/// Below a device's directory, made by a driver that offers VFIO.
inline constexpr const char* kVfioDevDirectory = "vfio-dev";
/// Below the directory of a device that is allocated in parts.
inline constexpr const char* kMediatedTypes = "mdev_supported_types";

/// Null: the device is not there, or not any more. What could not be read of one that is there is a
/// value in it (PciDevice::problems).
std::optional<PciDevice> readDevice(const SysfsRoot& sysfs, const DevRoot& dev, const Bdf& address);

}  // namespace vfiogate
