#include "sim/sysfs/kernel/sysfs_tree.h"

#include <algorithm>

namespace vfiogate::sim {
namespace {

constexpr int kMostLinks = 40;  // as the kernel's ELOOP limit

std::string parentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string join(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

/// `target` spelled from the directory of `path`: sysfs has relative links only.
std::string relativeTo(const std::string& path, const std::string& target) {
  std::size_t common = 0;
  for (std::size_t at = 0; at < std::min(path.size(), target.size()); ++at) {
    if (path[at] != target[at]) break;
    if (path[at] == '/') common = at + 1;
  }
  std::string upward;
  for (const char letter : path.substr(common)) {
    if (letter == '/') upward += "../";
  }
  return upward + target.substr(common);
}

}  // namespace

Tree::Tree() {
  nodes_[""] = TreeNode{};
}

const TreeNode* Tree::find(const std::string& path) const {
  const auto found = nodes_.find(path);
  return found == nodes_.end() ? nullptr : &found->second;
}

void Tree::add(const std::string& path, TreeNode node) {
  const std::string parent = parentOf(path);
  if (!nodes_.contains(parent)) {
    TreeNode directory;
    directory.identity = node.identity;
    add(parent, std::move(directory));
  }
  const bool fresh = !nodes_.contains(path);
  if (!fresh) node.names = std::move(nodes_.at(path).names);
  if (fresh) nodes_.at(parent).names.push_back(path.substr(path.rfind('/') + 1));
  nodes_[path] = std::move(node);
}

void Tree::addText(const std::string& path, std::string text, std::uint64_t identity) {
  TreeNode node;
  node.kind = NodeKind::kFile;
  node.mode = 0444;
  node.text = std::move(text);
  node.identity = identity;
  add(path, std::move(node));
}

void Tree::addLink(const std::string& path, const std::string& target, std::uint64_t identity) {
  TreeNode node;
  node.kind = NodeKind::kLink;
  node.mode = 0777;
  node.text = relativeTo(path, target);
  node.identity = identity;
  add(path, std::move(node));
}

Tree buildTree(const World& world) {
  Tree tree;
  addBusFiles(tree, world);
  for (const auto& [address, device] : world.devices) addDeviceFiles(tree, world, device);
  addMediatedFiles(tree, world);
  addVgpuFiles(tree, world);
  addVfioFiles(tree, world);
  addBlockFiles(tree, world);
  addClassFiles(tree, world);
  return tree;
}

std::optional<std::string> resolve(const Tree& tree, const std::string& path) {
  std::string rest = path;
  std::string here;
  int links = 0;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string name = rest.substr(0, slash);
    rest = slash == std::string::npos ? "" : rest.substr(slash + 1);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      here = parentOf(here);
      continue;
    }
    const std::string next = join(here, name);
    const TreeNode* node = tree.find(next);
    if (node == nullptr) return std::nullopt;
    if (node->kind != NodeKind::kLink) {
      here = next;
      continue;
    }
    if (++links > kMostLinks) return std::nullopt;
    rest = node->text + (rest.empty() ? "" : "/" + rest);
  }
  return here;
}

}  // namespace vfiogate::sim
