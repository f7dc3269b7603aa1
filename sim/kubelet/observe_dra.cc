// What a test may ask the stand-in kubelet about claims and their drivers.

#include "sim/kubelet/dra.h"
#include "sim/kubelet/sim_state.h"

#include <algorithm>

namespace vfiogate::sim {

bool KubeletSim::awaitStarted(const std::string& podUid) {
  return state_->await([&]() {
    const PodState& pod = state_->pods[podUid];
    return pod.sandbox && !pod.wanted;
  });
}

bool KubeletSim::awaitEnded(const std::string& podUid) {
  return state_->await([&]() {
    const PodState& pod = state_->pods[podUid];
    return !pod.active && !pod.terminating;
  });
}

bool KubeletSim::isTerminating(const std::string& podUid) {
  const std::lock_guard lock(state_->mutex);
  return state_->pods[podUid].terminating;
}

std::vector<std::string> KubeletSim::podEvents(const std::string& podUid) {
  const std::lock_guard lock(state_->mutex);
  return state_->pods[podUid].events;
}

std::vector<DraInstance> KubeletSim::draInstances(const std::string& driver) {
  const auto dra = state_->draNow();
  return dra == nullptr ? std::vector<DraInstance>() : dra->plugins().instances(driver);
}

bool KubeletSim::awaitDra(const std::string& driver,
                          const std::function<bool(const std::vector<DraInstance>&)>& holds) {
  const auto dra = state_->draNow();
  return dra != nullptr && dra->plugins().await(driver, holds, state_->options.patience);
}

bool KubeletSim::awaitDraConnected(const std::string& driver, std::size_t count) {
  return awaitDra(driver, [&](const std::vector<DraInstance>& instances) {
    return std::ranges::count_if(instances, &DraInstance::connected) ==
           static_cast<std::ptrdiff_t>(count);
  });
}

std::vector<ClaimRecord> KubeletSim::claimRecords() {
  const std::lock_guard lock(state_->mutex);
  return state_->claimRecords();
}

std::vector<ClaimRecord> KubeletSim::State::claimRecords() const {
  return dra == nullptr ? std::vector<ClaimRecord>() : dra->claims().records();
}

SeenHealth KubeletSim::deviceHealth(const std::string& driver, const std::string& pool,
                                    const std::string& device) {
  const auto dra = state_->draNow();
  return dra == nullptr ? SeenHealth() : dra->health().of(driver, {pool, device});
}

std::vector<DeviceStatus> KubeletSim::deviceStatuses(const std::string& podUid) {
  const auto dra = state_->draNow();
  PodSpec pod;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->pods.contains(podUid)) pod = state_->pods[podUid].spec;
  }
  std::vector<DeviceStatus> statuses;
  if (dra == nullptr) return statuses;
  const auto records = dra->claims().records();
  const auto describe = [&](const ContainerSpec& container, const ContainerClaim& used,
                            const ClaimRecord& record) {
    for (const auto& [driver, device] : devicesFor(record, used.request)) {
      const SeenHealth seen = dra->health().of(driver, {device.pool, device.device});
      const DeviceStatus status{
          .container = container.name,
          .name = "claim:" + used.name + (used.request.empty() ? "" : "/" + used.request),
          .resourceId = device.cdiDevices.empty() ? driver + "/" + device.pool + "/" + device.device
                                                  : device.cdiDevices.front(),
          .health = seen.health,
          .message = seen.message};
      const bool shown = std::ranges::any_of(statuses, [&](const DeviceStatus& other) {
        return other.container == status.container && other.name == status.name &&
               other.resourceId == status.resourceId;
      });
      if (!shown) statuses.push_back(status);
    }
  };
  for (const ContainerSpec& container : pod.containers) {
    for (const ContainerClaim& used : container.claims) {
      for (const PodClaim& claim : pod.claims) {
        if (claim.name != used.name) continue;
        for (const ClaimRecord& record : records) {
          if (record.name == claim.claim && record.nameSpace == pod.nameSpace) {
            describe(container, used, record);
          }
        }
      }
    }
  }
  return statuses;
}

bool KubeletSim::awaitStatusRefreshes(const std::string& podUid, std::size_t count) {
  return state_->await([&]() { return state_->pods[podUid].refreshes >= count; });
}

std::size_t KubeletSim::statusRefreshes(const std::string& podUid) {
  const std::lock_guard lock(state_->mutex);
  return state_->pods[podUid].refreshes;
}

}  // namespace vfiogate::sim
