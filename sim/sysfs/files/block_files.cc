#include <algorithm>
#include <array>
#include <cstdio>

#include "sim/sysfs/kernel/host_objects.h"

namespace vfiogate::sim {
namespace {

constexpr std::uint32_t kMapperMajor = 253;
constexpr std::uint32_t kRaidMajor = 9;
constexpr const char* kVirtual = "sys/devices/virtual/block/";

std::string numberOf(const BlockSpec& block) {
  return std::to_string(block.major) + ":" + std::to_string(block.minor);
}

/// A block device that only the `holders` of another one name: its number is in its name.
BlockSpec impliedBlock(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  BlockSpec block;
  block.name = name;
  block.major = name.starts_with("md") ? kRaidMajor : kMapperMajor;
  block.minor =
      digits < name.size() ? static_cast<std::uint32_t>(std::stoul(name.substr(digits))) : 0;
  return block;
}

bool isUsed(const BlockSpec& block) {
  return !block.holders.empty() || !block.fs.empty();
}

/// btrfs files what it has mounted under the file system's UUID; made of the device's number here.
std::string uuidOf(const BlockSpec& block) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%08x-0000-4000-8000-%012x", block.major, block.minor);
  return text.data();
}

/// Adds block devices and what stands on them to the tree.
class BlockFiles {
public:
  BlockFiles(Tree& tree, const World& world) : tree_(tree), world_(world) {}

  void addAll() {
    for (const char* path : {"sys/class/block", "sys/block", "sys/dev/block", "sys/fs"}) {
      tree_.add(path, TreeNode{});
    }
    for (const VirtualDiskSpec& disk : world_.topology.virtualDisks) {
      addVirtual(disk.block);
      if (disk.backing.empty()) continue;
      const std::string path = kVirtual + disk.block.name + "/loop";
      tree_.addText(path + "/backing_file", disk.backing + "\n");
      tree_.addText(path + "/autoclear", "0\n");
    }
    for (const auto& [address, device] : world_.devices) {
      if (hasHostDriver(world_, device)) addDisks(device);
    }
  }

private:
  void addDisks(const Device& device) {
    const std::string above = "sys/" + devicePath(world_, device.hardware) + "/";
    for (const DiskSpec& disk : device.hardware.objects.disks) {
      const std::string path = above + disk.parent + "/" + disk.whole.name;
      const bool partsUsed = std::any_of(disk.partitions.begin(), disk.partitions.end(), isUsed);
      addBlock(disk.whole, path, "disk", device.serial);
      addNode(disk.whole, isUsed(disk.whole) || partsUsed);
      tree_.addLink(path + "/device", above + disk.parent, device.serial);
      std::uint32_t number = 0;
      for (const BlockSpec& part : disk.partitions) {
        const std::string place = path + "/" + part.name;
        addBlock(part, place, "partition", device.serial);
        tree_.addText(place + "/partition", std::to_string(++number) + "\n", device.serial);
      }
    }
  }

  void addBlock(const BlockSpec& block, const std::string& path, const std::string& kind,
                std::uint64_t serial) {
    tree_.addText(path + "/dev", numberOf(block) + "\n", serial);
    tree_.addText(path + "/size", std::to_string(block.sectors) + "\n", serial);
    tree_.addText(path + "/ro", "0\n", serial);
    tree_.addText(path + "/uevent",
                  "MAJOR=" + std::to_string(block.major) +
                      "\nMINOR=" + std::to_string(block.minor) + "\nDEVNAME=" + block.name +
                      "\nDEVTYPE=" + kind + "\n",
                  serial);
    tree_.addLink(path + "/subsystem", "sys/class/block", serial);
    tree_.add(path + "/holders", directory(serial));
    tree_.addLink("sys/class/block/" + block.name, path, serial);
    tree_.addLink("sys/dev/block/" + numberOf(block), path, serial);
    if (kind == "disk") {
      tree_.addLink("sys/block/" + block.name, path, serial);
      tree_.add(path + "/slaves", directory(serial));
    }
    addNode(block, isUsed(block));
    if (!block.fs.empty()) addFileSystem(block, path);
    for (const std::string& holder : block.holders) addHolder(holder, path, serial);
  }

  void addVirtual(const BlockSpec& block) {
    if (tree_.find(kVirtual + block.name) == nullptr) {
      addBlock(block, kVirtual + block.name, "disk", 0);
    }
  }

  void addHolder(const std::string& name, const std::string& below, std::uint64_t serial) {
    addVirtual(describedBlock(name));
    const std::string lower = below.substr(below.rfind('/') + 1);
    tree_.addLink(below + "/holders/" + name, kVirtual + name, serial);
    tree_.addLink(kVirtual + name + "/slaves/" + lower, below, serial);
  }

  BlockSpec describedBlock(const std::string& name) const {
    for (const VirtualDiskSpec& disk : world_.topology.virtualDisks) {
      if (disk.block.name == name) return disk.block;
    }
    return impliedBlock(name);
  }

  void addFileSystem(const BlockSpec& block, const std::string& path) {
    const std::string type = "sys/fs/" + block.fs;
    if (block.fs == "btrfs") {
      tree_.addLink(type + "/" + uuidOf(block) + "/devices/" + block.name, path);
    } else {
      tree_.add(type + "/" + block.name, TreeNode{});
    }
  }

  void addNode(const BlockSpec& block, bool busy) {
    TreeNode node;
    node.kind = NodeKind::kBlockDevice;
    node.mode = 0660;
    node.major = block.major;
    node.minor = block.minor;
    node.busy = busy;
    tree_.add("dev/" + block.name, std::move(node));
  }

  static TreeNode directory(std::uint64_t serial) {
    TreeNode node;
    node.identity = serial;
    return node;
  }

  Tree& tree_;
  const World& world_;
};

}  // namespace

void addBlockFiles(Tree& tree, const World& world) {
  BlockFiles(tree, world).addAll();
}

}  // namespace vfiogate::sim
