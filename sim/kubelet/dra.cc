#include "sim/kubelet/dra.h"

#include "sim/kubelet/sim_state.h"

#include <algorithm>
#include <filesystem>

namespace vfiogate::sim {
namespace {

std::string besideDevicePlugins(const std::string& directory, const char* name) {
  return std::filesystem::path(directory).parent_path() / name;
}

bool uses(const ClaimRecord& claim, const std::string& driver, const DraHealth::Device& device) {
  const auto devices = claim.drivers.find(driver);
  if (devices == claim.drivers.end()) return false;
  return std::ranges::any_of(devices->second, [&](const ClaimDevice& held) {
    return held.pool == device.first && held.device == device.second;
  });
}

}  // namespace

KubeletSim::Dra::Dra(KubeletSim& kubelet)
    : kubelet_(kubelet),
      times_(kubelet.state_->options.dra.times),
      random_(kubelet.state_->options.seed),
      health_(besideDevicePlugins(kubelet.state_->directory, "dra_health_state"), times_),
      plugins_(
          times_, errands_, kubelet.state_->options.dra.slices,
          {.health = [this](const auto& driver, const auto& frame) { healthTold(driver, frame); },
           .healthEnded = [this](const auto& driver) { health_.forget(driver); },
           .told =
               [state = kubelet.state_.get()](const std::string& what) {
                 const std::lock_guard lock(state->mutex);
                 state->tell(what);
               }}),
      claims_(besideDevicePlugins(kubelet.state_->directory, "dra_manager_state"),
              kubelet.state_->options.dra, plugins_, kubelet.state_->options.seed) {}

KubeletSim::Dra::~Dra() {
  close();
}

void KubeletSim::Dra::begin() {
  plugins_.wipeNode();
  errands_.after({}, [this]() { reconcile(); });
}

void KubeletSim::Dra::close() {
  errands_.halt();
  claims_.close();
  plugins_.close();
  errands_.finish();
}

std::chrono::milliseconds KubeletSim::Dra::between(DraTimes::Time least, DraTimes::Time most) {
  const std::lock_guard lock(randomMutex_);
  std::uniform_int_distribution<DraTimes::Time::rep> pauses(least.count(), most.count());
  return DraTimes::Time(pauses(random_));
}

void KubeletSim::Dra::reconcile() {
  State& state = *kubelet_.state_;
  bool ready = false;
  {
    const std::lock_guard lock(state.mutex);
    ready = state.sourcesReady;
  }
  if (ready) {
    claims_.reconcile([&state](const std::string& podUid) {
      const std::lock_guard lock(state.mutex);
      return state.isActive(podUid);
    });
  }
  errands_.after(times_.reconcile, [this]() { reconcile(); });
}

void KubeletSim::Dra::healthTold(const std::string& driver, const DraConnection::Health& frame) {
  std::set<std::string> pods;
  const auto changed = health_.take(driver, frame);
  for (const ClaimRecord& claim : claims_.records()) {
    for (const auto& device : changed) {
      if (uses(claim, driver, device)) pods.insert(claim.podUids.begin(), claim.podUids.end());
    }
  }
  State& state = *kubelet_.state_;
  const std::lock_guard lock(state.mutex);
  for (const std::string& uid : pods) {
    const auto pod = state.pods.find(uid);
    if (pod != state.pods.end()) ++pod->second.refreshes;
  }
  state.tell("health of " + std::to_string(frame.devices().size()) + " devices of " + driver);
  state.changed.notify_all();
}

}  // namespace vfiogate::sim
