#pragma once
// Drivers taking and leaving devices (platform-facts.md 5 and 7).

#include <vector>

#include "sim/sysfs/kernel/task.h"

namespace vfiogate::sim {

/// Whether `driver` would take `device`: by driver_override, a dynamic id or its own ids.
bool matches(const Driver& driver, const Device& device);

/// Gives `device` to `driver`, with the events of it. Returns 0 or the errno of the probe: EBUSY
/// for a device that is bound already, for a host driver while VFIO has the group's DMA, and for
/// vfio-pci on a physical function with virtual ones; EINVAL for vfio-pci without a group.
int probe(World& world, Device& device, const Driver& driver);

/// Gives `device` to the first loaded driver that matches and takes it. Returns 0 also if none
/// does, EINVAL if one matched and the group's DMA is VFIO's.
int attach(World& world, Device& device);

/// Takes the device's driver away. The link goes at once; with a user of the device the rest waits
/// until it lets go. The task must have the device's lock.
std::vector<Step> releaseDriver(const Bdf& address);

/// Of the node of a group of VFIO's.
Uevent groupEvent(const World& world, std::uint32_t group, const std::string& action);
std::uint32_t lowestFreeVfioDev(const World& world);

/// The tasks behind drivers/<driver>/{bind,unbind}, drivers_probe and new_id.
std::vector<Step> bindTask(const std::string& driver, const std::string& text);
std::vector<Step> unbindTask(const std::string& driver, const std::string& text);
std::vector<Step> probeTask(const std::string& text);
std::vector<Step> newIdTask(const std::string& driver, const std::string& text);

/// Forgets a dynamic id. ENODEV if it is not there, EINVAL if `text` is none.
int removeId(World& world, const std::string& driver, const std::string& text);

/// The module comes in: what matches is bound. EEXIST if it is loaded, ENODEV if the topology does
/// not know it.
std::vector<Step> loadDriverTask(const std::string& driver);

}  // namespace vfiogate::sim
