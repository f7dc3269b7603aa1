#pragma once
// What host drivers make of their devices: disks, interfaces, cards, vGPUs; and the drivers'
// modules.

#include <string>
#include <vector>

#include "sim/sysfs/kernel/sysfs_tree.h"

namespace vfiogate::sim {

/// A directory below a device while a host driver has it.
struct ChildObject {
  std::string path;  ///< below the device: "net/eth0"
  std::string subsystem;
};

/// In the order in which they come; they go in reverse.
std::vector<ChildObject> childObjects(const Hardware& hardware);

/// Whether the device's objects are there.
bool hasHostDriver(const World& world, const Device& device);

/// Uses of the module: those of the topology, one for each module that holds it, what `users` of
/// its devices were set to, and open VFIO devices. That a device is bound counts nothing.
std::uint32_t usesOf(const World& world, const ModuleSpec& module);

/// Sets the flag "up" and the operational state of an interface that is there. ENODEV if none is.
int setLink(World& world, const std::string& name, bool up);

/// Sets how often users of this device use its driver's module. ENODEV without the device.
int setUsers(World& world, const Bdf& address, std::uint32_t users);

/// Its host driver has it, and makes vGPUs of it.
bool makesVgpus(const World& world, const Device& device);

/// It has no type, and its card has room for one more of this type.
bool isCreatable(const World& world, const Device& device, const VgpuTypeSpec& type);

/// Sets the type of this number, or none (0). 0, or an errno.
int setVgpuType(World& world, const Bdf& address, std::uint32_t wanted);

}  // namespace vfiogate::sim
