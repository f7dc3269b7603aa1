#pragma once
// Virtual machines and other users of /dev/vfio, who keep groups and devices open.

#include <string>

#include "sim/sysfs/kernel/world.h"

namespace vfiogate::sim {

/// Opens /dev/vfio/<group>: an exclusive lock. EBUSY if anybody has it, ENOENT without node.
int openGroup(World& world, std::uint32_t group, const std::string& holder);

/// Lets the group go, and all its devices. ENOENT if `holder` does not have it.
int closeGroup(World& world, std::uint32_t group, const std::string& holder);

/// Opens the group if `holder` does not have it yet, sets its IOMMU, gets the device's descriptor:
/// `enable` turns 1. ENODEV if the device is not VFIO's, EPERM if its group is not viable, EBUSY
/// if another one holds it.
int openDevice(World& world, const Bdf& address, const std::string& holder);

/// Closes one descriptor of the device; with the group's last one the group is let go.
/// ENOENT if `holder` does not have it open.
int closeDevice(World& world, const Bdf& address, const std::string& holder);

/// Opens /dev/vfio/devices/vfioK without binding it to an iommufd: invisible, and yet an unbind
/// waits for it. ENOENT without such a node.
int openCdev(World& world, const Bdf& address);
int closeCdev(World& world, const Bdf& address);

}  // namespace vfiogate::sim
