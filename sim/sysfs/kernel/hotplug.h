#pragma once
// Devices coming and going: boot, remove, rescan, plugging by hand, virtual functions.

#include <vector>

#include "sim/sysfs/kernel/task.h"

namespace vfiogate::sim {

/// The kernel after boot: every device that is present, bound as the topology says. No events.
World boot(const Topology& topology);

/// Makes the kernel meet what is in the slots and not known yet: "add" for each, then "bind" for
/// those that a driver takes. The task must have the rescan lock.
StepResult scanSlots(World& world);

/// The tasks behind <device>/remove and bus/pci/rescan. What is removed stays in its slot.
std::vector<Step> removeTask(const Bdf& address);
std::vector<Step> rescanTask();

/// Puts hardware into its slot and scans. ENODEV if the topology has no such device, EEXIST if it
/// is in already, ENXIO if its bridge is not there.
std::vector<Step> plugTask(const std::vector<Bdf>& addresses);

/// Pulls hardware out of its slot: with a user, no event before that lets go. ENODEV if it is not
/// in.
std::vector<Step> unplugTask(const std::vector<Bdf>& addresses);

/// The task behind sriov_numvfs: ERANGE above the most, ENOENT without a driver that does it,
/// EBUSY from one number to another without 0 between.
std::vector<Step> virtualFunctionsTask(const Bdf& address, std::uint32_t count);

/// The group in which hardware appears the next time the kernel meets it.
/// ENODEV if the topology has no such device.
int renumber(World& world, const Bdf& address, std::uint32_t group);

/// Adds one device to what the kernel knows, with its event; no driver yet.
Device& addDevice(World& world, const Hardware& hardware);

/// Takes one device out of what the kernel knows; it must have no driver.
StepResult dropDevice(World& world, const Bdf& address);

}  // namespace vfiogate::sim
