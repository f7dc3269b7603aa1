#pragma once
// What is around a kubelet: the pods that are wanted on the node and what became of them, a
// scheduler that holds them back until they fit, and the life of the kubelet itself.
// What a kubelet and the API server would print.

#include "sim/kubelet/dra/claim_book.h"
#include "sim/kubelet/kubelet_sim.h"

#include <chrono>
#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::sim {

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed };

/// A pod as the API server knows it.
struct KnownPod {
  PodSpec spec;
  PodPhase phase = PodPhase::kPending;
  bool admitted = false;
  std::string reason;                         ///< of kFailed, or why it does not start
  std::string message;                        ///< the kubelet's
  std::map<std::string, std::size_t> starts;  ///< by container
  std::chrono::steady_clock::time_point made;

  std::string fullName() const { return spec.nameSpace + "/" + spec.name; }
};

/// The answer to what could not be done.
std::string failure(const std::string& why);

/// For one thread at a time.
class Cluster {
public:
  Cluster(std::string kubeletDir, KubeletOptions options);

  KubeletSim& kubelet() { return kubelet_; }
  bool isUp() const { return up_; }

  /// Allocated claims, for pods that come later; a new one replaces that of its name.
  void addClaims(std::vector<ResourceClaim> claims);
  /// Each answers in lines, "error: ..." if it could not.
  std::string admit(std::vector<PodSpec> pods);
  /// As admit, once the node's allocatable, less what its pods asked for, is enough; each container
  /// is started, then.
  std::string schedule(std::vector<PodSpec> pods);
  /// Admits and starts what fits by now; what was done, in lines.
  std::string scheduleAgain();
  std::string startContainer(const std::string& pod, const std::string& container);
  std::string stopContainer(const std::string& pod, const std::string& container);
  std::string end(const std::string& pod);
  std::string remove(const std::string& pod, bool byForce);

  /// The kubelet dies as a killed one, or with the whole node.
  std::string crash();
  std::string powerOff();
  /// It comes up: all pods that are not over are added to it again, then its sources are ready.
  std::string boot();

  const std::list<KnownPod>& pods() const { return pods_; }
  /// Pods that were deleted by force while containers of theirs ran, which may still run.
  const std::list<KnownPod>& deleted() const { return deleted_; }
  std::set<std::string> running(const KnownPod& pod) { return kubelet_.running(pod.spec.uid); }

private:
  /// Null if there is none.
  KnownPod* find(const std::string& name);
  std::string add(KnownPod& pod);
  std::string start(KnownPod& pod, const std::string& container);
  std::string startAll(KnownPod& pod);
  bool fits(const PodSpec& pod);
  /// What the caller must know beside its answer: the kubelet may have died of it.
  std::string aftermath();

  const std::shared_ptr<ClaimBook> claims_ = std::make_shared<ClaimBook>();
  KubeletSim kubelet_;
  bool up_ = false;
  std::string crashSeen_;
  std::list<KnownPod> pods_;
  std::list<KnownPod> deleted_;
  std::size_t uids_ = 0;
};

/// As the node's status has it; computing it drops resources whose grace period is over.
std::string nodeTable(Cluster& cluster);
std::string nodeJson(Cluster& cluster);

/// As kubectl shows pods; `wide` with their devices.
std::string podTable(Cluster& cluster, bool wide);
std::string podJson(Cluster& cluster);

/// What the container runtime knows: also containers of pods that were deleted by force.
std::string containerTable(Cluster& cluster);
/// One device a line: its health, its NUMA node, who has it.
std::string deviceTable(Cluster& cluster, const std::string& resource);

}  // namespace vfiogate::sim
