#pragma once
// ResourceClaims as the API server has them.
// Who takes ResourceSlices away from the API server, as the kubelet does.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::sim {

/// One device that the scheduler gave to a claim.
struct AllocationResult {
  std::string request;  ///< "main" or "main/sub"
  std::string driver;
  std::string pool;
  std::string device;
  std::optional<std::string> shareId = {};

  friend bool operator==(const AllocationResult&, const AllocationResult&) = default;
};

struct ResourceClaim {
  std::string nameSpace = "default";
  std::string name;
  std::string uid;
  std::string ownerPodUid = {};  ///< of a claim made from a template
  bool allocated = true;
  std::vector<AllocationResult> results = {};
  std::set<std::string> reservedFor = {};  ///< uids of pods
};

/// Asked from several threads.
class ClaimSource {
public:
  virtual ~ClaimSource() = default;
  /// GET of one claim. Null: it could not be had, and `why` says in which way.
  virtual std::optional<ResourceClaim> get(const std::string& nameSpace, const std::string& name,
                                           std::string& why) = 0;
};

/// Asked from several threads. False: the API server did not; it is asked again.
class SliceWiper {
public:
  virtual ~SliceWiper() = default;
  /// All of the node's, of every driver.
  virtual bool wipeNode() = 0;
  virtual bool wipeDriver(const std::string& driver) = 0;
};

}  // namespace vfiogate::sim
