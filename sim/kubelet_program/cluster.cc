#include "sim/kubelet_program/cluster.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace vfiogate::sim {
namespace {

const std::string kDown = failure("the kubelet is down; `boot` brings it up");

std::vector<ContainerSpec> containersOf(const PodSpec& pod) {
  std::vector<ContainerSpec> all = pod.initContainers;
  all.insert(all.end(), pod.containers.begin(), pod.containers.end());
  return all;
}

/// What the scheduler counts: each resource's sum over app containers and sidecars, or the most of
/// one plain init container if that is more.
std::map<std::string, std::size_t> requestsOf(const PodSpec& pod) {
  std::map<std::string, std::size_t> sum;
  std::map<std::string, std::size_t> most;
  for (const ContainerSpec& container : pod.containers) {
    for (const auto& [resource, count] : container.limits) sum[resource] += count;
  }
  for (const ContainerSpec& container : pod.initContainers) {
    for (const auto& [resource, count] : container.limits) {
      if (container.sidecar) {
        sum[resource] += count;
      } else {
        most[resource] = std::max(most[resource], count);
      }
    }
  }
  for (const auto& [resource, count] : most) sum[resource] = std::max(sum[resource], count);
  return sum;
}

std::string grantText(const Granted& granted) {
  std::ostringstream text;
  text << "  " << granted.container << ": " << granted.resource;
  for (const std::string& id : granted.ids) text << " " << id;
  for (const auto& node : granted.response.devices()) text << ", " << node.host_path();
  for (const auto& device : granted.response.cdi_devices()) text << ", " << device.name();
  for (const auto& mount : granted.response.mounts()) {
    text << ", " << mount.host_path() << " at " << mount.container_path();
  }
  for (const auto& [name, value] : granted.response.envs()) text << ", " << name << "=" << value;
  text << "\n";
  return text.str();
}

KubeletOptions withClaims(KubeletOptions options, std::shared_ptr<ClaimSource> claims) {
  options.dra.claims = std::move(claims);
  return options;
}

}  // namespace

std::string failure(const std::string& why) {
  return "error: " + why + "\n";
}

Cluster::Cluster(std::string kubeletDir, KubeletOptions options)
    : kubelet_(std::move(kubeletDir), withClaims(std::move(options), claims_)) {}

void Cluster::addClaims(std::vector<ResourceClaim> claims) {
  for (ResourceClaim& claim : claims) {
    if (claim.uid.empty()) claim.uid = "claim-" + claim.name + "-" + std::to_string(++uids_);
    claims_->put(claim);
  }
}

KnownPod* Cluster::find(const std::string& name) {
  const auto found = std::ranges::find_if(pods_, [&](const KnownPod& pod) {
    return name == pod.fullName() || name == "default/" + pod.spec.name ||
           (pod.spec.nameSpace == "default" && name == pod.spec.name);
  });
  return found == pods_.end() ? nullptr : &*found;
}

std::string Cluster::aftermath() {
  const std::string crashed = kubelet_.crash();
  if (crashed.empty() || crashed == crashSeen_) return "";
  crashSeen_ = crashed;
  kubelet_.stop();
  up_ = false;
  return "the kubelet crashed: " + crashed + "\n";
}

std::string Cluster::add(KnownPod& pod) {
  for (const PodClaim& claim : pod.spec.claims) {
    claims_->reserve(pod.spec.nameSpace, claim.claim, pod.spec.uid);
  }
  const Admission admission = kubelet_.admit(pod.spec);
  if (admission.kubeletDied) {
    up_ = false;
    return failure(pod.fullName() + ": the kubelet died while it was admitted");
  }
  pod.admitted = admission.admitted;
  if (!admission.admitted) {
    pod.phase = PodPhase::kFailed;
    pod.reason = admission.reason;
    pod.message = admission.message;
    return failure(pod.fullName() + " " + admission.reason + ": " + admission.message) +
           aftermath();
  }
  std::string text = pod.fullName() + " admitted\n";
  for (const Granted& granted : admission.granted) text += grantText(granted);
  return text + aftermath();
}

std::string Cluster::admit(std::vector<PodSpec> pods) {
  if (!up_) return kDown;
  std::string text;
  for (PodSpec& spec : pods) {
    if (find(spec.nameSpace + "/" + spec.name) != nullptr) {
      return text + failure(spec.nameSpace + "/" + spec.name + " is there already");
    }
    if (spec.uid.empty())
      spec.uid = spec.nameSpace + "-" + spec.name + "-" + std::to_string(++uids_);
    pods_.push_back({.spec = spec, .made = std::chrono::steady_clock::now()});
    text += add(pods_.back());
    if (!up_) break;
  }
  return text;
}

std::string Cluster::schedule(std::vector<PodSpec> pods) {
  for (PodSpec& spec : pods) {
    if (find(spec.nameSpace + "/" + spec.name) != nullptr) {
      return failure(spec.nameSpace + "/" + spec.name + " is there already");
    }
    if (spec.uid.empty())
      spec.uid = spec.nameSpace + "-" + spec.name + "-" + std::to_string(++uids_);
    pods_.push_back({.spec = spec, .made = std::chrono::steady_clock::now()});
  }
  std::string text = scheduleAgain();
  for (const PodSpec& spec : pods) {
    const KnownPod* pod = find(spec.nameSpace + "/" + spec.name);
    if (pod != nullptr && pod->phase == PodPhase::kPending && !pod->admitted) {
      text += pod->fullName() + " waits until the node has what it asks for\n";
    }
  }
  return text;
}

bool Cluster::fits(const PodSpec& pod) {
  std::map<std::string, std::size_t> used;
  for (const KnownPod& other : pods_) {
    if (!other.admitted || other.phase == PodPhase::kSucceeded) continue;
    for (const auto& [resource, count] : requestsOf(other.spec)) used[resource] += count;
  }
  auto node = kubelet_.nodeStatus();
  return std::ranges::all_of(requestsOf(pod), [&](const auto& request) {
    const auto& [resource, count] = request;
    return count == 0 || used[resource] + count <= node[resource].allocatable;
  });
}

std::string Cluster::scheduleAgain() {
  std::string text;
  for (KnownPod& pod : pods_) {
    if (!up_) break;
    if (pod.phase != PodPhase::kPending || pod.admitted || !fits(pod.spec)) continue;
    text += add(pod);
    if (pod.admitted) text += startAll(pod);
  }
  return text;
}

std::string Cluster::start(KnownPod& pod, const std::string& container) {
  const ContainerStart start = kubelet_.startContainer(pod.spec.uid, container);
  if (start.kubeletDied) {
    up_ = false;
    return failure("the kubelet died while " + container + " was started");
  }
  if (!start.started) {
    pod.reason = "CreateContainerConfigError";
    pod.message = start.error;
    return failure(pod.fullName() + " " + container + " not started: " + start.error);
  }
  pod.reason.clear();
  pod.message.clear();
  ++pod.starts[container];
  const bool isInit = std::ranges::any_of(
      pod.spec.initContainers, [&](const ContainerSpec& init) { return init.name == container; });
  if (!isInit) pod.phase = PodPhase::kRunning;
  std::string text = pod.fullName() + " " + container + " started\n";
  for (const Granted& granted : start.granted) text += grantText(granted);
  for (const std::string& name : start.cdiDevices) text += "  " + container + ": " + name + "\n";
  return text + aftermath();
}

std::string Cluster::startAll(KnownPod& pod) {
  std::string text;
  for (const ContainerSpec& container : containersOf(pod.spec)) {
    text += start(pod, container.name);
    if (!pod.reason.empty() || !up_) break;
    const bool plainInit =
        !container.sidecar && std::ranges::any_of(pod.spec.initContainers, [&](const auto& init) {
          return init.name == container.name;
        });
    if (plainInit) kubelet_.stopContainer(pod.spec.uid, container.name);
  }
  return text;
}

std::string Cluster::startContainer(const std::string& name, const std::string& container) {
  if (!up_) return kDown;
  KnownPod* pod = find(name);
  if (pod == nullptr) return failure("no pod " + name);
  if (!pod->admitted) return failure(name + " is not admitted");
  kubelet_.stopContainer(pod->spec.uid, container);
  return start(*pod, container);
}

std::string Cluster::stopContainer(const std::string& name, const std::string& container) {
  for (auto* list : {&pods_, &deleted_}) {
    for (const KnownPod& pod : *list) {
      if (name != pod.spec.name && name != pod.fullName()) continue;
      if (!running(pod).contains(container)) continue;
      kubelet_.stopContainer(pod.spec.uid, container);
      return pod.fullName() + " " + container + " has stopped\n";
    }
  }
  return failure("no container " + container + " of " + name + " runs");
}

std::string Cluster::end(const std::string& name) {
  KnownPod* pod = find(name);
  if (pod == nullptr) return failure("no pod " + name);
  kubelet_.end(pod->spec.uid);
  pod->admitted = false;
  if (pod->phase != PodPhase::kFailed) pod->phase = PodPhase::kSucceeded;
  return pod->fullName() + " has ended; what it held is freed at the next sync of the kubelet\n";
}

std::string Cluster::remove(const std::string& name, bool byForce) {
  KnownPod* pod = find(name);
  if (pod == nullptr) return failure("no pod " + name);
  const std::string fullName = pod->fullName();
  const auto runs = running(*pod);
  if (byForce) {
    kubelet_.forceDelete(pod->spec.uid);
    if (!runs.empty()) deleted_.push_back(*pod);
  } else {
    kubelet_.end(pod->spec.uid);
  }
  pods_.remove_if([pod](const KnownPod& other) { return &other == pod; });
  if (!byForce) return fullName + " deleted, its containers have stopped\n";
  return fullName + " deleted by force; " + std::to_string(runs.size()) +
         " of its containers run on\n";
}

std::string Cluster::crash() {
  if (!up_) return kDown;
  up_ = false;
  kubelet_.stop();
  return "the kubelet was killed; containers run on\n";
}

std::string Cluster::powerOff() {
  up_ = false;
  kubelet_.powerOff();
  deleted_.clear();
  return "the node is off; no container runs\n";
}

std::string Cluster::boot() {
  if (up_) return failure("the kubelet is up");
  try {
    kubelet_.start({.sourcesReady = false});
  } catch (const std::runtime_error& refused) {  // its file of claims is corrupt
    return failure(refused.what());
  }
  up_ = true;
  std::string text = "the kubelet is up\n";
  for (KnownPod& pod : pods_) {
    if (pod.admitted) text += add(pod);
    if (!up_) return text;
  }
  kubelet_.sourcesReady();
  return text;
}

}  // namespace vfiogate::sim
