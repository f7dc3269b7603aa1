#pragma once
// Mediated devices: made and removed by writes to their parent, which stays on its host driver.

#include <string>
#include <vector>

#include "sim/sysfs/kernel/task.h"

namespace vfiogate::sim {

/// Such as "devices/pci0000:00/0000:00:02.0/83b8f4f2-509f-382f-3c1e-e6bfe0fa1001".
std::string mediatedPath(const World& world, const Mediated& mediated);

/// How many more of the type its parent takes.
std::uint32_t availableInstances(const World& world, const Device& parent,
                                 const MediatedTypeSpec& type);

/// What `create` of a type does: the device with its group, and the events of it. ENODEV without
/// the parent, its host driver or the type; EINVAL for what is no UUID; EEXIST if there is such a
/// device; EUSERS if no instance is left. `group` absent: a number that nobody has.
int createMediated(World& world, const Bdf& parent, const MediatedSpec& wanted);

/// What `remove` does: it waits for whoever has the group open. ENODEV if it is not there.
std::vector<Step> removeMediatedTask(const std::string& uuid);

/// Those of the topology that are there from boot. No events.
void bootMediated(World& world);

/// Removes all of the parent's, as its driver does when it leaves. False: one is in use.
bool dropMediatedOf(World& world, const Bdf& parent);

}  // namespace vfiogate::sim
