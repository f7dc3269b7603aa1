#include "tests/integration/faults/fault_books.h"

#include "plugind/core/timing.h"

#include <algorithm>

namespace vfiogate::test {
namespace {

/// From a pod's end, or an answer that nobody recorded, until its group must be free again: it is
/// not named for 30 s, then two reconciles, and another one if a kill came between them.
constexpr auto kRelease = timing::kNeverNamed + timing::kListInterval +
                          4 * timing::kReconcileInterval + timing::kSettling + timing::kFrameReturn;

}  // namespace

void FaultBooks::granted(const std::string& uid, const std::string& resource,
                         const std::set<std::string>& ids) {
  pods_[uid] = {.resource = resource, .ids = ids};
  for (const unsigned group : groupsOf(pods_[uid])) leaving_.erase(group);
}

void FaultBooks::ended(const std::string& uid) {
  for (const std::string& id : pods_.at(uid).ids) disturbed(id);
  pods_.erase(uid);
}

void FaultBooks::disturbed(const std::string& id) {
  leaving_[devices_.at(id).group] = {id, Clock::now()};
}

void FaultBooks::kubeletRestarted() {
  for (auto& [group, gone] : leaving_) gone.since.reset();
}

std::set<std::string> FaultBooks::leaving() const {
  std::set<std::string> ids;
  for (const auto& [group, gone] : leaving_) ids.insert(gone.id);
  return ids;
}

std::set<unsigned> FaultBooks::groupsOf(const Pod& pod) const {
  std::set<unsigned> groups;
  for (const std::string& id : pod.ids) groups.insert(devices_.at(id).group);
  return groups;
}

std::set<unsigned> FaultBooks::allocatable() const {
  std::set<unsigned> groups;
  for (const auto& [id, device] : devices_) {
    if (!leaving_.contains(device.group)) groups.insert(device.group);
  }
  for (const auto& [uid, pod] : pods_) {
    for (const unsigned group : groupsOf(pod)) groups.erase(group);
  }
  return groups;
}

std::string FaultBooks::doubleParties() const {
  std::map<unsigned, std::string> parties;
  for (const auto& [uid, pod] : pods_) {
    for (const unsigned group : groupsOf(pod)) {
      const auto [other, isFirst] = parties.emplace(group, uid);
      if (isFirst) continue;
      return "I1: group " + std::to_string(group) + " is allocated to " + other->second + " and " +
             uid;
    }
  }
  return "";
}

std::string FaultBooks::resourceImbalance(const std::string& resource,
                                          const sim::DeviceTable& shown) const {
  std::set<std::string> held;
  std::set<std::string> deleted;  // Unhealthy as soon as somebody looks
  std::set<unsigned> heldGroups;
  for (const auto& [uid, pod] : pods_) {
    heldGroups.merge(groupsOf(pod));
    if (pod.resource == resource)
      (pod.deleted ? deleted : held).insert(pod.ids.begin(), pod.ids.end());
  }
  const std::set<unsigned> free = allocatable();
  for (const auto& [id, device] : devices_) {
    if (device.resource != resource || deleted.contains(id)) continue;
    const bool healthy = shown.healthy().contains(id);
    if (held.contains(id)) {
      if (!healthy) return "I4: " + id + " is held and not Healthy";
    } else if (healthy && heldGroups.contains(device.group)) {
      return "I5: " + id + " is Healthy beside a held one";
    } else if (!healthy && free.contains(device.group)) {
      return "I5: " + id + " can be allocated and is not Healthy";
    }
  }
  return "";
}

void FaultBooks::noteReturned(sim::KubeletSim& kubelet) {
  std::map<unsigned, bool> whole;
  for (const auto& [id, device] : devices_) {
    const auto shown = kubelet.devices(device.resource);
    const auto [group, isFirst] = whole.emplace(device.group, true);
    group->second = group->second && shown.healthy().contains(id);
  }
  for (const auto& [group, isWhole] : whole) {
    const auto gone = leaving_.find(group);
    if (gone == leaving_.end()) continue;
    const auto since = gone->second.since;
    if (isWhole || (since && Clock::now() - *since > kRelease)) leaving_.erase(gone);
  }
}

std::string FaultBooks::imbalance(sim::KubeletSim& kubelet, std::chrono::milliseconds patience) {
  const std::string doubled = doubleParties();
  if (!doubled.empty()) return doubled;
  noteReturned(kubelet);
  std::set<std::string> resources;
  for (const auto& [id, device] : devices_) resources.insert(device.resource);
  for (const std::string& resource : resources) {
    const auto balances = [&](const sim::DeviceTable& shown) {
      return resourceImbalance(resource, shown).empty();
    };
    if (kubelet.await(resource, balances, patience)) continue;
    return resourceImbalance(resource, kubelet.devices(resource));
  }
  return "";
}

}  // namespace vfiogate::test
