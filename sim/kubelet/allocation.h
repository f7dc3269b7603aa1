#pragma once
// How one container gets what it asks of one resource (kubelet-contract.md 1.8, steps 2 to 13).

#include "sim/kubelet/sim_state.h"

namespace vfiogate::sim {

/// One allocation; run() once, with the lock of the state held. The lock is let go during calls to
/// the plugin and held again afterwards.
class KubeletSim::Allocation {
public:
  Allocation(State& state, std::unique_lock<std::mutex>& lock, const PodSpec& pod,
             const ContainerSpec& container, std::string resource);

  State::Outcome run();
  /// Why run() said kRejected.
  const std::string& error() const { return error_; }
  /// None where nothing had to be asked for.
  const std::optional<Granted>& granted() const { return granted_; }

private:
  using Ids = std::set<std::string>;
  using Outcome = State::Outcome;

  Outcome reject(std::string why);
  ResourceState& resource() { return state_.resources[name_]; }
  /// Step 4.
  std::optional<std::string> fault(const Ids& held);
  Outcome pick();
  /// Steps 8 to 10.
  Outcome pickFrom(const Ids& available);
  /// The plugin's wish among `available`, which includes what is chosen already (1.10).
  Outcome prefer(const Ids& available, Ids& preferred);
  /// Takes what is still missing, in any order; true once nothing is.
  bool takeFrom(const Ids& ids);
  /// Steps 11 to 13.
  Outcome ask();
  Outcome record(const v1beta1::ContainerAllocateResponse& answer);

  State& state_;
  std::unique_lock<std::mutex>& lock_;
  const PodSpec& pod_;
  const ContainerSpec& container_;
  std::string name_;
  std::size_t count_;
  std::uint64_t life_;
  Ids chosen_;
  std::string error_;
  std::optional<Granted> granted_;
};

}  // namespace vfiogate::sim
