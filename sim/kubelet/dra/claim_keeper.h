#pragma once
// Has the claims of pods prepared and unprepared by their drivers (kubelet-contract.md 5.2, 5.3).

#include "sim/kubelet/base/pod.h"
#include "sim/kubelet/dra/claim_record.h"
#include "sim/kubelet/dra/claim_source.h"
#include "sim/kubelet/dra/dra_connection.h"
#include "sim/kubelet/dra/dra_options.h"
#include "sim/kubelet/dra/dra_plugins.h"

#include <functional>
#include <mutex>
#include <random>

namespace vfiogate::sim {

/// Every method may be called from any thread, also for one claim at once, as of the real one.
class ClaimKeeper {
public:
  /// Reads the file at `path`, or makes an empty one. Throws std::runtime_error if the file is
  /// corrupt: a real kubelet does not start then. `plugins` must outlive this.
  ClaimKeeper(std::string path, const DraOptions& options, DraPlugins& plugins, std::uint64_t seed);

  /// Before a sandbox is made. What went wrong, or empty.
  std::string prepare(const PodSpec& pod);
  /// The claims of a pod that has ended, by name. What went wrong, or empty.
  std::string unprepare(const std::string& podUid, const std::string& nameSpace,
                        const std::vector<std::string>& names);
  /// Unprepares for every pod that is not active, as far as it can.
  void reconcile(const std::function<bool(const std::string& podUid)>& isActive);
  /// The CDI names that a container gets, each once. False: a claim is not known, see `why`.
  bool cdiDevices(const PodSpec& pod, const ContainerSpec& container,
                  std::vector<std::string>& names, std::string& why) const;
  std::vector<ClaimRecord> records() const;
  /// Nothing is written any more.
  void close();

private:
  struct Kept {
    ClaimRecord record;
    bool prepared = false;  ///< in this life of the kubelet
  };
  using Key = std::pair<std::string, std::string>;                    ///< namespace and name
  using Batches = std::map<std::string, std::vector<ResourceClaim>>;  ///< by driver

  std::string validate(const PodSpec& pod, std::vector<ResourceClaim>& claims) const;
  std::string refer(const PodSpec& pod, const std::vector<ResourceClaim>& claims, Batches& batches);
  std::string askToPrepare(const std::string& driver, const std::vector<ResourceClaim>& claims);
  std::string askToUnprepare(const std::string& driver, const std::vector<ResourceClaim>& claims);
  std::string keepDevices(const std::string& driver, const ResourceClaim& claim,
                          const dra_v1::NodePrepareResourceResponse& reply);
  std::string markPrepared(const std::vector<ResourceClaim>& claims);
  std::vector<std::string> driversOf(const Batches& batches);
  void write() const;

  const std::string path_;
  const DraOptions options_;
  DraPlugins& plugins_;
  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::map<Key, Kept> kept_;
  bool closed_ = false;
};

}  // namespace vfiogate::sim
