#include "sim/sysfs/kernel/users.h"

#include <algorithm>
#include <cerrno>

#include "sim/sysfs/kernel/host_objects.h"

namespace vfiogate::sim {
namespace {

/// No driver, pci-stub and bridges' drivers do not matter; a host driver does that does not offer
/// VFIO itself.
bool viable(const World& world, std::uint32_t group) {
  const auto members = membersOf(world, group);
  return std::none_of(members.begin(), members.end(), [&world](const Device* member) {
    const Driver* driver = findDriver(world, member->driver);
    return driver != nullptr && driver->spec.kind == DriverKind::kHost && !member->vfioMember;
  });
}

Device* vfioDevice(World& world, const Bdf& address) {
  const auto found = world.devices.find(address);
  const bool there = found != world.devices.end() && found->second.vfioMember;
  return there && !found->second.releasing ? &found->second : nullptr;
}

/// A host driver enables its device for as long as it has it.
void close(const World& world, Device& device) {
  device.opens = 0;
  device.enableCount = hasHostDriver(world, device) ? 1 : 0;
}

}  // namespace

int openGroup(World& world, std::uint32_t group, const std::string& holder) {
  if (!hasGroupNode(world, group)) return ENOENT;
  Group& target = world.groups.at(group);
  if (!target.holder.empty()) return EBUSY;
  target.holder = holder;
  return 0;
}

int closeGroup(World& world, std::uint32_t group, const std::string& holder) {
  const auto found = world.groups.find(group);
  if (found == world.groups.end() || found->second.holder != holder || holder.empty()) {
    return ENOENT;
  }
  found->second.holder.clear();
  for (auto& [address, device] : world.devices) {
    if (device.hardware.group != group || device.opens == 0) continue;
    close(world, device);
  }
  return 0;
}

int openDevice(World& world, const Bdf& address, const std::string& holder) {
  Device* device = vfioDevice(world, address);
  if (device == nullptr || !device->hardware.group) return ENODEV;
  const std::uint32_t number = *device->hardware.group;
  Group& group = world.groups.at(number);
  if (!group.holder.empty() && group.holder != holder) return EBUSY;
  if (!viable(world, number)) return EPERM;
  group.holder = holder;
  ++device->opens;
  device->enableCount = 1;
  enableBridgesAbove(world, *device);
  return 0;
}

int closeDevice(World& world, const Bdf& address, const std::string& holder) {
  const auto found = world.devices.find(address);
  if (found == world.devices.end() || found->second.opens == 0) return ENOENT;
  const std::uint32_t number = *found->second.hardware.group;
  if (world.groups.at(number).holder != holder) return ENOENT;
  if (--found->second.opens == 0) close(world, found->second);
  const auto members = membersOf(world, number);
  const bool others = std::any_of(members.begin(), members.end(),
                                  [](const Device* member) { return member->opens > 0; });
  if (!others) world.groups.at(number).holder.clear();
  return 0;
}

int openCdev(World& world, const Bdf& address) {
  Device* device = vfioDevice(world, address);
  if (device == nullptr || !world.topology.cdev) return ENOENT;
  ++device->cdevOpens;
  return 0;
}

int closeCdev(World& world, const Bdf& address) {
  const auto found = world.devices.find(address);
  if (found == world.devices.end() || found->second.cdevOpens == 0) return ENOENT;
  --found->second.cdevOpens;
  return 0;
}

}  // namespace vfiogate::sim
