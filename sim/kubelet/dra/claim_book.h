#pragma once
// ResourceClaims in memory, for tests without an API server.

#include "sim/kubelet/dra/claim_source.h"

#include <map>
#include <mutex>
#include <utility>

namespace vfiogate::sim {

class ClaimBook final : public ClaimSource {
public:
  /// Adds it, or replaces the one of its name.
  void put(const ResourceClaim& claim);
  /// The pod may use the claim from now on; nothing if there is none.
  void reserve(const std::string& nameSpace, const std::string& name, const std::string& podUid);
  void remove(const std::string& nameSpace, const std::string& name);
  /// Every GET fails with these words from now on; empty: no more.
  void fail(std::string why);

  std::optional<ResourceClaim> get(const std::string& nameSpace, const std::string& name,
                                   std::string& why) override;

private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, ResourceClaim> claims_;
  std::string failure_;
};

}  // namespace vfiogate::sim
