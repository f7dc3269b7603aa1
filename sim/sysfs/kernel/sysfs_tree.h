#pragma once
// The simulated kernel's state as a tree of files: what is below "sys" and "dev".

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/sysfs/kernel/task.h"

namespace vfiogate::sim {

struct WriteRequest {
  std::string owner;      ///< address of a device, name of a driver, number of a group
  std::string text;       ///< as written, newline and all
  bool sysAdmin = false;  ///< the writer has CAP_SYS_ADMIN
};

/// What a write does, as the steps of a task. Null in a file that is read-only.
using Writer = std::vector<Step> (*)(const WriteRequest&);

enum class NodeKind : std::uint8_t { kDirectory, kLink, kFile, kCharDevice, kBlockDevice };

struct TreeNode {
  NodeKind kind = NodeKind::kDirectory;
  std::uint32_t mode = 0755;   ///< permission bits
  std::string text;            ///< what a read says; where a link points
  std::uint64_t identity = 0;  ///< changes when the object behind it is made anew
  std::string owner;           ///< for `write`
  Writer write = nullptr;
  std::optional<Bdf> readWaitsFor;  ///< a read waits for this device's lock
  std::uint32_t major = 0;          ///< of a device node
  std::uint32_t minor = 0;
  bool exclusive = false;          ///< of a device node: one opener at a time
  bool busy = false;               ///< of a device node: an opener that wants it alone is refused
  std::vector<std::string> names;  ///< of a directory's entries
};

/// Files by path, such as "sys/bus/pci/drivers_probe"; "" is the directory of "sys" and "dev".
class Tree {
public:
  Tree();

  /// Null if nothing has that path.
  const TreeNode* find(const std::string& path) const;

  /// Adds a node, and the directories above it that are missing.
  void add(const std::string& path, TreeNode node);

  void addText(const std::string& path, std::string text, std::uint64_t identity = 0);
  void addLink(const std::string& path, const std::string& target, std::uint64_t identity = 0);

private:
  std::unordered_map<std::string, TreeNode> nodes_;
};

/// The whole tree of `world`.
Tree buildTree(const World& world);

/// Where `path`, that may lead through links, really is; null if nothing is there.
std::optional<std::string> resolve(const Tree& tree, const std::string& path);

/// The parts of buildTree.
void addDeviceFiles(Tree& tree, const World& world, const Device& device);
void addBusFiles(Tree& tree, const World& world);
void addMediatedFiles(Tree& tree, const World& world);
void addVgpuFiles(Tree& tree, const World& world);
void addVfioFiles(Tree& tree, const World& world);
void addBlockFiles(Tree& tree, const World& world);
void addClassFiles(Tree& tree, const World& world);

}  // namespace vfiogate::sim
