#include "privd/bind/plan/block_use.h"

#include <algorithm>
#include <set>

namespace vfiogate {
namespace {

bool isPartOf(const BlockDevice& part, const BlockDevice& whole) {
  return part.path.starts_with(whole.path + "/");
}

/// Of a hidden path of the kernel's NVMe multipath, "nvme0c1n2", the disk that is made of it:
/// "nvme0n2". Empty: it is none. The names alone tell: links of the two came with Linux 6.15.
std::string headOf(const std::string& path) {
  const std::size_t controller = path.find('c');
  const std::size_t space = path.find('n', controller);
  if (!path.starts_with("nvme") || space == std::string::npos) return {};
  return path.substr(0, controller) + path.substr(space);
}

/// The disk, its partitions, and everything that is made of them.
std::vector<const BlockDevice*> builtOn(const BlockDevice& disk,
                                        const std::vector<BlockDevice>& all) {
  std::vector<const BlockDevice*> found{&disk};
  std::set<std::string> known{disk.name};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const BlockDevice& other : all) {
      const BlockDevice& below = *found[i];
      const bool above = isPartOf(other, below) || other.name == headOf(below.name) ||
                         other.backing == "/dev/" + below.name ||
                         std::ranges::find(other.slaves, below.name) != other.slaves.end();
      if (above && known.insert(other.name).second) found.push_back(&other);
    }
  }
  return found;
}

void addUses(const BlockDevice& device, const HostTables& tables, DiskUse& use) {
  if (!device.slaves.empty() || !device.backing.empty()) {
    use.uses.push_back(device.name + " is made of it");
  }
  if (!device.fileSystem.empty()) {
    use.uses.push_back(device.name + " carries a mounted " + device.fileSystem);
  }
  for (const Mount& mount : tables.mounts.value_or(std::vector<Mount>())) {
    if (mount.device != device.number && mount.source != "/dev/" + device.name) continue;
    use.uses.push_back(device.name + " is mounted at " + mount.place);
    use.root = use.root || mount.place == "/";
  }
  for (const std::string& swap : tables.swaps.value_or(std::vector<std::string>())) {
    if (swap == "/dev/" + device.name) use.uses.push_back(device.name + " is swap");
  }
}

}  // namespace

std::vector<DiskUse> disksBelow(const Bdf& function, const std::vector<BlockDevice>& all,
                                const HostTables& tables) {
  std::vector<DiskUse> disks;
  const std::string step = "/" + function.str() + "/";
  for (const BlockDevice& device : all) {
    if (device.path.find(step) == std::string::npos) continue;
    const auto isWhole = [&device](const BlockDevice& other) { return isPartOf(device, other); };
    if (std::ranges::any_of(all, isWhole)) continue;
    const std::string head = headOf(device.name);
    DiskUse& use = disks.emplace_back(DiskUse{.disk = head.empty() ? device.name : head});
    for (const BlockDevice* above : builtOn(device, all)) addUses(*above, tables, use);
  }
  std::ranges::sort(disks, {}, &DiskUse::disk);
  return disks;
}

}  // namespace vfiogate
