#include "sim/kubelet/dra/claim_replies.h"

#include "sim/kubelet/base/checkpoint_format.h"

#include <algorithm>

namespace vfiogate::sim {

void nameClaims(const std::vector<ResourceClaim>& claims,
                google::protobuf::RepeatedPtrField<dra_v1::Claim>& named) {
  for (const ResourceClaim& claim : claims) {
    dra_v1::Claim* name = named.Add();
    name->set_namespace_(claim.nameSpace);
    name->set_uid(claim.uid);
    name->set_name(claim.name);
  }
}

const ResourceClaim* findClaim(const std::vector<ResourceClaim>& claims, const std::string& uid) {
  const auto claim = std::ranges::find(claims, uid, &ResourceClaim::uid);
  return claim == claims.end() ? nullptr : &*claim;
}

ClaimDevice claimDevice(const dra_v1::Device& device) {
  ClaimDevice told{.pool = device.pool_name(), .device = device.device_name()};
  if (device.has_share_id()) told.shareId = device.share_id();
  told.requests.assign(device.request_names().begin(), device.request_names().end());
  told.cdiDevices.assign(device.cdi_device_ids().begin(), device.cdi_device_ids().end());
  return told;
}

std::string callError(const std::string& method, const grpc::Status& status) {
  return method + ": " + goText(status);
}

std::string replyError(const std::string& method, const ResourceClaim* claim,
                       const std::string& uid, const std::string& error) {
  if (claim == nullptr) return method + " returned result for unknown claim UID " + uid;
  if (error.empty()) return "";
  return method + " failed for claim " + claim->nameSpace + "/" + claim->name + ": " + error;
}

std::string skippedError(const std::string& method, std::size_t asked, std::size_t answered) {
  if (answered >= asked) return "";
  return method + " skipped " + std::to_string(asked - answered) + " ResourceClaims";
}

}  // namespace vfiogate::sim
