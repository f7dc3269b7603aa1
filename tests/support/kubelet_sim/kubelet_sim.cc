#include "tests/support/kubelet_sim/kubelet_sim.h"

#include "ipc/types/resource_name.h"
#include "tests/support/kubelet_sim/registration_desk.h"
#include "tests/support/kubelet_sim/sim_state.h"

#include <filesystem>
#include <iostream>

namespace vfiogate::sim {
bool isExtendedResourceName(const std::string& name) {
  return ResourceName::parse(name).has_value();
}

KubeletSim::KubeletSim(std::string kubeletDir, KubeletOptions options)
    : state_(std::make_unique<State>()) {
  state_->directory = std::move(kubeletDir) + "/device-plugins";
  state_->options = options;
  state_->random.seed(options.seed);
}

KubeletSim::~KubeletSim() {
  stop();
  if (!state_->crash.empty() && !state_->crashSeen) {
    std::cerr << "the kubelet crashed, and no test asked: " << state_->crash << std::endl;
    std::abort();
  }
}

void KubeletSim::start() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = false;
    state_->readCheckpoint();
    for (const auto& entry : std::filesystem::directory_iterator(state_->directory)) {
      if (std::filesystem::is_socket(entry.status())) std::filesystem::remove(entry.path());
    }
  }
  state_->desk = std::make_unique<Desk>(*this, state_->socketPath("kubelet.sock"));
}

void KubeletSim::stop() {
  const std::lock_guard onlyOne(state_->stopMutex);
  std::vector<std::shared_ptr<PluginClient>> clients;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopping) return;
    state_->stopping = true;
    ++state_->life;
    clients = std::move(state_->retired);
    state_->retired.clear();
    for (auto& [name, resource] : state_->resources) {
      if (resource.client) clients.push_back(std::move(resource.client));
    }
    state_->changed.notify_all();
  }
  for (const auto& client : clients) client->close();  // also ends what admit() waits for
  state_->desk.reset();
  clients.clear();  // joins their readers: not under the lock, which they take
  const std::lock_guard lock(state_->mutex);
  state_->resources.clear();
  state_->recorded.clear();
}

void KubeletSim::behave(Manner manner, std::string refusal) {
  const std::lock_guard lock(state_->mutex);
  state_->manner = manner;
  state_->refusal = std::move(refusal);
}

void KubeletSim::closeStreamAfterFrames(std::size_t count) {
  const std::lock_guard lock(state_->mutex);
  state_->framesUntilHangUp = count;
}

void KubeletSim::dieInAllocate() {
  const std::lock_guard lock(state_->mutex);
  state_->dieInAllocate = true;
}

bool KubeletSim::await(const std::string& resource,
                       const std::function<bool(const DeviceTable&)>& holds) {
  return state_->await([&]() { return holds(state_->resources[resource].devices); });
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

bool KubeletSim::awaitFrames(const std::string& resource, std::size_t count) {
  return state_->await([&]() { return state_->resources[resource].frames >= count; });
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
