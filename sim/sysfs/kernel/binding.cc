#include "sim/sysfs/kernel/binding.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include "sim/sysfs/kernel/host_objects.h"
#include "sim/sysfs/kernel/mediated.h"

namespace vfiogate::sim {
namespace {

constexpr int kGroupMajor = 243;
constexpr int kCdevMajor = 511;

bool idFits(const IdMatch& id, const Hardware& hardware) {
  return (!id.vendor || *id.vendor == hardware.vendor) &&
         (!id.device || *id.device == hardware.device) &&
         ((id.classCode ^ hardware.classCode) & id.classMask) == 0;
}

bool anyFits(const std::vector<IdMatch>& ids, const Hardware& hardware) {
  return std::any_of(ids.begin(), ids.end(),
                     [&hardware](const IdMatch& id) { return idFits(id, hardware); });
}

Uevent vfioDevEvent(const World& world, const Device& device, const std::string& action) {
  const std::string name = "vfio" + std::to_string(*device.vfioDev);
  Uevent event{
      action, "/" + devicePath(world, device.hardware) + "/vfio-dev/" + name, "vfio-dev", {}};
  if (world.topology.cdev) {
    event.keys = {{"MAJOR", std::to_string(kCdevMajor)},
                  {"MINOR", std::to_string(*device.vfioDev)},
                  {"DEVNAME", "vfio/devices/" + name}};
  }
  return event;
}

/// What a host driver makes below its device.
Uevent childEvent(const World& world, const Device& device, const ChildObject& child,
                  const std::string& action) {
  return {action, "/" + devicePath(world, device.hardware) + "/" + child.path, child.subsystem, {}};
}

/// VFIO's no-IOMMU mode makes a group of its own for each device.
void makeUnsafeGroup(World& world, Device& device) {
  std::uint32_t number = 0;
  while (world.groups.contains(number)) ++number;
  world.groups[number] = Group{.type = "unknown", .noIommu = true, .holder = ""};
  device.hardware.group = number;
}

void enterVfio(World& world, Device& device) {
  if (!device.hardware.group) makeUnsafeGroup(world, device);
  const std::uint32_t group = *device.hardware.group;
  const bool first = !hasGroupNode(world, group);
  device.vfioMember = true;
  device.vfioDev = lowestFreeVfioDev(world);
  if (first) world.events.push_back(groupEvent(world, group, "add"));
  world.events.push_back(vfioDevEvent(world, device, "add"));
}

void dropVfioDev(World& world, Device& device) {
  if (!device.vfioDev) return;
  world.events.push_back(vfioDevEvent(world, device, "remove"));
  device.vfioDev.reset();
}

void leaveVfio(World& world, Device& device) {
  dropVfioDev(world, device);
  if (!device.vfioMember) return;
  const std::uint32_t group = *device.hardware.group;
  device.vfioMember = false;
  if (hasGroupNode(world, group)) return;
  world.events.push_back(groupEvent(world, group, "remove"));
  if (world.groups.at(group).noIommu) {
    world.groups.erase(group);
    device.hardware.group.reset();
  }
}

int refusal(const World& world, const Device& device, const DriverSpec& driver) {
  const auto& group = device.hardware.group;
  if (driver.kind == DriverKind::kHost && group && groupInUse(world, *group)) return EBUSY;
  if (driver.kind != DriverKind::kVfio) return 0;
  if (device.virtualFunctions > 0) return EBUSY;
  if (!group && world.topology.iommu != IommuMode::kUnsafeNoIommu) return EINVAL;
  return 0;
}

StepResult beginRelease(World& world, const Bdf& address) {
  const auto found = world.devices.find(address);
  if (found == world.devices.end() || found->second.driver.empty()) return kNext;
  Device& device = found->second;
  device.releasing = true;
  // With cdev the device's node goes before the wait, without it everything comes after.
  if (world.topology.cdev) dropVfioDev(world, device);
  return kNext;
}

StepResult finishRelease(World& world, const Bdf& address) {
  const auto found = world.devices.find(address);
  if (found == world.devices.end() || !found->second.releasing) return kNext;
  Device& device = found->second;
  if (device.opens > 0 || device.cdevOpens > 0) return kWaits;
  if (!dropMediatedOf(world, address)) return kWaits;
  const std::vector<ChildObject> children = childObjects(device.hardware);
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    const Driver* driver = findDriver(world, device.driver);
    if (driver != nullptr && driver->spec.kind != DriverKind::kHost) break;
    world.events.push_back(childEvent(world, device, *child, "remove"));
  }
  leaveVfio(world, device);
  device.releasing = false;
  device.driver.clear();
  device.enableCount = 0;
  device.vgpuType = 0;
  world.events.push_back(pciEvent(world, device, "unbind"));
  return kNext;
}

}  // namespace

Uevent groupEvent(const World& world, std::uint32_t group, const std::string& action) {
  const std::string name = groupNodeName(world, group);
  return {action,
          "/devices/virtual/vfio/" + name,
          "vfio",
          {{"MAJOR", std::to_string(kGroupMajor)},
           {"MINOR", std::to_string(group)},
           {"DEVNAME", "vfio/" + name}}};
}

std::uint32_t lowestFreeVfioDev(const World& world) {
  std::set<std::uint32_t> taken;
  for (const auto& [address, device] : world.devices) {
    if (device.vfioDev) taken.insert(*device.vfioDev);
  }
  for (const auto& [uuid, mediated] : world.mediated) taken.insert(mediated.vfioDev);
  std::uint32_t number = 0;
  while (taken.contains(number)) ++number;
  return number;
}

bool matches(const Driver& driver, const Device& device) {
  if (!device.driverOverride.empty()) return device.driverOverride == driver.spec.name;
  if (anyFits(driver.dynamicIds, device.hardware)) return true;
  return !driver.spec.overrideOnly && anyFits(driver.spec.ids, device.hardware);
}

int probe(World& world, Device& device, const Driver& driver) {
  if (!device.driver.empty()) return EBUSY;
  if (const int error = refusal(world, device, driver.spec); error != 0) return error;
  device.driver = driver.spec.name;
  if (driver.spec.kind == DriverKind::kVfio) {
    enterVfio(world, device);
  } else if (driver.spec.kind != DriverKind::kStub) {
    device.enableCount = 1;
    enableBridgesAbove(world, device);
  }
  if (driver.spec.kind == DriverKind::kHost) {
    if (!device.hardware.vgpuTypes.empty() && device.hardware.group) enterVfio(world, device);
    for (const ChildObject& child : childObjects(device.hardware)) {
      world.events.push_back(childEvent(world, device, child, "add"));
    }
  }
  world.events.push_back(pciEvent(world, device, "bind"));
  return 0;
}

int attach(World& world, Device& device) {
  if (!device.driver.empty()) return 0;
  for (const Driver& driver : world.drivers) {
    if (!matches(driver, device)) continue;
    const int error = probe(world, device, driver);
    if (error == 0) return 0;
    const auto& group = device.hardware.group;
    if (driver.spec.kind == DriverKind::kHost && group && groupInUse(world, *group)) return EINVAL;
  }
  return 0;
}

std::vector<Step> releaseDriver(const Bdf& address) {
  return {[address](World& world, Task&) { return beginRelease(world, address); },
          [address](World& world, Task&) { return finishRelease(world, address); }};
}

std::vector<Step> bindTask(const std::string& driver, const std::string& text) {
  return {[driver, text](World& world, Task& task) {
    const Device* device = findDevice(world, text);
    const Driver* target = findDriver(world, driver);
    if (device == nullptr || target == nullptr || !matches(*target, *device)) {
      return refused(ENODEV);
    }
    const Bdf address = device->hardware.address;
    task.insert({lockDevice(address), [driver, address](World& now, Task&) {
                   const Driver* found = findDriver(now, driver);
                   if (found == nullptr) return refused(ENODEV);
                   Device& locked = now.devices.at(address);
                   // Looked at again: the override may have changed while the lock was awaited.
                   if (!matches(*found, locked)) return refused(ENODEV);
                   return refused(probe(now, locked, *found));
                 }});
    return kNext;
  }};
}

std::vector<Step> unbindTask(const std::string& driver, const std::string& text) {
  return {[driver, text](World& world, Task& task) {
    const Device* device = findDevice(world, text);
    if (device == nullptr || device->driver != driver) return refused(ENODEV);
    const Bdf address = device->hardware.address;
    task.insert(releaseDriver(address));
    task.insert({lockDevice(address)});
    return kNext;
  }};
}

std::vector<Step> probeTask(const std::string& text) {
  return {[text](World& world, Task& task) {
    const Device* device = findDevice(world, text);
    if (device == nullptr) return refused(ENODEV);
    // Looked at before the lock is taken: so a probe returns while an unbind hangs.
    if (!device->driver.empty()) return kNext;
    const Bdf address = device->hardware.address;
    task.insert({lockDevice(address), [address](World& now, Task&) {
                   return refused(attach(now, now.devices.at(address)));
                 }});
    return kNext;
  }};
}

}  // namespace vfiogate::sim
