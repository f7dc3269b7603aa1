#include "sim/kubelet/dra/claim_book.h"

namespace vfiogate::sim {

void ClaimBook::put(const ResourceClaim& claim) {
  const std::lock_guard lock(mutex_);
  claims_[{claim.nameSpace, claim.name}] = claim;
}

void ClaimBook::reserve(const std::string& nameSpace, const std::string& name,
                        const std::string& podUid) {
  const std::lock_guard lock(mutex_);
  const auto claim = claims_.find({nameSpace, name});
  if (claim != claims_.end()) claim->second.reservedFor.insert(podUid);
}

void ClaimBook::remove(const std::string& nameSpace, const std::string& name) {
  const std::lock_guard lock(mutex_);
  claims_.erase({nameSpace, name});
}

void ClaimBook::fail(std::string why) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(why);
}

std::optional<ResourceClaim> ClaimBook::get(const std::string& nameSpace, const std::string& name,
                                            std::string& why) {
  const std::lock_guard lock(mutex_);
  const auto claim = claims_.find({nameSpace, name});
  why = failure_;
  if (!why.empty()) return std::nullopt;
  if (claim != claims_.end()) return claim->second;
  why = "resourceclaims.resource.k8s.io \"" + name + "\" not found";
  return std::nullopt;
}

}  // namespace vfiogate::sim
