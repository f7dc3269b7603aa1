#pragma once
// What the kubelet says to a DRA driver of claims, and how it judges the answer.

#include "proto/dra_v1.pb.h"
#include "sim/kubelet/dra/claim_record.h"
#include "sim/kubelet/dra/claim_source.h"

#include <grpcpp/support/status.h>

#include <string>
#include <vector>

namespace vfiogate::sim {

namespace dra_v1 = k8s::io::kubelet::pkg::apis::dra::v1;

void nameClaims(const std::vector<ResourceClaim>& claims,
                google::protobuf::RepeatedPtrField<dra_v1::Claim>& named);

/// Null if none has the UID.
const ResourceClaim* findClaim(const std::vector<ResourceClaim>& claims, const std::string& uid);

/// Nothing of it is checked.
ClaimDevice claimDevice(const dra_v1::Device& device);

// What is wrong, or empty.
std::string callError(const std::string& method, const grpc::Status& status);
/// `claim` is null where nobody asked for the UID.
std::string replyError(const std::string& method, const ResourceClaim* claim,
                       const std::string& uid, const std::string& error);
std::string skippedError(const std::string& method, std::size_t asked, std::size_t answered);

}  // namespace vfiogate::sim
