// Pods with claims: prepared before there is a sandbox, unprepared after the last container ended.

#include "sim/kubelet/dra.h"
#include "sim/kubelet/sim_state.h"

namespace vfiogate::sim {

std::shared_ptr<KubeletSim::Dra> KubeletSim::State::draNow() {
  const std::lock_guard lock(mutex);
  return dra;
}

std::string KubeletSim::State::makeSandbox(const PodSpec& pod) {
  std::shared_ptr<std::mutex> worker;
  {
    const std::lock_guard lock(mutex);
    worker = pods[pod.uid].worker;
  }
  const std::lock_guard oneAtATime(*worker);
  const auto side = draNow();
  if (side == nullptr) return "the kubelet is down";
  {
    const std::lock_guard lock(mutex);
    if (pods[pod.uid].terminating) return "the pod is terminating";
    if (pods[pod.uid].sandbox) return "";
  }
  std::string error = pod.claims.empty() ? "" : side->claims().prepare(pod);
  const std::lock_guard lock(mutex);
  PodState& known = pods[pod.uid];
  if (dra != side) return "the kubelet stops";
  known.sandbox = error.empty() && !known.terminating;
  if (!error.empty()) {
    known.events.push_back("FailedPrepareDynamicResources: " + error);
    tell("pod " + pod.uid + ": " + known.events.back());
  }
  changed.notify_all();
  return error;
}

PodStart KubeletSim::startPod(const std::string& podUid) {
  PodStart start;
  PodSpec pod;
  std::set<std::string> done;
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->isActive(podUid) || state_->pods[podUid].terminating) {
      start.error = "pod " + podUid + " is not to be started";
      return start;
    }
    PodState& known = state_->pods[podUid];
    known.wanted = true;
    pod = known.spec;
    done = known.running;
    done.insert(known.ended.begin(), known.ended.end());
  }
  start.error = state_->makeSandbox(pod);
  start.sandbox = start.error.empty();
  std::vector<ContainerSpec> containers = pod.initContainers;
  containers.insert(containers.end(), pod.containers.begin(), pod.containers.end());
  for (std::size_t i = 0; i < containers.size() && start.error.empty(); ++i) {
    const ContainerSpec& container = containers[i];
    if (done.contains(container.name)) continue;
    ContainerStart& one = start.containers[container.name];
    one = startContainer(podUid, container.name);
    start.kubeletDied = one.kubeletDied;
    start.error = one.kubeletDied ? "the kubelet died" : one.error;
    if (!one.started || container.sidecar || i >= pod.initContainers.size()) continue;
    stopContainer(podUid, container.name);
    const std::lock_guard lock(state_->mutex);
    state_->pods[podUid].ended.insert(container.name);
  }
  start.started = start.error.empty();
  {
    const std::lock_guard lock(state_->mutex);
    if (start.started) state_->pods[podUid].wanted = false;
    state_->changed.notify_all();
  }
  if (!start.started) startAgain(podUid, start.sandbox);
  return start;
}

void KubeletSim::startAgain(const std::string& podUid, bool prepared) {
  const auto dra = state_->draNow();
  if (dra == nullptr) return;  // the next kubelet does it
  const DraTimes& times = dra->times();
  const auto pause = prepared ? dra->between(times.syncAgain, times.syncAgainAtMost)
                              : dra->between(times.prepareAgain, times.prepareAgainAtMost);
  dra->errands().after(pause, [this, podUid]() {
    {
      const std::lock_guard lock(state_->mutex);
      if (!state_->pods[podUid].wanted) return;
    }
    startPod(podUid);
  });
}

void KubeletSim::loseSandbox(const std::string& podUid) {
  const std::lock_guard lock(state_->mutex);
  PodState& pod = state_->pods[podUid];
  pod.running.clear();
  pod.ended.clear();
  pod.sandbox = false;
}

void KubeletSim::finishEnd(const std::string& podUid) {
  std::shared_ptr<std::mutex> worker;
  {
    const std::lock_guard lock(state_->mutex);
    worker = state_->pods[podUid].worker;
  }
  const std::lock_guard oneAtATime(*worker);
  const auto dra = state_->draNow();
  if (dra == nullptr) return;  // the next kubelet does it
  PodSpec pod;
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->pods[podUid].terminating) return;
    pod = state_->pods[podUid].spec;
  }
  std::vector<std::string> names;
  for (const PodClaim& claim : pod.claims) names.push_back(claim.claim);
  const std::string error = dra->claims().unprepare(podUid, pod.nameSpace, names);
  const std::lock_guard lock(state_->mutex);
  PodState& known = state_->pods[podUid];
  if (error.empty()) {
    known.terminating = false;
    known.active = false;
  } else {
    state_->tell("pod " + podUid + " stays terminating: " + error);
    dra->errands().after(dra->between(dra->times().syncAgain, dra->times().syncAgainAtMost),
                         [this, podUid]() { finishEnd(podUid); });
  }
  state_->changed.notify_all();
}

void KubeletSim::resumePods() {
  const auto dra = state_->draNow();
  const std::lock_guard lock(state_->mutex);
  if (dra == nullptr) return;
  for (const auto& [podUid, pod] : state_->pods) {
    if (pod.terminating) dra->errands().after({}, [this, uid = podUid]() { finishEnd(uid); });
    if (pod.wanted) dra->errands().after({}, [this, uid = podUid]() { startPod(uid); });
  }
}

}  // namespace vfiogate::sim
