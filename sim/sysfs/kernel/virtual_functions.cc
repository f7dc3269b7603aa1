#include <algorithm>
#include <cerrno>

#include "sim/sysfs/kernel/binding.h"
#include "sim/sysfs/kernel/hotplug.h"

namespace vfiogate::sim {
namespace {

std::optional<std::uint32_t> groupFor(const World& world, const Device& parent,
                                      std::uint32_t index) {
  if (world.topology.iommu != IommuMode::kOn) return std::nullopt;
  const SriovSpec& spec = *parent.hardware.sriov;
  if (spec.firstGroup) return *spec.firstGroup + index;
  std::uint32_t number = 0;
  for (const auto& [used, group] : world.groups) number = std::max(number, used + 1);
  for (const auto& [address, slot] : world.topology.hardware) {
    if (slot.group) number = std::max(number, *slot.group + 1);
  }
  return number;
}

/// The address that the routing id of virtual function `index` stands for.
Bdf addressOf(const Device& parent, std::uint32_t index) {
  const Bdf& from = parent.hardware.address;
  const SriovSpec& spec = *parent.hardware.sriov;
  const std::uint32_t id = (std::uint32_t{from.bus()} << 8) + (std::uint32_t{from.device()} << 3) +
                           from.function() + spec.offset + spec.stride * index;
  return Bdf::make(from.segment(), static_cast<std::uint8_t>(id >> 8),
                   static_cast<std::uint8_t>((id >> 3) & 31), static_cast<std::uint8_t>(id & 7))
      .value();
}

Hardware virtualHardware(const World& world, const Device& parent, std::uint32_t index) {
  Hardware hardware = parent.hardware;
  hardware.address = addressOf(parent, index);
  hardware.device = parent.hardware.sriov->device;
  hardware.group = groupFor(world, parent, index);
  hardware.vgpuTypes = parent.hardware.sriov->vgpuTypes;
  hardware.sriov.reset();
  hardware.mediatedTypes.clear();
  hardware.mediated.clear();
  hardware.driver.reset();
  hardware.bootVga.reset();
  hardware.attributes.clear();
  hardware.absent.clear();
  hardware.children.clear();
  hardware.objects = {};
  hardware.multifunction = false;
  return hardware;
}

void addOne(World& world, const Bdf& parentAddress, std::uint32_t index) {
  const Hardware hardware = virtualHardware(world, world.devices.at(parentAddress), index);
  Device& device = addDevice(world, hardware);
  // The link to the physical function comes between the two events.
  device.physicalFunction = parentAddress;
  device.vfIndex = index;
  world.events.push_back(pciEvent(world, device, "change"));
  const bool autoprobe = world.devices.at(parentAddress).vfAutoprobe;
  if (autoprobe && world.driversAutoprobe) attach(world, device);
}

StepResult enable(World& world, const Bdf& address, std::uint32_t count) {
  for (std::uint32_t index = 0; index < count; ++index) addOne(world, address, index);
  Device& parent = world.devices.at(address);
  parent.virtualFunctions = count;
  world.events.push_back(pciEvent(world, parent, "change"));
  return kNext;
}

StepResult finishDisable(World& world, const Bdf& address) {
  const auto found = world.devices.find(address);
  if (found == world.devices.end()) return refused(ENODEV);
  found->second.virtualFunctions = 0;  // and no event tells it
  return kNext;
}

StepResult disable(World& world, Task& task, const Bdf& address) {
  task.insert({[address](World& now, Task&) { return finishDisable(now, address); }});
  const Device& parent = world.devices.at(address);
  for (std::uint32_t index = parent.virtualFunctions; index > 0; --index) {
    const Bdf virtualFunction = addressOf(parent, index - 1);
    std::vector<Step> steps{lockDevice(virtualFunction)};
    for (Step& step : releaseDriver(virtualFunction)) steps.push_back(std::move(step));
    steps.emplace_back(
        [virtualFunction](World& now, Task&) { return dropDevice(now, virtualFunction); });
    task.insert(std::move(steps));
  }
  return kNext;
}

StepResult change(World& world, Task& task, const Bdf& address, std::uint32_t count) {
  const Device& parent = world.devices.at(address);
  if (count == parent.virtualFunctions) return kNext;
  const Driver* driver = findDriver(world, parent.driver);
  if (driver == nullptr || !driver->spec.sriov) return refused(ENOENT);
  if (count == 0) return disable(world, task, address);
  if (parent.virtualFunctions > 0) return refused(EBUSY);
  return enable(world, address, count);
}

}  // namespace

std::vector<Step> virtualFunctionsTask(const Bdf& address, std::uint32_t count) {
  return {[address, count](World& world, Task& task) {
    const auto found = world.devices.find(address);
    if (found == world.devices.end() || !found->second.hardware.sriov) return refused(ENODEV);
    if (count > found->second.hardware.sriov->total) return refused(ERANGE);
    // Measured: a rescan waits, too, while this waits for the user of a virtual function.
    task.insert({lockDevice(address), lockRescan(), [address, count](World& now, Task& same) {
                   return change(now, same, address, count);
                 }});
    return kNext;
  }};
}

}  // namespace vfiogate::sim
