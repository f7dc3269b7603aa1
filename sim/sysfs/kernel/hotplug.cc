#include "sim/sysfs/kernel/hotplug.h"

#include <algorithm>
#include <cerrno>

#include "sim/sysfs/kernel/binding.h"
#include "sim/sysfs/kernel/mediated.h"

namespace vfiogate::sim {
namespace {

void joinGroup(World& world, const Hardware& hardware) {
  if (!hardware.group) return;
  world.groups.try_emplace(*hardware.group,
                           Group{.type = world.topology.groupType, .noIommu = false, .holder = ""});
}

void bindAtBoot(World& world, Device& device) {
  const auto& wanted = device.hardware.driver;
  if (!wanted) {
    attach(world, device);
    return;
  }
  const Driver* driver = findDriver(world, *wanted);
  if (driver == nullptr) return;
  if (!matches(*driver, device)) device.driverOverride = *wanted;
  probe(world, device, *driver);
}

/// Children first, as the kernel does it, then the device itself. Virtual functions stay when their
/// parent goes.
void collect(const World& world, const Bdf& address, std::vector<Bdf>& order) {
  for (auto entry = world.devices.rbegin(); entry != world.devices.rend(); ++entry) {
    const auto& [below, device] = *entry;
    if (device.hardware.behind == address) collect(world, below, order);
  }
  order.push_back(address);
}

std::vector<Step> removeOne(const Bdf& address) {
  std::vector<Step> steps{lockDevice(address)};
  for (Step& step : releaseDriver(address)) steps.push_back(std::move(step));
  steps.emplace_back([address](World& world, Task&) { return dropDevice(world, address); });
  return steps;
}

/// Removes the device and all below it; what is gone already is no error.
StepResult expandRemoval(World& world, Task& task, const Bdf& address) {
  if (!world.devices.contains(address)) return kNext;
  std::vector<Bdf> order;
  collect(world, address, order);
  for (auto each = order.rbegin(); each != order.rend(); ++each) task.insert(removeOne(*each));
  return kNext;
}

int pullable(const World& world, const std::vector<Bdf>& addresses) {
  const bool all = std::all_of(addresses.begin(), addresses.end(),
                               [&world](const Bdf& each) { return world.slots.contains(each); });
  return all ? 0 : ENODEV;
}

int pluggable(const World& world, const std::vector<Bdf>& addresses) {
  for (const Bdf& address : addresses) {
    const auto known = world.topology.hardware.find(address);
    if (known == world.topology.hardware.end()) return ENODEV;
    if (world.slots.contains(address)) return EEXIST;
    const auto& behind = known->second.behind;
    const bool together =
        behind && std::find(addresses.begin(), addresses.end(), *behind) != addresses.end();
    if (behind && !together && !world.devices.contains(*behind)) return ENXIO;
  }
  return 0;
}

}  // namespace

Device& addDevice(World& world, const Hardware& hardware) {
  Device& device = world.devices.emplace(hardware.address, Device(hardware)).first->second;
  device.serial = world.nextSerial++;
  joinGroup(world, hardware);
  world.events.push_back(pciEvent(world, device, "add"));
  return device;
}

StepResult dropDevice(World& world, const Bdf& address) {
  const auto found = world.devices.find(address);
  if (found == world.devices.end()) return kNext;
  const Device gone = found->second;
  world.devices.erase(found);
  if (gone.hardware.group && membersOf(world, *gone.hardware.group).empty()) {
    world.groups.erase(*gone.hardware.group);
  }
  world.events.push_back(pciEvent(world, gone, "remove"));
  return kNext;
}

World boot(const Topology& topology) {
  World world;
  world.topology = topology;
  for (const DriverSpec& driver : topology.drivers) {
    if (driver.loaded) world.drivers.push_back(Driver{driver, {}});
  }
  for (const auto& [address, hardware] : topology.hardware) {
    if (hardware.present) world.slots.emplace(address, hardware);
  }
  for (const auto& [address, hardware] : world.slots) addDevice(world, hardware);
  for (auto& [address, device] : world.devices) bindAtBoot(world, device);
  bootMediated(world);
  world.events.clear();
  return world;
}

StepResult scanSlots(World& world) {
  std::vector<Bdf> fresh;
  for (const auto& [address, hardware] : world.slots) {
    const bool reachable = !hardware.behind || world.devices.contains(*hardware.behind);
    if (world.devices.contains(address) || !reachable) continue;
    addDevice(world, hardware);
    fresh.push_back(address);
  }
  for (const Bdf& address : fresh) {
    if (world.driversAutoprobe) attach(world, world.devices.at(address));
  }
  return kNext;
}

std::vector<Step> removeTask(const Bdf& address) {
  return {lockRescan(),
          [address](World& world, Task& task) { return expandRemoval(world, task, address); }};
}

std::vector<Step> rescanTask() {
  return {lockRescan(), [](World& world, Task&) { return scanSlots(world); }};
}

std::vector<Step> plugTask(const std::vector<Bdf>& addresses) {
  return {[addresses](World& world, Task& task) {
    if (const int error = pluggable(world, addresses); error != 0) return refused(error);
    for (const Bdf& address : addresses) {
      world.slots.emplace(address, world.topology.hardware.at(address));
    }
    task.insert(rescanTask());
    return kNext;
  }};
}

std::vector<Step> unplugTask(const std::vector<Bdf>& addresses) {
  return {[addresses](World& world, Task& task) {
    if (const int error = pullable(world, addresses); error != 0) return refused(error);
    for (auto each = addresses.rbegin(); each != addresses.rend(); ++each) {
      world.slots.erase(*each);
      const auto found = world.devices.find(*each);
      if (found != world.devices.end()) found->second.hardware.answers = false;
      task.insert(removeTask(*each));
    }
    return kNext;
  }};
}

int renumber(World& world, const Bdf& address, std::uint32_t group) {
  const auto known = world.topology.hardware.find(address);
  if (known == world.topology.hardware.end()) return ENODEV;
  known->second.group = group;
  const auto slot = world.slots.find(address);
  if (slot != world.slots.end()) slot->second.group = group;
  return 0;
}

}  // namespace vfiogate::sim
