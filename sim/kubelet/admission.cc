// Admission: which devices a pod gets, all of them before any of its containers starts.

#include "sim/kubelet/allocation.h"
#include "sim/kubelet/base/checkpoint_format.h"

#include <algorithm>
#include <optional>

namespace vfiogate::sim {
namespace {

bool isPlainInit(const PodSpec& pod, const ContainerSpec& container) {
  return !container.sidecar &&
         std::ranges::any_of(pod.initContainers, [&](const ContainerSpec& init) {
           return init.name == container.name;
         });
}

/// What a scheduler counts: app containers and sidecars together, or one plain init container if
/// that is more.
std::size_t requestOf(const PodSpec& pod, const std::string& resource) {
  std::size_t sum = 0;
  std::size_t most = 0;
  const auto count = [&resource](const ContainerSpec& container) {
    const auto limit = container.limits.find(resource);
    return limit == container.limits.end() ? 0 : limit->second;
  };
  for (const ContainerSpec& container : pod.containers) sum += count(container);
  for (const ContainerSpec& container : pod.initContainers) {
    if (container.sidecar) sum += count(container);
    if (!container.sidecar) most = std::max(most, count(container));
  }
  return std::max(sum, most);
}

/// Of the node, as far as the resource check is concerned.
struct Stock {
  std::size_t used = 0;
  std::size_t capacity = 0;
};

/// Null for a pod that got no device. The check takes what is allocated for there, if that is more
/// than what is healthy. What pods ask for counts, whatever the kubelet remembers of their devices.
template <typename State>
std::optional<Stock> stockFor(State& state, const PodSpec& pod, const std::string& resource) {
  const bool got = std::ranges::any_of(state.recorded, [&](const CheckpointEntry& entry) {
    return entry.podUid == pod.uid && entry.resource == resource;
  });
  if (!got) return std::nullopt;
  const auto& known = state.resources[resource];
  Stock stock{.capacity = std::max(known.devices.healthy().size(), known.allocated.size())};
  for (const auto& [uid, other] : state.pods) {
    if (uid != pod.uid && state.isActive(uid)) stock.used += requestOf(other.spec, resource);
  }
  return stock;
}

std::string outOf(const std::string& resource, std::size_t requested, const Stock& stock) {
  return "Pod was rejected: Node didn't have enough resource: " + resource +
         ", requested: " + std::to_string(requested) + ", used: " + std::to_string(stock.used) +
         ", capacity: " + std::to_string(stock.capacity);
}

}  // namespace

KubeletSim::State::Outcome KubeletSim::State::allocate(const PodSpec& pod,
                                                       const ContainerSpec& container,
                                                       std::vector<Granted>& granted,
                                                       std::string& why) {
  std::unique_lock lock(mutex);
  if (reusedBy != pod.uid) reusable.clear();
  reusedBy = pod.uid;
  pendingAdmission = pod.uid;
  if (options.topologyHints) freeInactive();
  bool freed = false;
  bool fresh = false;
  for (const std::string& resource : shuffledLimits(container)) {
    if (!isManaged(resource)) continue;
    if (!freed) freeInactive();
    freed = true;
    Allocation allocation(*this, lock, pod, container, resource);
    const Outcome outcome = allocation.run();
    if (outcome == Outcome::kRejected) why = allocation.error();
    if (outcome != Outcome::kDone) return outcome;
    if (!allocation.granted()) continue;
    granted.push_back(*allocation.granted());
    fresh = true;
  }
  if (fresh) writeCheckpoint();
  const bool leaves = isPlainInit(pod, container);
  for (const CheckpointEntry& entry : recorded) {
    if (entry.podUid != pod.uid || entry.container != container.name) continue;
    for (const std::string& id : idsOf(entry)) {
      if (leaves)
        reusable[entry.resource].insert(id);
      else
        reusable[entry.resource].erase(id);
    }
  }
  return Outcome::kDone;
}

Admission KubeletSim::admit(const PodSpec& pod) {
  std::vector<ContainerSpec> containers = pod.initContainers;
  containers.insert(containers.end(), pod.containers.begin(), pod.containers.end());
  const std::lock_guard oneAtATime(state_->syncLoop);
  {
    const std::lock_guard lock(state_->mutex);
    PodState& known = state_->pods[pod.uid];
    known.spec = pod;
    known.active = true;
    known.deleted = false;
    known.added = true;
    known.terminating = false;
  }
  Admission admission;
  for (const ContainerSpec& container : containers) {
    std::string why;
    const auto outcome = state_->allocate(pod, container, admission.granted, why);
    if (outcome == State::Outcome::kDone) continue;
    if (outcome == State::Outcome::kDied) {
      admission.kubeletDied = true;
      stop();  // the pod stays wanted: the next kubelet admits it anew
      return admission;
    }
    admission.reason = "UnexpectedAdmissionError";
    admission.message = "Pod was rejected: Allocate failed due to " + why + ", which is unexpected";
    const std::lock_guard lock(state_->mutex);
    state_->pods[pod.uid].active = false;
    state_->pods[pod.uid].running.clear();
    return admission;
  }
  const std::lock_guard lock(state_->mutex);
  // No scheduler sends a pod to a node without the resource: the resource check stands for both.
  for (const ContainerSpec& container : containers) {
    for (const auto& [resource, count] : container.limits) {
      if (count == 0 || state_->isExempt(pod.uid, container.name)) continue;
      std::optional<Stock> stock = Stock();
      if (state_->isManaged(resource)) stock = stockFor(*state_, pod, resource);
      const std::size_t requested = requestOf(pod, resource);
      if (!stock || stock->used + requested <= stock->capacity) continue;
      // The plugin is not told, and what it granted stays recorded until the pod is freed.
      admission.reason = "OutOf" + resource;
      admission.message = outOf(resource, requested, *stock);
      state_->pods[pod.uid].active = false;
      return admission;
    }
  }
  admission.admitted = true;
  return admission;
}

Granted KubeletSim::offer(const std::string& resource, const std::vector<std::string>& ids,
                          std::string& error) {
  std::shared_ptr<PluginClient> client;
  {
    const std::lock_guard lock(state_->mutex);
    const auto& endpoint = state_->resources[resource].endpoint;
    if (endpoint && !endpoint->stopped) client = endpoint->client;
  }
  Granted granted{.container = {}, .resource = resource, .ids = ids, .response = {}};
  if (client == nullptr) {
    error = "no endpoint for " + resource;
    return granted;
  }
  v1beta1::AllocateRequest request;
  auto* wanted = request.add_container_requests();
  for (const std::string& id : ids) wanted->add_devices_ids(id);
  v1beta1::AllocateResponse response;
  const grpc::Status status = client->allocate(request, response);
  error = status.ok() ? "" : goText(status);
  if (!response.container_responses().empty()) granted.response = response.container_responses(0);
  return granted;
}

}  // namespace vfiogate::sim
