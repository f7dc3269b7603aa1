#pragma once
// ResourceClaims as another source had them once: what befalls the API server then, or the claim
// there, meets only the driver.

#include "sim/kubelet/dra/claim_source.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace vfiogate::sim {

class RememberedClaims final : public ClaimSource {
public:
  explicit RememberedClaims(std::shared_ptr<ClaimSource> below) : below_(std::move(below)) {}

  /// From now on it is answered from memory. False: it cannot be had.
  bool remember(const std::string& nameSpace, const std::string& name) {
    std::string why;
    auto claim = below_->get(nameSpace, name, why);
    if (!claim) return false;
    const std::lock_guard lock(mutex_);
    remembered_.insert_or_assign({nameSpace, name}, *std::move(claim));
    return true;
  }

  std::optional<ResourceClaim> get(const std::string& nameSpace, const std::string& name,
                                   std::string& why) override {
    {
      const std::lock_guard lock(mutex_);
      const auto found = remembered_.find({nameSpace, name});
      if (found != remembered_.end()) return found->second;
    }
    return below_->get(nameSpace, name, why);
  }

private:
  const std::shared_ptr<ClaimSource> below_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, ResourceClaim> remembered_;
};

}  // namespace vfiogate::sim
