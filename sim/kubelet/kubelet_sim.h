#pragma once
// A stand-in kubelet: what a device plugin and a DRA driver meet on a real one's sockets, rows
// K1-K32 of the kubelet contract.

#include "proto/deviceplugin.pb.h"
#include "sim/kubelet/base/backoff.h"
#include "sim/kubelet/base/checkpoint_format.h"
#include "sim/kubelet/base/device_table.h"
#include "sim/kubelet/base/pod.h"
#include "sim/kubelet/dra/claim_record.h"
#include "sim/kubelet/dra/dra_health.h"
#include "sim/kubelet/dra/dra_options.h"
#include "sim/kubelet/dra/dra_plugins.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace vfiogate::sim {

/// How long a test waits for what must come; it costs only where something is broken.
constexpr std::chrono::seconds kPatience{30};

struct KubeletOptions {
  std::uint64_t seed = 1;  ///< of every choice that the real one makes at random
  std::chrono::milliseconds dialWithin{10'000};
  std::chrono::milliseconds optionsWithin{10'000};
  std::chrono::milliseconds preStartWithin{30'000};
  std::chrono::milliseconds patience = kPatience;  ///< of await() and its kind
  /// How long a resource outlives its stream; looked at only by nodeStatus() (K7).
  std::chrono::milliseconds grace{300'000};
  /// Of the grace period and the rate limit; may be called from any thread.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
  /// The end of an old stream disconnects only its own plugin, as after 1.36 (K9).
  bool endsOnlyItsOwn = false;
  /// A topology policy other than none: each admission frees what inactive pods held (K20).
  bool topologyHints = false;
  /// The pod last admitted keeps its devices after its end until another pod is admitted, one
  /// without devices too: the device manager protects its "pending" pod and never forgets it.
  bool keepsLastAdmitted = true;
  /// Told each frame when it has been read and before anything is done with it, on the thread that
  /// reads.
  std::function<void(const v1beta1::ListAndWatchResponse&)> heard = {};
  /// Told the resource when an Allocate has been answered well and before anything is recorded, not
  /// under the kubelet's lock: it may wait, kill the plugin, and stop the kubelet.
  std::function<void(const std::string& resource)> answered = {};
  double callsASecond = 100;  ///< of PodResources, all methods together (K22)
  double callsAtOnce = 10;
  WatchLimits watch = {};  ///< of the plugin watcher (K23)
  DraOptions dra = {};
  /// Told in words what plugins do and what becomes of them, under the kubelet's lock: it must
  /// neither wait nor ask the kubelet.
  std::function<void(const std::string&)> told = {};
};

struct StartOptions {
  /// False: no pod is known yet. The test admits them one by one, then calls sourcesReady(); until
  /// then nothing is freed, and containers that run are not judged (K13). True: all active pods are
  /// taken as added again, unjudged.
  bool sourcesReady = true;
};

/// One resource in the node's status.
struct NodeCounts {
  std::size_t capacity = 0;
  std::size_t allocatable = 0;

  friend bool operator==(const NodeCounts&, const NodeCounts&) = default;
};

/// What Register does instead of registering; for the bad days.
enum class Manner {
  kRegisters,
  kRefuses,             ///< answers with an error
  kSilent,              ///< takes the call and never answers
  kClosesAfterRegister  ///< answers, and ends the stream at once
};

class KubeletSim {
public:
  using Counts = DeviceTable;

  explicit KubeletSim(std::string kubeletDir, KubeletOptions options = {});
  ~KubeletSim();
  KubeletSim(const KubeletSim&) = delete;
  KubeletSim& operator=(const KubeletSim&) = delete;

  /// Reads the checkpoint, sweeps the sockets, makes kubelet.sock last (K1). Throws
  /// std::runtime_error, with nothing begun, if the file of claims is corrupt.
  void start(StartOptions options = {});
  /// Ends as a killed one does: connections close, kubelet.sock stays on disk.
  void stop();
  void restart(StartOptions options = {});
  /// All pods of the node have been added; those that have not are gone.
  void sourcesReady();
  /// Stops with all containers; pods stay wanted, with their uids. start() is the reboot.
  void powerOff();
  /// `refusal` is what kRefuses says.
  void behave(Manner manner, std::string refusal = "not today");
  /// Register is looked at so long after it came; 0: at once.
  void answerLate(std::chrono::milliseconds late);
  /// Hangs up on each plugin's stream when its resource has shown `count` frames; 0: never.
  void closeStreamAfterFrames(std::size_t count);
  /// The next Allocate that succeeds finds the kubelet stopping before it records the answer.
  void dieInAllocate();

  /// Runs admission; all Allocates of a pod come before any of its containers starts (K11).
  Admission admit(const PodSpec& pod);
  /// Starts a container of an admitted pod: PreStartContainer where a plugin wants it, one call for
  /// each resource; no Allocate unless nothing is recorded (K12, K19). Calls for different pods may
  /// run at once, from threads of the test.
  ContainerStart startContainer(const std::string& podUid, const std::string& container);
  ContainerStart restartContainer(const std::string& podUid, const std::string& container);
  /// One sync of an admitted pod: its claims are prepared, then there is a sandbox, then its
  /// containers start, the plain init ones end at once. Where that fails it is tried again in the
  /// background, over restarts too, until the pod ends (K26).
  PodStart startPod(const std::string& podUid);
  /// The sandbox is gone with all containers, as after the runtime lost it; startPod() makes
  /// another.
  void loseSandbox(const std::string& podUid);
  /// It ended by itself.
  void stopContainer(const std::string& podUid, const std::string& container);
  /// All containers have ended and the pod is inactive, but for one with claims that could not be
  /// unprepared: that is terminating, and tried again in the background (K27). What it held is
  /// freed lazily: at the next Allocate, by topology hints, by PodResources List (K20).
  void end(const std::string& podUid);
  /// The pod is inactive at once; its containers run on until stopContainer() or end().
  void forceDelete(const std::string& podUid);
  std::set<std::string> running(const std::string& podUid);
  /// True as soon as startPod() has done all its work, be it later.
  bool awaitStarted(const std::string& podUid);
  /// True as soon as nothing is left to do for a pod that has ended.
  bool awaitEnded(const std::string& podUid);
  bool isTerminating(const std::string& podUid);
  /// Warnings at the pod, as "REASON: text", the oldest first.
  std::vector<std::string> podEvents(const std::string& podUid);
  /// One Allocate with these very ids, past all the kubelet's own checks.
  Granted offer(const std::string& resource, const std::vector<std::string>& ids,
                std::string& error);

  /// Of await() and its kind from now on, in place of the options'.
  void setPatience(std::chrono::milliseconds patience);
  /// True as soon as `holds` does for the resource's devices, within `patience`; without: the
  /// options'.
  bool await(const std::string& resource, const std::function<bool(const DeviceTable&)>& holds,
             std::optional<std::chrono::milliseconds> patience = std::nullopt);
  /// True as soon as the healthy and the unhealthy ids are these.
  bool shows(const std::string& resource, const std::set<std::string>& healthy,
             const std::set<std::string>& unhealthy = {});
  bool awaitRegistrations(const std::string& resource, std::size_t times);
  /// True as soon as containers with the resource start after PreStartContainer, or without.
  bool awaitPreStart(const std::string& resource, bool required);
  bool awaitStreamsEnded(const std::string& resource, std::size_t count);
  bool awaitFrames(const std::string& resource, std::size_t count);

  /// Computes the node's status, as the real one does every 10 s; drops resources whose grace
  /// period is over, which stay in it as 0 (K7).
  std::map<std::string, NodeCounts> nodeStatus();
  /// The ids that the kubelet takes for used.
  std::set<std::string> allocated(const std::string& resource);
  DeviceTable devices(const std::string& resource);
  std::size_t frames(const std::string& resource);
  std::size_t registrations(const std::string& resource);
  std::size_t streamsEnded(const std::string& resource);
  std::vector<std::string> resources();
  /// What is recorded of pods, ended ones too until they are freed.
  std::vector<CheckpointEntry> records();
  /// Whom the plugin watcher has registered, as "TYPE NAME VERSION".
  std::set<std::string> watchedPlugins();
  bool awaitWatchedPlugins(const std::set<std::string>& plugins);
  /// The oldest first.
  std::vector<DraInstance> draInstances(const std::string& driver);
  bool awaitDra(const std::string& driver,
                const std::function<bool(const std::vector<DraInstance>&)>& holds);
  /// True as soon as so many instances of the driver are connected.
  bool awaitDraConnected(const std::string& driver, std::size_t count = 1);
  /// What is remembered of claims.
  std::vector<ClaimRecord> claimRecords();
  SeenHealth deviceHealth(const std::string& driver, const std::string& pool,
                          const std::string& device);
  /// Of the app containers' claims.
  std::vector<DeviceStatus> deviceStatuses(const std::string& podUid);
  /// How often news of health had the pod's status computed anew.
  bool awaitStatusRefreshes(const std::string& podUid, std::size_t count);
  std::size_t statusRefreshes(const std::string& podUid);
  /// Ends the plugin's stream, as a kubelet does that lost the connection.
  void dropStream(const std::string& resource);
  /// The real one would have crashed (K17): what happened, empty if nothing did. A crash that no
  /// test asks for ends the test program.
  std::string crash();
  std::size_t checkpointWrites();

  /// From now on versions of the checkpoint are collected and kept back, as by a writer that lags;
  /// what collected them goes on. A stop loses them.
  void holdCheckpoints();
  /// True as soon as `count` are kept back, within kPatience.
  bool awaitHeldCheckpoints(std::size_t count);
  /// Writes one of those kept back, 0 is the oldest: another first and this one overtakes (F-C).
  void writeHeldCheckpoint(std::size_t index);
  /// Writes the rest, oldest first, and keeps nothing back any more.
  void releaseCheckpoints();
  /// Removes the file, or cuts it in the middle; for a kubelet that is stopped. A running one
  /// writes it anew.
  void loseCheckpoint();
  void corruptCheckpoint();
  /// From now on, over restarts of the plugin, the checkpoint and PodResources name no pod, though
  /// the kubelet knows what it gave away: no real one does this. It takes a plugin's adoption away.
  void concealPods();

  /// Registers on the plugin's behalf, as Register does; the error's text, or empty.
  /// Dials no longer than until `deadline`, the caller's.
  std::string registerPlugin(const v1beta1::RegisterRequest& request,
                             std::chrono::system_clock::time_point deadline =
                                 std::chrono::system_clock::time_point::max());

private:
  struct State;
  class Allocation;
  class Service;
  class PodResourcesServer;
  class OldPodResourcesServer;
  class WatchedPlugins;
  class Dra;
  /// Takes the plugin that serves at `socketPath`; what went wrong, or empty. Where there is no
  /// limit for the options' answer, it is awaited for ever.
  std::string serveFrom(const std::string& resource, const std::string& socketPath,
                        std::chrono::system_clock::time_point dialDeadline,
                        std::optional<std::chrono::milliseconds> optionsWithin);
  /// Later, once more what startPod() does; `prepared`: it was not the claims that failed.
  void startAgain(const std::string& podUid, bool prepared);
  /// Unprepares what a terminating pod has; later, where that fails.
  void finishEnd(const std::string& podUid);
  /// Goes on with what an earlier life of the kubelet, or one without its sources, left.
  void resumePods();
  std::unique_ptr<State> state_;
};

/// True if the kubelet takes the name for an extended resource.
bool isExtendedResourceName(const std::string& name);

}  // namespace vfiogate::sim
