// What happens to pods and containers after admission: starts, ends, and what is free again.

#include "sim/kubelet/base/checkpoint_format.h"
#include "sim/kubelet/dra.h"
#include "sim/kubelet/sim_state.h"

#include <algorithm>

namespace vfiogate::sim {
namespace {

const ContainerSpec* find(const PodSpec& pod, const std::string& name) {
  for (const auto* list : {&pod.initContainers, &pod.containers}) {
    for (const ContainerSpec& container : *list) {
      if (container.name == name) return &container;
    }
  }
  return nullptr;
}

}  // namespace

bool KubeletSim::State::isActive(const std::string& uid) const {
  const auto pod = pods.find(uid);
  return pod != pods.end() && pod->second.active && pod->second.added;
}

bool KubeletSim::State::isExempt(const std::string& uid, const std::string& container) const {
  return !sourcesReady && runningAtStart.contains({uid, container});
}

bool KubeletSim::State::isManaged(const std::string& name) const {
  const auto resource = resources.find(name);
  return resource != resources.end() &&
         (resource->second.known || !resource->second.allocated.empty());
}

KubeletSim::State::Outcome KubeletSim::State::preStart(const PodSpec& pod,
                                                       const ContainerSpec& container,
                                                       std::string& why) {
  std::unique_lock lock(mutex);
  const std::uint64_t asked = life;
  for (const std::string& name : shuffledLimits(container)) {
    if (!isManaged(name) || container.limits.at(name) == 0) continue;
    if (stopping) return Outcome::kDied;  // what it knew is half gone
    if (!resources[name].endpoint) {
      why = "endpoint not found in cache for a registered resource: " + name;
      return Outcome::kRejected;
    }
    Endpoint endpoint = *resources[name].endpoint;
    if (!endpoint.options || !endpoint.options->pre_start_required()) continue;
    const CheckpointEntry* record = recordOf(pod.uid, container.name, name);
    if (record == nullptr) {
      why = "no devices found allocated in local cache for pod " + pod.uid + ", container " +
            container.name + ", resource " + name;
      return Outcome::kRejected;
    }
    const std::string failed = "device plugin PreStartContainer rpc failed with err: ";
    if (endpoint.stopped) {
      why = failed + "endpoint " + name + " has been stopped";
      return Outcome::kRejected;
    }
    v1beta1::PreStartContainerRequest request;
    for (const std::string& id : shuffled(idsOf(*record))) request.add_devices_ids(id);
    lock.unlock();
    const grpc::Status status = endpoint.client->preStart(request, options.preStartWithin);
    endpoint.client.reset();  // it may be the last: not under the lock
    lock.lock();
    if (asked != life) return Outcome::kDied;
    if (!status.ok()) {
      why = failed + goText(status);
      return Outcome::kRejected;
    }
  }
  return Outcome::kDone;
}

ContainerStart KubeletSim::startContainer(const std::string& podUid, const std::string& name) {
  using Outcome = State::Outcome;
  ContainerStart start;
  PodSpec pod;
  {
    const std::lock_guard lock(state_->mutex);
    const auto known = state_->pods.find(podUid);
    if (known != state_->pods.end()) pod = known->second.spec;
  }
  const ContainerSpec* container = find(pod, name);
  if (container == nullptr) {
    start.error = "no container " + name + " in pod " + podUid;
    return start;
  }
  if (!pod.claims.empty()) {
    start.error = state_->makeSandbox(pod);
    const auto dra = state_->draNow();
    if (start.error.empty() && dra == nullptr) start.error = "the kubelet is down";
    if (!start.error.empty()) return start;
    if (!dra->claims().cdiDevices(pod, *container, start.cdiDevices, start.error)) return start;
  }
  Outcome outcome = state_->preStart(pod, *container, start.error);
  if (outcome == Outcome::kDone) {
    std::unique_lock lock(state_->mutex);
    const bool missing = std::ranges::any_of(container->limits, [&](const auto& limit) {
      return limit.second != 0 && state_->isManaged(limit.first) && state_->isActive(podUid) &&
             state_->recordOf(podUid, name, limit.first) == nullptr;
    });
    lock.unlock();
    if (missing) outcome = state_->allocate(pod, *container, start.granted, start.error);
  }
  start.kubeletDied = outcome == Outcome::kDied;
  start.started = outcome == Outcome::kDone;
  if (start.kubeletDied) stop();
  const std::lock_guard lock(state_->mutex);
  if (start.started) state_->pods[podUid].running.insert(name);
  return start;
}

void KubeletSim::stopContainer(const std::string& podUid, const std::string& container) {
  const std::lock_guard lock(state_->mutex);
  const auto pod = state_->pods.find(podUid);
  if (pod != state_->pods.end()) pod->second.running.erase(container);
}

ContainerStart KubeletSim::restartContainer(const std::string& podUid,
                                            const std::string& container) {
  stopContainer(podUid, container);
  return startContainer(podUid, container);
}

void KubeletSim::forceDelete(const std::string& podUid) {
  const std::lock_guard lock(state_->mutex);
  PodState& pod = state_->pods[podUid];
  pod.active = false;
  pod.deleted = true;
  pod.wanted = false;
}

std::set<std::string> KubeletSim::running(const std::string& podUid) {
  const std::lock_guard lock(state_->mutex);
  return state_->pods[podUid].running;
}

void KubeletSim::end(const std::string& podUid) {
  {
    const std::lock_guard lock(state_->mutex);
    PodState& pod = state_->pods[podUid];
    pod.running.clear();
    pod.ended.clear();
    pod.sandbox = false;
    pod.wanted = false;
    pod.terminating = !pod.spec.claims.empty();
    if (!pod.terminating) pod.active = false;
  }
  finishEnd(podUid);
}

}  // namespace vfiogate::sim
