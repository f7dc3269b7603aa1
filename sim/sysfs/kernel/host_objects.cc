#include "sim/sysfs/kernel/host_objects.h"

#include <cerrno>

namespace vfiogate::sim {
namespace {

constexpr std::uint32_t kFlagUp = 1;

/// Below the device, of something of a class.
std::string placeOf(const std::string& parent, const std::string& kind, const std::string& name) {
  return (parent.empty() ? "" : parent + "/") + kind + "/" + name;
}

}  // namespace

std::vector<ChildObject> childObjects(const Hardware& hardware) {
  std::vector<ChildObject> all;
  for (const std::string& child : hardware.children) {
    all.push_back({child, child.substr(0, child.find('/'))});
  }
  for (const InterfaceSpec& face : hardware.objects.interfaces) {
    all.push_back({placeOf(face.parent, "net", face.name), "net"});
  }
  for (const DiskSpec& disk : hardware.objects.disks) {
    const std::string path = disk.parent + "/" + disk.whole.name;
    all.push_back({path, "block"});
    for (const BlockSpec& part : disk.partitions) all.push_back({path + "/" + part.name, "block"});
  }
  for (const std::string& card : hardware.objects.cards) all.push_back({"drm/" + card, "drm"});
  for (const std::string& buffer : hardware.objects.framebuffers) {
    all.push_back({"graphics/" + buffer, "graphics"});
  }
  for (const InputSpec& input : hardware.objects.inputs) {
    all.push_back({placeOf(input.parent, "input", input.name), "input"});
  }
  return all;
}

bool hasHostDriver(const World& world, const Device& device) {
  const Driver* driver = findDriver(world, device.driver);
  return driver != nullptr && driver->spec.kind == DriverKind::kHost;
}

std::uint32_t usesOf(const World& world, const ModuleSpec& module) {
  std::uint32_t uses = module.refcnt + static_cast<std::uint32_t>(module.holders.size());
  for (const auto& [address, device] : world.devices) {
    const Driver* driver = findDriver(world, device.driver);
    if (driver == nullptr || driver->spec.module.name != module.name) continue;
    uses += driver->spec.kind == DriverKind::kHost ? device.users : device.opens;
  }
  return uses;
}

int setLink(World& world, const std::string& name, bool up) {
  for (auto& [address, device] : world.devices) {
    if (!hasHostDriver(world, device)) continue;
    for (InterfaceSpec& face : device.hardware.objects.interfaces) {
      if (face.name != name) continue;
      face.flags = up ? face.flags | kFlagUp : face.flags & ~kFlagUp;
      face.operstate = up ? "up" : "down";
      return 0;
    }
  }
  return ENODEV;
}

int setUsers(World& world, const Bdf& address, std::uint32_t users) {
  const auto found = world.devices.find(address);
  if (found == world.devices.end()) return ENODEV;
  found->second.users = users;
  return 0;
}

}  // namespace vfiogate::sim
