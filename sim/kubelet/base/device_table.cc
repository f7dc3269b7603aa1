#include "sim/kubelet/base/device_table.h"

namespace vfiogate::sim {

void DeviceTable::take(const std::vector<SeenDevice>& frame) {
  healthy_.clear();
  unhealthy_.clear();
  nodes_.clear();
  for (const SeenDevice& device : frame) {
    (device.health == "Healthy" ? healthy_ : unhealthy_).insert(device.id);
    nodes_[device.id] = device.numaNodes;
  }
}

void DeviceTable::disconnect() {
  unhealthy_.merge(healthy_);
  healthy_.clear();
}

std::vector<long> DeviceTable::nodesOf(const std::string& id) const {
  const auto found = nodes_.find(id);
  if (found == nodes_.end() || found->second.empty()) return {-1};
  return found->second;
}

}  // namespace vfiogate::sim
