#include "sim/sysfs/kernel/host_objects.h"
#include "sim/sysfs/kernel/mediated.h"
#include "sim/sysfs/kernel/sysfs_tree.h"

#include <algorithm>
#include <cerrno>

namespace vfiogate::sim {
namespace {

/// `owner` is "0000:00:02.0 nvidia-256".
std::vector<Step> writeCreate(const WriteRequest& request) {
  return {[request](World& world, Task&) {
    const std::size_t blank = request.owner.find(' ');
    const MediatedSpec wanted{.uuid = std::string(withoutNewline(request.text)),
                              .type = request.owner.substr(blank + 1),
                              .group = std::nullopt};
    const Bdf parent = Bdf::parse(request.owner.substr(0, blank)).value();
    return refused(createMediated(world, parent, wanted));
  }};
}

/// `owner` is the UUID.
std::vector<Step> writeRemove(const WriteRequest& request) {
  const bool wanted = withoutNewline(request.text) == "1";
  return wanted ? removeMediatedTask(request.owner) : std::vector<Step>();
}

void addWritable(Tree& tree, const std::string& path, const std::string& owner, Writer write,
                 std::uint64_t identity) {
  TreeNode node;
  node.kind = NodeKind::kFile;
  node.mode = 0200;
  node.identity = identity;
  node.owner = owner;
  node.write = write;
  tree.add(path, std::move(node));
}

std::string typePath(const World& world, const Device& parent, const std::string& type) {
  return "sys/" + devicePath(world, parent.hardware) + "/mdev_supported_types/" + type;
}

void addTypes(Tree& tree, const World& world, const Device& parent) {
  const std::string address = parent.hardware.address.str();
  for (const MediatedTypeSpec& type : parent.hardware.mediatedTypes) {
    const std::string path = typePath(world, parent, type.id);
    if (!type.name.empty()) tree.addText(path + "/name", type.name + "\n", parent.serial);
    tree.addText(path + "/available_instances",
                 std::to_string(availableInstances(world, parent, type)) + "\n", parent.serial);
    tree.addText(path + "/device_api", "vfio-pci\n", parent.serial);
    tree.add(path + "/devices", TreeNode{});
    addWritable(tree, path + "/create", address + " " + type.id, writeCreate, parent.serial);
  }
  tree.addLink("sys/class/mdev_bus/" + address, "sys/" + devicePath(world, parent.hardware));
}

void addMediated(Tree& tree, const World& world, const Mediated& mediated) {
  const std::string path = "sys/" + mediatedPath(world, mediated);
  const std::string type = typePath(world, world.devices.at(mediated.parent), mediated.type);
  const std::string group = "sys/kernel/iommu_groups/" + std::to_string(mediated.group);
  tree.addText(path + "/uevent", "", mediated.serial);
  addWritable(tree, path + "/remove", mediated.uuid, writeRemove, mediated.serial);
  tree.addLink(path + "/mdev_type", type, mediated.serial);
  tree.addLink(path + "/subsystem", "sys/bus/mdev", mediated.serial);
  tree.addLink(path + "/driver", std::string("sys/bus/mdev/drivers/") + kMediatedDriver,
               mediated.serial);
  tree.addLink(path + "/iommu_group", group, mediated.serial);
  tree.addLink(type + "/devices/" + mediated.uuid, path, mediated.serial);
  tree.addText(group + "/name", "vfio-noiommu\n", mediated.serial);  // as that of no-IOMMU mode
  tree.addLink(group + "/devices/" + mediated.uuid, path, mediated.serial);
  tree.addLink("sys/bus/mdev/devices/" + mediated.uuid, path, mediated.serial);
}

}  // namespace

void addMediatedFiles(Tree& tree, const World& world) {
  const bool known = std::ranges::any_of(world.topology.hardware, [](const auto& entry) {
    return !entry.second.mediatedTypes.empty();
  });
  if (!known) return;
  tree.add("sys/bus/mdev/devices", TreeNode{});
  tree.add(std::string("sys/bus/mdev/drivers/") + kMediatedDriver, TreeNode{});
  for (const auto& [address, device] : world.devices) {
    if (hasHostDriver(world, device)) addTypes(tree, world, device);
  }
  for (const auto& [uuid, mediated] : world.mediated) addMediated(tree, world, mediated);
}

}  // namespace vfiogate::sim
