// What a test may ask the stand-in kubelet.

#include "sim/kubelet/sim_state.h"

namespace vfiogate::sim {

void KubeletSim::setPatience(std::chrono::milliseconds patience) {
  const std::lock_guard lock(state_->mutex);
  state_->options.patience = patience;
}

bool KubeletSim::await(const std::string& resource,
                       const std::function<bool(const DeviceTable&)>& holds,
                       std::optional<std::chrono::milliseconds> patience) {
  return state_->await([&]() { return holds(state_->resources[resource].devices); },
                       patience.value_or(state_->options.patience));
}

bool KubeletSim::shows(const std::string& resource, const std::set<std::string>& healthy,
                       const std::set<std::string>& unhealthy) {
  return await(resource, [&](const DeviceTable& devices) {
    return devices.healthy() == healthy && devices.unhealthy() == unhealthy;
  });
}

bool KubeletSim::awaitRegistrations(const std::string& resource, std::size_t times) {
  return state_->await([&]() { return state_->resources[resource].registrations >= times; });
}

bool KubeletSim::awaitPreStart(const std::string& resource, bool required) {
  return state_->await([&]() {
    const auto& endpoint = state_->resources[resource].endpoint;
    return endpoint && endpoint->options && endpoint->options->pre_start_required() == required;
  });
}

bool KubeletSim::awaitStreamsEnded(const std::string& resource, std::size_t count) {
  return state_->await([&]() { return state_->resources[resource].streamsEnded >= count; });
}

bool KubeletSim::awaitFrames(const std::string& resource, std::size_t count) {
  return state_->await([&]() { return state_->resources[resource].frames >= count; });
}

std::vector<CheckpointEntry> KubeletSim::records() {
  const std::lock_guard lock(state_->mutex);
  return state_->recorded;
}

std::set<std::string> KubeletSim::watchedPlugins() {
  const std::lock_guard lock(state_->mutex);
  return {state_->watchedPlugins.begin(), state_->watchedPlugins.end()};
}

bool KubeletSim::awaitWatchedPlugins(const std::set<std::string>& plugins) {
  return state_->await([&]() {
    return std::set(state_->watchedPlugins.begin(), state_->watchedPlugins.end()) == plugins;
  });
}

DeviceTable KubeletSim::devices(const std::string& resource) {
  const std::lock_guard lock(state_->mutex);
  return state_->resources[resource].devices;
}

std::size_t KubeletSim::frames(const std::string& resource) {
  const std::lock_guard lock(state_->mutex);
  return state_->resources[resource].frames;
}

std::size_t KubeletSim::registrations(const std::string& resource) {
  const std::lock_guard lock(state_->mutex);
  return state_->resources[resource].registrations;
}

std::size_t KubeletSim::streamsEnded(const std::string& resource) {
  const std::lock_guard lock(state_->mutex);
  return state_->resources[resource].streamsEnded;
}

std::vector<std::string> KubeletSim::resources() {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, resource] : state_->resources) {
    if (resource.known) names.push_back(name);
  }
  return names;
}

std::set<std::string> KubeletSim::allocated(const std::string& resource) {
  const std::lock_guard lock(state_->mutex);
  return state_->resources[resource].allocated;
}

std::map<std::string, NodeCounts> KubeletSim::nodeStatus() {
  const std::lock_guard lock(state_->mutex);
  bool dropped = false;
  std::map<std::string, NodeCounts> status;
  for (auto& [name, resource] : state_->resources) {
    if (!resource.known) continue;
    const auto stopped = resource.endpoint ? resource.endpoint->stopped : std::nullopt;
    if (stopped && state_->options.now() - *stopped > state_->options.grace) {
      resource.known = false;
      resource.devices = {};
      resource.endpoint.reset();  // its client is retired and lives on there
      state_->removed.insert(name);
      dropped = true;
      continue;
    }
    state_->removed.erase(name);
    status[name] = {resource.devices.capacity(), resource.devices.allocatable()};
  }
  for (const std::string& name : state_->removed) status[name] = {0, 0};
  if (dropped) state_->writeCheckpoint();
  return status;
}

void KubeletSim::dropStream(const std::string& resource) {
  std::shared_ptr<PluginClient> client;
  {
    const std::lock_guard lock(state_->mutex);
    client = state_->resources[resource].client;
  }
  if (client) client->close();
}

std::string KubeletSim::crash() {
  const std::lock_guard lock(state_->mutex);
  state_->crashSeen = true;
  return state_->crash;
}

std::size_t KubeletSim::checkpointWrites() {
  const std::lock_guard lock(state_->mutex);
  return state_->checkpointWrites;
}

}  // namespace vfiogate::sim
