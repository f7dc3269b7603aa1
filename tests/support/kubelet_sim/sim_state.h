#pragma once
// All that the stand-in kubelet remembers, behind one lock.

#include "tests/support/kubelet_sim/kubelet_sim.h"
#include "tests/support/kubelet_sim/plugin_client.h"

#include <condition_variable>
#include <mutex>

namespace vfiogate::sim {

/// What the kubelet knows of one resource.
struct ResourceState {
  /// A frame or the checkpoint named it: until then it does not exist for the node.
  bool known = false;
  DeviceTable devices;
  std::shared_ptr<PluginClient> client;
  std::size_t frames = 0;
  std::size_t registrations = 0;
  std::size_t streamsEnded = 0;
  std::set<std::string> allocated;  ///< node-wide; freed lazily
};

struct KubeletSim::State {
  std::string directory;
  KubeletOptions options;
  Manner manner = Manner::kRegisters;
  std::string refusal;
  std::size_t framesUntilHangUp = 0;  ///< 0: never
  bool dieInAllocate = false;
  std::mt19937_64 random;

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, ResourceState> resources;
  std::vector<CheckpointEntry> recorded;
  std::set<std::string> inactivePods;
  std::string crash;
  std::size_t checkpointWrites = 0;
  bool stopping = true;
  std::uint64_t life = 0;  ///< of the kubelet; a callback of an earlier one counts for nothing
  mutable bool crashSeen = false;                      ///< a test asked for it
  std::vector<std::shared_ptr<PluginClient>> retired;  ///< old streams stay open (K9)

  std::mutex stopMutex;  ///< one stop() at a time; taken before `mutex`
  std::unique_ptr<Desk> desk;

  std::string socketPath(const std::string& endpoint) const { return directory + "/" + endpoint; }
  template <typename Holds>
  bool await(Holds holds) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, kPatience, holds);
  }

  // The caller holds the lock.
  void writeCheckpoint();
  void readCheckpoint();
  void freeInactive();
  /// Recomputes from the records which devices are in use.
  void recount();
  void take(const std::string& resource, const PluginClient::Frame& frame);
  void streamEnded(const std::string& resource);
  std::vector<std::string> choose(const ResourceState& resource, std::size_t count,
                                  std::set<std::string>& reusable);

  /// K11, K14-K17 for one container and resource; false: rejected, `admission` says why.
  bool allocate(const PodSpec& pod, const ContainerSpec& container, const std::string& resource,
                std::set<std::string>& reusable, Admission& admission);
};

}  // namespace vfiogate::sim
