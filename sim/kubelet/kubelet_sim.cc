#include "sim/kubelet/kubelet_sim.h"

#include "ipc/base/kube_names.h"
#include "sim/kubelet/dra.h"
#include "sim/kubelet/pod_resources_server.h"
#include "sim/kubelet/registration_server.h"
#include "sim/kubelet/sim_state.h"
#include "sim/kubelet/watched_plugins.h"

#include <algorithm>
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

void KubeletSim::start(StartOptions options) {
  const auto dra = std::make_shared<Dra>(*this);  // throws
  {
    const std::lock_guard lock(state_->mutex);
    state_->dra = dra;
    state_->stopping = false;
    state_->sourcesReady = options.sourcesReady;
    state_->runningAtStart.clear();
    for (auto& [uid, pod] : state_->pods) {
      pod.added = options.sourcesReady;
      for (const std::string& container : pod.running) {
        state_->runningAtStart.emplace(uid, container);
      }
    }
    state_->readCheckpoint();
    for (const auto& entry : std::filesystem::directory_iterator(state_->directory)) {
      if (std::filesystem::is_socket(entry.status())) std::filesystem::remove(entry.path());
    }
  }
  dra->begin();
  const std::filesystem::path root = std::filesystem::path(state_->directory).parent_path();
  state_->podResources = std::make_unique<PodResourcesServer>(*state_, root / "pod-resources");
  state_->service = std::make_unique<Service>(*this, state_->socketPath("kubelet.sock"));
  state_->consumer = std::make_unique<WatchedPlugins>(*this);
  state_->watcher = std::make_unique<PluginWatcher>(root / "plugins_registry",
                                                    state_->options.watch, *state_->consumer);
  {
    const std::lock_guard lock(state_->mutex);
    state_->tell("the kubelet is up");
  }
  if (options.sourcesReady) resumePods();
}

void KubeletSim::restart(StartOptions options) {
  stop();
  start(options);
}

void KubeletSim::sourcesReady() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->sourcesReady = true;
  }
  resumePods();
}

void KubeletSim::powerOff() {
  stop();
  const std::lock_guard lock(state_->mutex);
  for (auto& [uid, pod] : state_->pods) {
    pod.running.clear();
    pod.ended.clear();
    pod.sandbox = false;
  }
}

void KubeletSim::stop() {
  const std::lock_guard onlyOne(state_->stopMutex);
  std::vector<std::shared_ptr<PluginClient>> clients;
  std::shared_ptr<Dra> dra;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopping) return;
    state_->stopping = true;
    ++state_->life;
    dra = std::move(state_->dra);
    state_->dra = nullptr;
    clients = std::move(state_->retired);
    state_->retired.clear();
    for (auto& [name, resource] : state_->resources) {
      if (resource.client) clients.push_back(std::move(resource.client));
      // Of an earlier client, where a later registration failed: it is in `retired` as well.
      if (resource.endpoint && resource.endpoint->client) {
        clients.push_back(std::move(resource.endpoint->client));
      }
    }
    state_->changed.notify_all();
  }
  for (const auto& client : clients) client->close();  // also ends what admit() waits for
  dra->close();
  state_->watcher.reset();
  state_->consumer.reset();
  state_->service.reset();
  state_->podResources.reset();
  clients.clear();  // joins their readers: not under the lock, which they take
  const std::lock_guard lock(state_->mutex);
  state_->resources.clear();
  state_->recorded.clear();
  state_->reusable.clear();
  state_->reusedBy.clear();
  state_->pendingAdmission.clear();
  state_->watchedPlugins.clear();
  state_->heldCheckpoints.clear();
  state_->holdingCheckpoints = false;
  state_->tell("the kubelet is gone");
}

void KubeletSim::behave(Manner manner, std::string refusal) {
  const std::lock_guard lock(state_->mutex);
  state_->manner = manner;
  state_->refusal = std::move(refusal);
}

void KubeletSim::answerLate(std::chrono::milliseconds late) {
  const std::lock_guard lock(state_->mutex);
  state_->late = late;
  state_->changed.notify_all();
}

void KubeletSim::closeStreamAfterFrames(std::size_t count) {
  const std::lock_guard lock(state_->mutex);
  state_->framesUntilHangUp = count;
}

void KubeletSim::dieInAllocate() {
  const std::lock_guard lock(state_->mutex);
  state_->dieInAllocate = true;
}

std::vector<std::string> KubeletSim::State::shuffled(const std::set<std::string>& ids) {
  std::vector<std::string> order(ids.begin(), ids.end());
  std::ranges::shuffle(order, random);
  return order;
}

std::vector<std::string> KubeletSim::State::shuffledLimits(const ContainerSpec& container) {
  std::set<std::string> resourceNames;
  for (const auto& [resource, count] : container.limits) resourceNames.insert(resource);
  return shuffled(resourceNames);
}

}  // namespace vfiogate::sim
