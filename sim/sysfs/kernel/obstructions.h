#pragma once
// Writes that do not go as the kernel would let them, by order of the person at the controls, and
// what was written so far.

#include "sim/sysfs/kernel/task.h"

namespace vfiogate::sim {

/// Stands for an errno in an order whose writes hang.
inline constexpr int kHang = 0;

/// The first step of a write: hangs, fails or does nothing as ordered. Asked again at each try, so
/// an order can be lifted. `path` is the file's real location, below "sys".
Step obeyObstructions(const std::string& path, const std::string& text);

/// An order for the writes to `attribute` that concern one device: its own attribute, such as
/// driver_override, or `bind`, `unbind`, `drivers_probe` with its address as the text. ENODEV
/// without the device.
int obstructDevice(World& world, const Bdf& address, const std::string& attribute,
                   Obstruction order);

/// Ends the orders for one device's writes, of one attribute or, with an empty one, of all.
/// ENOENT if there is none.
int liftDevice(World& world, const Bdf& address, const std::string& attribute);

/// bind and drivers_probe of the device succeed from now on, and bind nothing.
int silence(World& world, const Bdf& address);

/// Remembers a write and counts it. The errno it has to fail with, or 0; where it is the one that
/// has to hang, an order for it is made.
int noteWrite(World& world, TaskId task, const std::string& path, const std::string& text);

/// The write of this task has ended.
void noteEnd(World& world, TaskId task, int error);

/// What was written since the last time it was cleared, a JSON object a line, in the order of
/// beginning:
/// {"attribute":"bus/pci/drivers_probe","text":"0000:01:00.0","error":0}. `error` is null while
/// the write hangs. A device's own attributes are named by bus/pci/devices/ADDRESS.
std::string writesText(const World& world);

}  // namespace vfiogate::sim
