#include "sim/sysfs/topology/topology_file.h"

#include <algorithm>

#include "ipc/base/hex.h"

namespace vfiogate::sim {
namespace {

constexpr std::uint32_t kMostMinor = 1048575;
constexpr std::uint32_t kMostMajor = 4095;
constexpr std::uint32_t kMostUses = 1000000;
constexpr std::uint64_t kMebibytes = 2048;  // in sectors
constexpr std::uint32_t kUsualMebibytes = 1024;

/// "259:0".
void readNumber(YamlReader& reader, const YAML::Node& node, BlockSpec& block) {
  const std::string word = reader.text(node, "dev");
  const std::size_t colon = word.find(':');
  const auto major = parseDecimal(std::string_view(word).substr(0, colon));
  const auto minor = colon == std::string::npos
                         ? std::nullopt
                         : parseDecimal(std::string_view(word).substr(colon + 1));
  if (!major || !minor || *major > kMostMajor || *minor > kMostMinor) {
    reader.refuse(node, "dev: \"" + word + "\" is no device number: write major:minor, as 259:0");
  }
  block.major = major.value_or(0);
  block.minor = minor.value_or(0);
}

/// What disks, partitions and virtual ones have in common. The number is missing in a partition.
BlockSpec readBlock(YamlReader& reader, const YAML::Node& node, bool numbered) {
  BlockSpec block;
  if (!node["name"] || (numbered && !node["dev"])) {
    reader.refuse(
        node, numbered ? "a disk needs a name and a dev, as 259:0" : "a partition needs a name");
    return block;
  }
  block.name = reader.text(node["name"], "name");
  whenThere(node, "dev", [&](const YAML::Node& value) { readNumber(reader, value, block); });
  block.sectors = kUsualMebibytes * kMebibytes;
  whenThere(node, "mebibytes", [&](const YAML::Node& value) {
    block.sectors = reader.number(value, "mebibytes", 1U << 24) * kMebibytes;
  });
  block.holders = reader.texts(node["holders"], "holders");
  whenThere(node, "fs", [&](const YAML::Node& value) { block.fs = reader.text(value, "fs"); });
  return block;
}

/// A name alone, or a mapping. Without a number of its own it has the disk's next one.
BlockSpec readPartition(YamlReader& reader, const YAML::Node& node, const DiskSpec& disk) {
  BlockSpec partition;
  if (node.IsScalar()) {
    partition.name = reader.text(node, "partitions");
    partition.sectors = kUsualMebibytes * kMebibytes;
  } else if (reader.isMapping(node, {"name", "dev", "mebibytes", "holders", "fs"}, "a partition")) {
    partition = readBlock(reader, node, false);
  }
  if (partition.major != 0) return partition;
  partition.major = disk.whole.major;
  partition.minor = disk.whole.minor + static_cast<std::uint32_t>(disk.partitions.size()) + 1;
  return partition;
}

DiskSpec readDisk(YamlReader& reader, const YAML::Node& node) {
  DiskSpec disk;
  if (!reader.isMapping(node, {"name", "parent", "dev", "mebibytes", "partitions", "holders", "fs"},
                        "a disk")) {
    return disk;
  }
  disk.whole = readBlock(reader, node, true);
  if (!node["parent"]) {
    reader.refuse(node, "a disk needs a parent, its place below the device, as nvme/nvme0");
    return disk;
  }
  disk.parent = reader.text(node["parent"], "parent");
  reader.forEach(node["partitions"], "partitions", [&](const YAML::Node& element) {
    disk.partitions.push_back(readPartition(reader, element, disk));
  });
  return disk;
}

InterfaceSpec readInterface(YamlReader& reader, const YAML::Node& node) {
  InterfaceSpec face;
  if (!reader.isMapping(node, {"name", "parent", "flags", "operstate", "master", "upper"},
                        "an interface")) {
    return face;
  }
  if (!node["name"]) reader.refuse(node, "an interface needs a name");
  const auto text = [&](const char* key, std::string& into) {
    whenThere(node, key, [&](const YAML::Node& value) { into = reader.text(value, key); });
  };
  text("name", face.name);
  text("parent", face.parent);
  text("operstate", face.operstate);
  text("master", face.master);
  whenThere(node, "flags", [&](const YAML::Node& value) {
    const auto flags = parseHex(reader.text(value, "flags"));
    if (!flags) reader.refuse(value, "flags: write a hexadecimal number, as 0x1003");
    face.flags = flags.value_or(0);
  });
  face.upper = reader.texts(node["upper"], "upper");
  return face;
}

InputSpec readInput(YamlReader& reader, const YAML::Node& node) {
  InputSpec input;
  if (!reader.isMapping(node, {"name", "parent", "keys"}, "an input")) return input;
  if (!node["name"]) reader.refuse(node, "an input needs a name, as input5");
  const auto text = [&](const char* key, std::string& into) {
    whenThere(node, key, [&](const YAML::Node& value) { into = reader.text(value, key); });
  };
  text("name", input.name);
  text("parent", input.parent);
  text("keys", input.keys);
  return input;
}

}  // namespace

HostObjects readHostObjects(YamlReader& reader, const YAML::Node& device) {
  HostObjects objects;
  reader.forEach(device["block"], "block",
                 [&](const YAML::Node& node) { objects.disks.push_back(readDisk(reader, node)); });
  reader.forEach(device["net"], "net", [&](const YAML::Node& node) {
    objects.interfaces.push_back(readInterface(reader, node));
  });
  objects.cards = reader.texts(device["drm"], "drm");
  objects.framebuffers = reader.texts(device["graphics"], "graphics");
  reader.forEach(device["input"], "input", [&](const YAML::Node& node) {
    objects.inputs.push_back(readInput(reader, node));
  });
  return objects;
}

VirtualDiskSpec readVirtualDisk(YamlReader& reader, const YAML::Node& node) {
  VirtualDiskSpec disk;
  if (!reader.isMapping(node, {"name", "dev", "mebibytes", "holders", "fs", "backing"},
                        "a virtual disk")) {
    return disk;
  }
  disk.block = readBlock(reader, node, true);
  whenThere(node, "backing",
            [&](const YAML::Node& value) { disk.backing = reader.text(value, "backing"); });
  return disk;
}

ModuleSpec readModule(YamlReader& reader, const YAML::Node& node, const std::string& driver) {
  ModuleSpec module;
  module.name = driver;
  std::replace(module.name.begin(), module.name.end(), '-', '_');
  if (!node) return module;
  if (node.IsScalar()) {
    module.builtin = reader.oneOf(node, "module", {"builtin"}) == 0;
    return module;
  }
  if (!reader.isMapping(node, {"name", "refcnt", "holders"}, "a module")) return module;
  whenThere(node, "name",
            [&](const YAML::Node& value) { module.name = reader.text(value, "name"); });
  whenThere(node, "refcnt", [&](const YAML::Node& value) {
    module.refcnt = reader.number(value, "refcnt", kMostUses);
  });
  module.holders = reader.texts(node["holders"], "holders");
  return module;
}

}  // namespace vfiogate::sim
