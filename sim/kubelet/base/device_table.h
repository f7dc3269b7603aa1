#pragma once
// What the kubelet makes of a plugin's frames.

#include <map>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::sim {

struct SeenDevice {
  std::string id;
  std::string health;
  std::vector<long> numaNodes;
};

/// One resource's devices. Each frame replaces the one before; `Healthy` is exact; an id twice in a
/// frame can be in both sets and is counted twice in the capacity, as in the real one (K6).
class DeviceTable {
public:
  void take(const std::vector<SeenDevice>& frame);
  /// The stream ended: all that was healthy is unhealthy (K7).
  void disconnect();

  std::size_t capacity() const { return healthy_.size() + unhealthy_.size(); }
  std::size_t allocatable() const { return healthy_.size(); }
  const std::set<std::string>& healthy() const { return healthy_; }
  const std::set<std::string>& unhealthy() const { return unhealthy_; }
  bool lists(const std::string& id) const { return nodes_.contains(id); }
  /// The nodes that the last frame gave for the id; -1 where none.
  std::vector<long> nodesOf(const std::string& id) const;

private:
  std::set<std::string> healthy_;
  std::set<std::string> unhealthy_;
  std::map<std::string, std::vector<long>> nodes_;
};

}  // namespace vfiogate::sim
