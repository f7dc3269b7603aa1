#include "sim/sysfs/kernel/host_objects.h"
#include "sim/sysfs/kernel/sysfs_tree.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "ipc/base/hex.h"

namespace vfiogate::sim {
namespace {

/// No event tells of it.
std::vector<Step> writeVgpuType(const WriteRequest& request) {
  return {[request](World& world, Task&) {
    Device* device = findDevice(world, request.owner);
    const auto wanted = parseDecimal(withoutNewline(request.text));
    if (device == nullptr) return refused(ENODEV);
    return refused(wanted ? setVgpuType(world, device->hardware.address, *wanted) : EINVAL);
  }};
}

void addVgpuType(Tree& tree, const World& world, const Device& device) {
  const std::string path = "sys/" + devicePath(world, device.hardware) + "/nvidia/";
  std::string creatable = "ID    : vGPU Name\n";
  for (const VgpuTypeSpec& type : device.hardware.vgpuTypes) {
    if (!isCreatable(world, device, type)) continue;
    std::string id = std::to_string(type.id);
    id.resize(std::max<std::size_t>(id.size(), 6), ' ');
    creatable += id + ": " + type.name + "\n";
  }
  tree.addText(path + "creatable_vgpu_types", creatable, device.serial);
  TreeNode node;
  node.kind = NodeKind::kFile;
  node.mode = 0644;
  node.text = std::to_string(device.vgpuType) + "\n";
  node.identity = device.serial;
  node.owner = device.hardware.address.str();
  node.write = writeVgpuType;
  tree.add(path + "current_vgpu_type", std::move(node));
}

}  // namespace

void addVgpuFiles(Tree& tree, const World& world) {
  for (const auto& [address, device] : world.devices) {
    if (makesVgpus(world, device) && !device.releasing) addVgpuType(tree, world, device);
  }
}

}  // namespace vfiogate::sim
