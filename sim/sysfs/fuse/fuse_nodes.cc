#include "sim/sysfs/fuse/fuse_nodes.h"

namespace vfiogate::sim {

FuseNodes::FuseNodes() {
  nodes_[kRoot] = KnownNode{"", 0, 1, true};
  byPath_[""] = kRoot;
}

const KnownNode* FuseNodes::find(std::uint64_t number) const {
  const auto found = nodes_.find(number);
  return found == nodes_.end() ? nullptr : &found->second;
}

std::uint64_t FuseNodes::lookup(const std::string& path, std::uint64_t identity, bool shared) {
  if (shared) {
    const auto known = byPath_.find(path);
    if (known != byPath_.end() && nodes_.at(known->second).identity == identity) {
      ++nodes_.at(known->second).lookups;
      return known->second;
    }
  }
  nodes_[++last_] = KnownNode{path, identity, 1, shared};
  if (shared) byPath_[path] = last_;
  return last_;
}

void FuseNodes::forget(std::uint64_t number, std::uint64_t lookups) {
  const auto found = nodes_.find(number);
  if (number == kRoot || found == nodes_.end()) return;
  if (found->second.lookups > lookups) {
    found->second.lookups -= lookups;
    return;
  }
  const auto byPath = byPath_.find(found->second.path);
  if (byPath != byPath_.end() && byPath->second == number) byPath_.erase(byPath);
  nodes_.erase(found);
}

}  // namespace vfiogate::sim
