#pragma once
// All that the stand-in kubelet remembers, behind one lock.

#include "sim/kubelet/kubelet_sim.h"
#include "sim/kubelet/plugin_client.h"
#include "sim/kubelet/plugin_watcher.h"

#include <condition_variable>
#include <mutex>

namespace vfiogate::sim {

/// What the device manager holds of the plugin that serves a resource.
struct Endpoint {
  std::shared_ptr<PluginClient> client;                 ///< null: read from the checkpoint
  std::optional<v1beta1::DevicePluginOptions> options;  ///< unknown until a registration
  std::optional<std::chrono::steady_clock::time_point> stopped;
};

/// What the kubelet knows of one resource.
struct ResourceState {
  /// A frame or the checkpoint named it: until then it does not exist for the node.
  bool known = false;
  DeviceTable devices;
  std::shared_ptr<PluginClient>
      client;            ///< the registration's table; apart from the endpoint (K10)
  bool dialing = false;  ///< `client` is not connected yet: its closing stops no dial
  std::optional<Endpoint> endpoint;
  std::size_t frames = 0;
  std::size_t registrations = 0;
  std::size_t streamsEnded = 0;
  std::set<std::string> allocated;  ///< node-wide; freed lazily
};

struct PodState {
  PodSpec spec;
  bool active = true;
  bool added = true;              ///< to this life of the kubelet
  bool deleted = false;           ///< by force; the kubelet does not know it any more
  std::set<std::string> running;  ///< containers
  bool sandbox = false;
  std::set<std::string> ended;  ///< plain init containers of this sandbox
  bool wanted = false;          ///< startPod() is not done yet
  bool terminating = false;     ///< no container runs; the claims are not unprepared yet
  std::vector<std::string> events;
  std::size_t refreshes = 0;
  /// One prepare or unprepare at a time; taken before the kubelet's lock.
  std::shared_ptr<std::mutex> worker = std::make_shared<std::mutex>();
};

struct KubeletSim::State {
  std::string directory;
  KubeletOptions options;
  Manner manner = Manner::kRegisters;
  bool dieInAllocate = false;
  std::string refusal;
  std::chrono::milliseconds late{0};  ///< Register is looked at
  std::size_t framesUntilHangUp = 0;  ///< 0: never
  std::mt19937_64 random;

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, ResourceState> resources;
  std::vector<CheckpointEntry> recorded;
  std::map<std::string, PodState> pods;  ///< by uid; the API server and the runtime remember them
  /// What the plain init containers of the pod last admitted leave to its later ones, by resource.
  std::map<std::string, std::set<std::string>> reusable;
  std::string reusedBy;
  /// The pod last admitted is kept from being freed, ended or not, until another one comes.
  std::string pendingAdmission;
  bool sourcesReady = true;
  std::set<std::pair<std::string, std::string>> runningAtStart;  ///< pod uid and container
  std::set<std::string> removed;  ///< resources that the node's status shows as an explicit 0
  bool holdingCheckpoints = false;
  bool concealsPods = false;
  std::vector<std::string> heldCheckpoints;  ///< collected and not written, oldest first
  std::string crash;
  std::size_t checkpointWrites = 0;
  std::uint64_t life = 0;  ///< of the kubelet; a callback of an earlier one counts for nothing
  bool stopping = true;
  mutable bool crashSeen = false;                      ///< a test asked for it
  std::vector<std::shared_ptr<PluginClient>> retired;  ///< old streams stay open (K9)

  std::mutex syncLoop;   ///< one admission at a time; taken before all others
  std::mutex stopMutex;  ///< one stop() at a time; taken before `mutex`
  std::unique_ptr<Service> service;
  std::unique_ptr<PodResourcesServer> podResources;
  std::multiset<std::string> watchedPlugins;
  std::unique_ptr<WatchedPlugins> consumer;
  std::unique_ptr<PluginWatcher> watcher;
  std::shared_ptr<Dra> dra;  ///< null while the kubelet is down

  std::string socketPath(const std::string& endpoint) const { return directory + "/" + endpoint; }
  template <typename Holds>
  bool await(Holds holds) {
    return await(holds, options.patience);
  }
  template <typename Holds>
  bool await(Holds holds, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, patience, holds);
  }

  // The caller holds the lock.
  void writeCheckpoint();
  void putCheckpoint(const std::string& text);
  void readCheckpoint();
  /// Null if nothing is recorded for the container and resource.
  const CheckpointEntry* recordOf(const std::string& uid, const std::string& container,
                                  const std::string& resource) const;
  bool isActive(const std::string& uid) const;
  /// Running, and not to be judged while the kubelet does not know all its pods yet (1.8, step 3).
  bool isExempt(const std::string& uid, const std::string& container) const;
  void freeInactive();
  std::vector<ClaimRecord> claimRecords() const;
  /// Recomputes from the records which devices are in use.
  void recount();
  /// True if the device manager has anything to do with the resource; others it passes over.
  bool isManaged(const std::string& resource) const;
  void take(const std::string& resource, const PluginClient::Frame& frame);
  void streamEnded(const std::string& resource, const PluginClient* ended);
  /// Whoever is in the registration's table goes; what it showed is unhealthy from now on.
  void disconnect(const std::string& resource);
  void tell(const std::string& what) const {
    if (options.told) options.told(what);
  }
  std::vector<std::string> shuffledLimits(const ContainerSpec& container);
  std::vector<std::string> shuffled(const std::set<std::string>& ids);

  // These take the lock.
  enum class Outcome { kDone, kRejected, kDied };
  /// All that one container asks for (1.8); on kRejected `why` says what was wrong.
  Outcome allocate(const PodSpec& pod, const ContainerSpec& container,
                   std::vector<Granted>& granted, std::string& why);
  /// What a container's start says to the plugins (1.9).
  Outcome preStart(const PodSpec& pod, const ContainerSpec& container, std::string& why);
  /// Null while the kubelet is down.
  std::shared_ptr<Dra> draNow();
  /// Prepares the pod's claims, unless it has a sandbox. What went wrong, or empty.
  std::string makeSandbox(const PodSpec& pod);
};

/// The ids of a record.
std::set<std::string> idsOf(const CheckpointEntry& entry);

}  // namespace vfiogate::sim
