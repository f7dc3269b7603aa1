#include "sim/kubelet/allocation.h"

#include "sim/kubelet/base/checkpoint_format.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <utility>

namespace vfiogate::sim {
namespace {

using Ids = std::set<std::string>;

Ids intersection(const Ids& one, const Ids& other) {
  Ids both;
  std::ranges::set_intersection(one, other, std::inserter(both, both.end()));
  return both;
}

Ids difference(const Ids& from, const Ids& without) {
  Ids rest;
  std::ranges::set_difference(from, without, std::inserter(rest, rest.end()));
  return rest;
}

Ids united(Ids one, const Ids& other) {
  one.insert(other.begin(), other.end());
  return one;
}

std::map<long, std::vector<std::string>> byNode(const DeviceTable& devices, const Ids& ids) {
  std::map<long, std::vector<std::string>> nodes;
  for (const std::string& id : ids) {
    for (const long node : devices.nodesOf(id)) nodes[node].push_back(id);
  }
  return nodes;
}

}  // namespace

KubeletSim::Allocation::Allocation(State& state, std::unique_lock<std::mutex>& lock,
                                   const PodSpec& pod, const ContainerSpec& container,
                                   std::string resource)
    : state_(state),
      lock_(lock),
      pod_(pod),
      container_(container),
      name_(std::move(resource)),
      count_(container.limits.at(name_)),
      life_(state.life) {}

KubeletSim::State::Outcome KubeletSim::Allocation::reject(std::string why) {
  error_ = std::move(why);
  return Outcome::kRejected;
}

KubeletSim::State::Outcome KubeletSim::Allocation::run() {
  if (state_.stopping) return Outcome::kDied;  // what it knew is half gone
  const CheckpointEntry* record = state_.recordOf(pod_.uid, container_.name, name_);
  const Ids held = record == nullptr ? Ids() : idsOf(*record);
  if (record != nullptr && held.size() != count_) {
    return reject("pod \"" + pod_.uid + "\" container \"" + container_.name +
                  "\" changed request for resource \"" + name_ + "\" from " +
                  std::to_string(held.size()) + " to " + std::to_string(count_));
  }
  if (state_.isExempt(pod_.uid, container_.name)) return Outcome::kDone;
  if (const auto wrong = fault(held)) return reject(*wrong);
  if (record != nullptr || count_ == 0) return Outcome::kDone;  // no call (K12)
  const Outcome picked = pick();
  return picked == Outcome::kDone ? ask() : picked;
}

std::optional<std::string> KubeletSim::Allocation::fault(const Ids& held) {
  if (!resource().known) return "cannot allocate unregistered device " + name_;
  const Ids& healthy = resource().devices.healthy();
  if (healthy.empty()) {
    return "no healthy devices present; cannot allocate unhealthy devices " + name_;
  }
  if (!std::ranges::includes(healthy, held)) {
    return "previously allocated devices are no longer healthy; cannot allocate unhealthy "
           "devices " +
           name_;
  }
  return std::nullopt;
}

bool KubeletSim::Allocation::takeFrom(const Ids& ids) {
  for (const std::string& id : state_.shuffled(difference(ids, chosen_))) {
    if (chosen_.size() == count_) break;
    chosen_.insert(id);
    resource().allocated.insert(id);
  }
  return chosen_.size() == count_;
}

KubeletSim::State::Outcome KubeletSim::Allocation::pick() {
  // What the pod's init containers left comes first, health unasked.
  if (takeFrom(state_.reusable[name_])) return Outcome::kDone;
  const Ids available = difference(resource().devices.healthy(), resource().allocated);
  const std::size_t needed = count_ - chosen_.size();
  if (available.size() < needed) {
    return reject("requested number of devices unavailable for " + name_ + ". Requested: " +
                  std::to_string(needed) + ", Available: " + std::to_string(available.size()));
  }
  return pickFrom(available);
}

KubeletSim::State::Outcome KubeletSim::Allocation::pickFrom(const Ids& available) {
  Ids aligned;
  Ids elsewhere;
  Ids anywhere;
  for (const std::string& id : available) {
    const auto nodes = resource().devices.nodesOf(id);
    const auto wanted = [this](long node) { return container_.alignTo->contains(node); };
    if (!container_.alignTo || nodes.front() < 0) {
      anywhere.insert(id);
    } else {
      (std::ranges::any_of(nodes, wanted) ? aligned : elsewhere).insert(id);
    }
  }
  Ids preferred;
  if (count_ - chosen_.size() < aligned.size()) {
    const Outcome asked = prefer(united(aligned, chosen_), preferred);
    if (asked != Outcome::kDone) return asked;
    if (!takeFrom(intersection(preferred, aligned))) takeFrom(aligned);
    return Outcome::kDone;
  }
  if (takeFrom(aligned)) return Outcome::kDone;
  const Outcome asked = prefer(united(available, chosen_), preferred);
  if (asked != Outcome::kDone) return asked;
  if (!takeFrom(intersection(preferred, available)) && !takeFrom(elsewhere)) takeFrom(anywhere);
  return Outcome::kDone;
}

KubeletSim::State::Outcome KubeletSim::Allocation::prefer(const Ids& available, Ids& preferred) {
  if (!resource().endpoint) {
    return reject("endpoint not found in cache for a registered resource: " + name_);
  }
  Endpoint endpoint = *resource().endpoint;
  if (!endpoint.options || !endpoint.options->get_preferred_allocation_available()) {
    return Outcome::kDone;
  }
  const std::string failed = "device plugin GetPreferredAllocation rpc failed with err: ";
  if (endpoint.stopped) return reject(failed + "endpoint " + name_ + " has been stopped");
  v1beta1::PreferredAllocationRequest request;
  auto* wish = request.add_container_requests();
  for (const std::string& id : state_.shuffled(available)) wish->add_available_deviceids(id);
  for (const std::string& id : state_.shuffled(chosen_)) wish->add_must_include_deviceids(id);
  wish->set_allocation_size(static_cast<std::int32_t>(count_));
  v1beta1::PreferredAllocationResponse response;
  lock_.unlock();
  const grpc::Status status = endpoint.client->preferred(request, response);
  endpoint.client.reset();  // it may be the last: not under the lock
  lock_.lock();
  if (state_.life != life_) return Outcome::kDied;
  // What is chosen by now stays blocked until a recount.
  if (!status.ok()) return reject(failed + goText(status));
  if (response.container_responses().empty()) return Outcome::kDone;
  const auto& ids = response.container_responses(0).deviceids();
  preferred = Ids(ids.begin(), ids.end());
  return Outcome::kDone;
}

KubeletSim::State::Outcome KubeletSim::Allocation::ask() {
  if (!resource().endpoint) {
    state_.recount();
    return reject("unknown Device Plugin " + name_);
  }
  Endpoint endpoint = *resource().endpoint;
  if (endpoint.stopped) {
    state_.recount();
    return reject("endpoint " + name_ + " has been stopped");
  }
  granted_ = Granted{.container = container_.name,
                     .resource = name_,
                     .ids = state_.shuffled(chosen_),
                     .response = {}};
  v1beta1::AllocateRequest request;
  auto* wanted = request.add_container_requests();
  for (const std::string& id : granted_->ids) wanted->add_devices_ids(id);
  v1beta1::AllocateResponse response;
  lock_.unlock();  // frames are taken meanwhile (K16)
  const grpc::Status status = endpoint.client->allocate(request, response);
  endpoint.client.reset();  // it may be the last: not under the lock
  if (status.ok() && state_.options.answered) state_.options.answered(name_);
  lock_.lock();
  const bool dies =
      state_.life != life_ || (status.ok() && std::exchange(state_.dieInAllocate, false));
  if (dies || !status.ok() || response.container_responses().empty()) granted_.reset();
  if (dies) return Outcome::kDied;
  if (!status.ok()) {
    state_.recount();
    return reject(goText(status));
  }
  // K15: the ids stay blocked in memory.
  if (!granted_) return reject("no containers return");
  return record(response.container_responses(0));
}

KubeletSim::State::Outcome KubeletSim::Allocation::record(
    const v1beta1::ContainerAllocateResponse& answer) {
  for (const std::string& id : chosen_) {
    if (resource().devices.lists(id)) continue;
    state_.crashSeen = false;
    state_.crash = "K17: " + id + " of " + name_ + " was granted and is not in the last frame";
    std::cerr << state_.crash << std::endl;
    state_.changed.notify_all();
    granted_.reset();
    return reject(state_.crash);
  }
  granted_->response = answer;
  state_.recorded.push_back({pod_.uid, container_.name, name_, byNode(resource().devices, chosen_),
                             answer.SerializeAsString()});
  return Outcome::kDone;
}

}  // namespace vfiogate::sim
