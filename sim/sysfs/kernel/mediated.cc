#include "sim/sysfs/kernel/mediated.h"

#include <algorithm>
#include <cerrno>

#include "ipc/base/kube_names.h"
#include "sim/sysfs/kernel/binding.h"
#include "sim/sysfs/kernel/host_objects.h"

namespace vfiogate::sim {
namespace {

constexpr const char* kSubsystem = "mdev";

const MediatedTypeSpec* typeOf(const Hardware& parent, const std::string& id) {
  const auto found = std::ranges::find(parent.mediatedTypes, id, &MediatedTypeSpec::id);
  return found == parent.mediatedTypes.end() ? nullptr : &*found;
}

std::uint32_t freeGroup(const World& world) {
  std::uint32_t number = 0;
  for (const auto& [used, group] : world.groups) number = std::max(number, used + 1);
  for (const auto& [address, slot] : world.topology.hardware) {
    if (slot.group) number = std::max(number, *slot.group + 1);
  }
  return number;
}

void tell(World& world, const Mediated& mediated, const char* action) {
  Uevent event{action, "/" + mediatedPath(world, mediated), kSubsystem, {}};
  if (std::string_view(action) == "bind") event.keys.emplace_back("DRIVER", kMediatedDriver);
  event.keys.emplace_back("MODALIAS", "mdev:" + mediated.type);
  world.events.push_back(std::move(event));
}

void tellVfio(World& world, const Mediated& mediated, const char* action) {
  world.events.push_back(groupEvent(world, mediated.group, action));
  world.events.push_back(
      {action,
       "/" + mediatedPath(world, mediated) + "/vfio-dev/vfio" + std::to_string(mediated.vfioDev),
       "vfio-dev",
       {}});
}

void drop(World& world, const std::string& uuid) {
  const Mediated gone = world.mediated.at(uuid);
  tellVfio(world, gone, "remove");
  world.mediated.erase(uuid);
  world.groups.erase(gone.group);
  tell(world, gone, "unbind");
  tell(world, gone, "remove");
}

}  // namespace

std::string mediatedPath(const World& world, const Mediated& mediated) {
  return devicePath(world, world.devices.at(mediated.parent).hardware) + "/" + mediated.uuid;
}

std::uint32_t availableInstances(const World& world, const Device& parent,
                                 const MediatedTypeSpec& type) {
  const auto made = std::ranges::count_if(world.mediated, [&](const auto& entry) {
    return entry.second.parent == parent.hardware.address && entry.second.type == type.id;
  });
  const auto count = static_cast<std::uint32_t>(made);
  return type.instances > count ? type.instances - count : 0;
}

int createMediated(World& world, const Bdf& parent, const MediatedSpec& wanted) {
  const auto found = world.devices.find(parent);
  if (found == world.devices.end() || !hasHostDriver(world, found->second)) return ENODEV;
  const Device& device = found->second;
  const MediatedTypeSpec* type = typeOf(device.hardware, wanted.type);
  if (type == nullptr) return ENODEV;
  if (!isUid(wanted.uuid)) return EINVAL;
  if (world.mediated.contains(wanted.uuid)) return EEXIST;
  if (availableInstances(world, device, *type) == 0) return EUSERS;
  const Mediated made{.uuid = wanted.uuid,
                      .parent = parent,
                      .type = wanted.type,
                      .group = wanted.group.value_or(freeGroup(world)),
                      .vfioDev = lowestFreeVfioDev(world),
                      .serial = world.nextSerial++};
  if (!world.groups
           .try_emplace(made.group, Group{.type = "unknown", .noIommu = false, .holder = ""})
           .second) {
    return EEXIST;
  }
  world.mediated.emplace(made.uuid, made);
  tell(world, made, "add");
  tellVfio(world, made, "add");
  tell(world, made, "bind");
  return 0;
}

std::vector<Step> removeMediatedTask(const std::string& uuid) {
  return {[uuid](World& world, Task&) {
    const auto found = world.mediated.find(uuid);
    if (found == world.mediated.end()) return refused(ENODEV);
    if (groupInUse(world, found->second.group)) return kWaits;
    drop(world, uuid);
    return kNext;
  }};
}

void bootMediated(World& world) {
  for (const auto& [address, hardware] : world.slots) {
    for (const MediatedSpec& wanted : hardware.mediated) createMediated(world, address, wanted);
  }
}

bool dropMediatedOf(World& world, const Bdf& parent) {
  std::vector<std::string> all;
  for (const auto& [uuid, mediated] : world.mediated) {
    if (mediated.parent != parent) continue;
    if (groupInUse(world, mediated.group)) return false;
    all.push_back(uuid);
  }
  for (const std::string& uuid : all) drop(world, uuid);
  return true;
}

}  // namespace vfiogate::sim
