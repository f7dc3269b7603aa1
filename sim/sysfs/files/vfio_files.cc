#include <algorithm>
#include <set>

#include "sim/sysfs/kernel/mediated.h"
#include "sim/sysfs/kernel/sysfs_tree.h"

namespace vfiogate::sim {
namespace {

// Majors of character devices as k61 numbers them; misc devices (10) have fixed minors.
constexpr std::uint32_t kMiscMajor = 10;
constexpr std::uint32_t kVfioMinor = 196;
constexpr std::uint32_t kIommuMinor = 124;
constexpr std::uint32_t kGroupMajor = 243;
constexpr std::uint32_t kCdevMajor = 511;
constexpr std::uint32_t kEgmMajor = 510;

void addCharDevice(Tree& tree, const std::string& path, std::uint32_t mode,
                   std::pair<std::uint32_t, std::uint32_t> number) {
  TreeNode node;
  node.kind = NodeKind::kCharDevice;
  node.mode = mode;
  node.major = number.first;
  node.minor = number.second;
  tree.add(path, std::move(node));
}

std::string numbers(std::uint32_t major, std::uint32_t minor) {
  return std::to_string(major) + ":" + std::to_string(minor) + "\n";
}

void addGroupNode(Tree& tree, const World& world, std::uint32_t group) {
  const std::string name = groupNodeName(world, group);
  const std::string path = "sys/devices/virtual/vfio/" + name;
  tree.addText(path + "/dev", numbers(kGroupMajor, group));
  tree.addText(path + "/uevent", "MAJOR=" + std::to_string(kGroupMajor) + "\nMINOR=" +
                                     std::to_string(group) + "\nDEVNAME=vfio/" + name + "\n");
  tree.addLink(path + "/subsystem", "sys/class/vfio");
  tree.addLink("sys/class/vfio/" + name, path);
  addCharDevice(tree, "dev/vfio/" + name, 0600, {kGroupMajor, group});
  TreeNode node = *tree.find("dev/vfio/" + name);
  node.exclusive = true;
  node.busy = groupInUse(world, group);
  tree.add("dev/vfio/" + name, std::move(node));
}

/// `above`: the directory of the device.
void addVfioDev(Tree& tree, const World& world, const std::string& above, std::uint32_t number,
                std::uint64_t serial) {
  const std::string name = "vfio" + std::to_string(number);
  const std::string path = "sys/" + above + "/vfio-dev/" + name;
  tree.addText(path + "/uevent", "", serial);
  tree.addLink(path + "/device", "sys/" + above, serial);
  tree.addLink(path + "/subsystem", "sys/class/vfio-dev", serial);
  tree.addLink("sys/class/vfio-dev/" + name, path);
  if (!world.topology.cdev) return;
  tree.addText(path + "/dev", numbers(kCdevMajor, number), serial);
  addCharDevice(tree, "dev/vfio/devices/" + name, 0600, {kCdevMajor, number});
}

/// A region's memory, below the first GPU whose VFIO driver shows it: as Grace's driver has it,
/// those on other drivers are not told.
void addEgm(Tree& tree, const World& world, std::uint32_t region) {
  const std::string name = "egm" + std::to_string(region);
  std::string path;
  std::string gpus;
  for (const auto& [address, device] : world.devices) {
    if (device.hardware.egm != region || !device.vfioDev) continue;
    if (path.empty()) path = "sys/" + devicePath(world, device.hardware) + "/egm/" + name;
    gpus += address.str() + "\n";
  }
  if (path.empty()) return;
  tree.addText(path + "/dev", numbers(kEgmMajor, region));
  tree.addText(path + "/egm_size", "0x10000000\n");
  tree.addText(path + "/gpu_devices", gpus);
  tree.addLink(path + "/subsystem", "sys/class/egm");
  tree.addLink("sys/class/egm/" + name, path);
  addCharDevice(tree, "dev/" + name, 0600, {kEgmMajor, region});
}

}  // namespace

void addVfioFiles(Tree& tree, const World& world) {
  const bool loaded =
      std::any_of(world.drivers.begin(), world.drivers.end(),
                  [](const Driver& driver) { return driver.spec.kind == DriverKind::kVfio; });
  if (!loaded) return;
  tree.add("sys/class/vfio", TreeNode{});
  tree.add("sys/class/vfio-dev", TreeNode{});
  addCharDevice(tree, "dev/vfio/vfio", 0666, {kMiscMajor, kVfioMinor});
  if (world.topology.cdev) addCharDevice(tree, "dev/iommu", 0660, {kMiscMajor, kIommuMinor});
  for (const auto& [number, group] : world.groups) {
    if (hasGroupNode(world, number)) addGroupNode(tree, world, number);
  }
  for (const auto& [address, device] : world.devices) {
    if (!device.vfioDev) continue;
    addVfioDev(tree, world, devicePath(world, device.hardware), *device.vfioDev, device.serial);
  }
  std::set<std::uint32_t> regions;
  for (const auto& [address, device] : world.devices) {
    if (device.hardware.egm) regions.insert(*device.hardware.egm);
  }
  for (const std::uint32_t region : regions) addEgm(tree, world, region);
  for (const auto& [uuid, mediated] : world.mediated) {
    addVfioDev(tree, world, mediatedPath(world, mediated), mediated.vfioDev, mediated.serial);
  }
}

}  // namespace vfiogate::sim
