#include "sim/sysfs/kernel/host_objects.h"

#include <algorithm>
#include <cerrno>

namespace vfiogate::sim {
namespace {

/// A card in parts: as many as most numbers of instances divide.
constexpr std::uint32_t kCard = 720720;

/// The parts of the card that the vGPUs of a physical function have, but for the one of `spared`.
std::uint32_t partsTaken(const World& world, const Device& spared) {
  std::uint32_t taken = 0;
  for (const auto& [address, device] : world.devices) {
    const bool ofCard = device.physicalFunction == spared.physicalFunction;
    if (!ofCard || device.vgpuType == 0 || &device == &spared) continue;
    const auto type =
        std::ranges::find(device.hardware.vgpuTypes, device.vgpuType, &VgpuTypeSpec::id);
    taken += kCard / type->instances;
  }
  return taken;
}

}  // namespace

bool makesVgpus(const World& world, const Device& device) {
  return !device.hardware.vgpuTypes.empty() && hasHostDriver(world, device);
}

bool isCreatable(const World& world, const Device& device, const VgpuTypeSpec& type) {
  if (device.vgpuType != 0) return false;
  return partsTaken(world, device) + kCard / type.instances <= kCard;
}

int setVgpuType(World& world, const Bdf& address, std::uint32_t wanted) {
  const auto found = world.devices.find(address);
  if (found == world.devices.end() || !makesVgpus(world, found->second)) return ENODEV;
  Device& device = found->second;
  // Reported of the driver: "Operation not permitted".
  if (device.hardware.group && groupInUse(world, *device.hardware.group)) return EPERM;
  const auto& types = device.hardware.vgpuTypes;
  const bool creatable = std::ranges::any_of(types, [&](const VgpuTypeSpec& type) {
    return type.id == wanted && isCreatable(world, device, type);
  });
  if (wanted != 0 && !creatable) return EINVAL;
  device.vgpuType = wanted;
  return 0;
}

}  // namespace vfiogate::sim
