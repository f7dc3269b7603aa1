// Admission: which devices a pod gets, and what the plugin says to it.

#include "tests/support/kubelet_sim/sim_state.h"

#include <algorithm>
#include <iostream>
#include <utility>

namespace vfiogate::sim {
namespace {

v1beta1::AllocateRequest requestFor(const std::vector<std::string>& ids) {
  v1beta1::AllocateRequest request;
  auto* container = request.add_container_requests();
  for (const std::string& id : ids) container->add_devices_ids(id);
  return request;
}

std::string goText(const grpc::Status& status) {
  static const std::map<int, std::string> kNames = {
      {1, "Canceled"},           {2, "Unknown"},        {4, "DeadlineExceeded"},
      {9, "FailedPrecondition"}, {12, "Unimplemented"}, {14, "Unavailable"}};
  const auto name = kNames.find(status.error_code());
  return "rpc error: code = " +
         (name == kNames.end() ? std::to_string(status.error_code()) : name->second) +
         " desc = " + status.error_message();
}

bool reject(Admission& admission, const std::string& why) {
  admission.admitted = false;
  admission.reason = "UnexpectedAdmissionError";
  admission.message = "Pod was rejected: Allocate failed due to " + why + ", which is unexpected";
  return false;
}

std::map<long, std::vector<std::string>> byNode(const ResourceState& resource,
                                                const std::vector<std::string>& ids) {
  std::map<long, std::vector<std::string>> nodes;
  for (const std::string& id : ids) {
    for (const long node : resource.devices.nodesOf(id)) nodes[node].push_back(id);
  }
  return nodes;
}

}  // namespace

std::vector<std::string> KubeletSim::State::choose(const ResourceState& resource, std::size_t count,
                                                   std::set<std::string>& reusable) {
  // Step 6: what the pod's init containers left comes first, health unasked.
  std::vector<std::string> chosen(reusable.begin(), reusable.end());
  std::ranges::shuffle(chosen, random);
  if (chosen.size() > count) chosen.resize(count);
  std::vector<std::string> available;
  std::ranges::set_difference(resource.devices.healthy(), resource.allocated,
                              std::back_inserter(available));
  std::ranges::shuffle(available, random);
  for (const std::string& id : available) {
    if (chosen.size() == count) break;
    chosen.push_back(id);
  }
  std::ranges::shuffle(chosen, random);
  return chosen;
}

bool KubeletSim::State::allocate(const PodSpec& pod, const ContainerSpec& container,
                                 const std::string& resourceName, std::set<std::string>& reusable,
                                 Admission& admission) {
  std::unique_lock lock(mutex);
  freeInactive();
  const std::size_t count = container.limits.at(resourceName);
  for (const CheckpointEntry& entry : recorded) {
    // Recorded already: answered from the cache, no call (K12).
    if (entry.podUid == pod.uid && entry.container == container.name &&
        entry.resource == resourceName) {
      return true;
    }
  }
  const auto found = resources.find(resourceName);
  if (found == resources.end() || found->second.client == nullptr) {
    return reject(admission, "no endpoint for " + resourceName);
  }
  ResourceState& resource = found->second;
  const std::vector<std::string> ids = choose(resource, count, reusable);
  if (ids.size() < count) {
    return reject(admission, "requested number of devices unavailable for " + resourceName +
                                 ". Requested: " + std::to_string(count) +
                                 ", Available: " + std::to_string(ids.size()));
  }
  resource.allocated.insert(ids.begin(), ids.end());
  auto client = resource.client;
  const std::uint64_t asked = life;
  lock.unlock();  // frames are taken meanwhile (K16)
  v1beta1::AllocateResponse response;
  const grpc::Status status = client->allocate(requestFor(ids), response);
  client.reset();  // it may be the last: not under the lock
  lock.lock();
  if (asked != life || (status.ok() && std::exchange(dieInAllocate, false))) {
    admission.admitted = false;  // `resource` is gone
    admission.kubeletDied = true;
    return false;
  }
  if (!status.ok()) {
    recount();
    return reject(admission, goText(status));
  }
  // K15: the ids stay blocked in memory.
  if (response.container_responses().empty()) return reject(admission, "no containers return");
  for (const std::string& id : ids) {
    if (!resource.devices.lists(id)) {
      crashSeen = false;
      crash = "K17: " + id + " of " + resourceName + " was granted and is not in the last frame";
      std::cerr << crash << std::endl;
      changed.notify_all();
      return reject(admission, crash);
    }
  }
  const auto& answer = response.container_responses(0);
  recorded.push_back(
      {pod.uid, container.name, resourceName, byNode(resource, ids), answer.SerializeAsString()});
  admission.granted.push_back({container.name, resourceName, ids, answer});
  return true;
}

Admission KubeletSim::admit(const PodSpec& pod) {
  Admission admission{.admitted = true};
  std::map<std::string, std::set<std::string>> reusable;
  const auto run = [&](const ContainerSpec& container, bool init) {
    std::vector<std::string> order;
    for (const auto& [resource, count] : container.limits) order.push_back(resource);
    std::ranges::shuffle(order, state_->random);
    const std::size_t before = admission.granted.size();
    for (const std::string& resource : order) {
      if (!state_->allocate(pod, container, resource, reusable[resource], admission)) return false;
    }
    for (std::size_t i = before; i < admission.granted.size(); ++i) {
      auto& left = reusable[admission.granted[i].resource];
      for (const std::string& id : admission.granted[i].ids) {
        if (init)
          left.insert(id);
        else
          left.erase(id);
      }
    }
    const std::lock_guard lock(state_->mutex);
    if (admission.granted.size() > before) state_->writeCheckpoint();
    return true;
  };
  for (const ContainerSpec& container : pod.initContainers) {
    if (!run(container, true)) break;
  }
  for (const ContainerSpec& container : pod.containers) {
    if (!admission.admitted || !run(container, false)) break;
  }
  if (admission.kubeletDied) {
    stop();  // the pod stays wanted: the next kubelet admits it anew
  } else if (!admission.admitted) {
    end(pod.uid);
  }
  return admission;
}

void KubeletSim::end(const std::string& podUid) {
  const std::lock_guard lock(state_->mutex);
  state_->inactivePods.insert(podUid);
}

Granted KubeletSim::offer(const std::string& resource, const std::vector<std::string>& ids,
                          std::string& error) {
  std::shared_ptr<PluginClient> client;
  {
    const std::lock_guard lock(state_->mutex);
    client = state_->resources[resource].client;
  }
  Granted granted{.resource = resource, .ids = ids};
  if (client == nullptr) {
    error = "no endpoint for " + resource;
    return granted;
  }
  v1beta1::AllocateResponse response;
  const grpc::Status status = client->allocate(requestFor(ids), response);
  error = status.ok() ? "" : goText(status);
  if (!response.container_responses().empty()) granted.response = response.container_responses(0);
  return granted;
}

}  // namespace vfiogate::sim
