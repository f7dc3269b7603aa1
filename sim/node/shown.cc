#include "sim/node/node.h"

#include <iomanip>
#include <set>
#include <sstream>

namespace vfiogate::sim {

std::string frameText(const DeviceTable& devices) {
  std::set<std::string> ids = devices.healthy();
  ids.insert(devices.unhealthy().begin(), devices.unhealthy().end());
  std::ostringstream text;
  text << "[";
  const char* separator = "";
  for (const std::string& id : ids) {
    text << std::exchange(separator, ", ") << id
         << (devices.healthy().contains(id) ? " Healthy" : " Unhealthy");
    for (const long node : devices.nodesOf(id)) {
      if (node >= 0) text << " numa " << node;
    }
  }
  text << "]";
  return text.str();
}

std::string grantText(const Granted& granted) {
  std::ostringstream text;
  const char* separator = "";
  for (const std::string& id : granted.ids) text << std::exchange(separator, " ") << id;
  text << ", nodes";
  for (const auto& node : granted.response.devices()) text << " " << node.host_path();
  for (const auto& [name, value] : granted.response.envs()) text << ", " << name << "=" << value;
  return text.str();
}

std::string nodeText(KubeletSim& kubelet) {
  std::ostringstream text;
  text << std::left << std::setw(36) << "RESOURCE" << std::setw(10) << "CAPACITY" << std::setw(13)
       << "ALLOCATABLE"
       << "LAST FRAME\n";
  for (const std::string& name : kubelet.resources()) {
    const DeviceTable devices = kubelet.devices(name);
    text << std::setw(36) << name << std::setw(10) << devices.capacity() << std::setw(13)
         << devices.allocatable() << frameText(devices) << "\n";
  }
  return text.str();
}

}  // namespace vfiogate::sim
