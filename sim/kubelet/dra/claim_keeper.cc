#include "sim/kubelet/dra/claim_keeper.h"

#include "sim/kubelet/dra/claim_replies.h"
#include "sim/kubelet/dra/kept_file.h"

#include <algorithm>
#include <stdexcept>

namespace vfiogate::sim {
namespace {

constexpr const char* kClaimsClosed = "the kubelet stops";

std::string slashed(const ResourceClaim& claim) {
  return claim.nameSpace + "/" + claim.name;
}

std::set<std::string> driversIn(const ResourceClaim& claim) {
  std::set<std::string> drivers;
  for (const AllocationResult& result : claim.results) drivers.insert(result.driver);
  return drivers;
}

}  // namespace

ClaimKeeper::ClaimKeeper(std::string path, const DraOptions& options, DraPlugins& plugins,
                         std::uint64_t seed)
    : path_(std::move(path)), options_(options), plugins_(plugins), random_(seed) {
  const std::string text = keptText(path_);
  ClaimRecords claims;
  if (text.empty()) {
    keepFile(path_, formatClaims(claims));
  } else if (!parseClaims(text, claims)) {
    throw std::runtime_error("the checkpoint " + path_ + " is corrupt");
  }
  for (const ClaimRecord& claim : claims.value_or(std::vector<ClaimRecord>())) {
    kept_[{claim.nameSpace, claim.name}] = {.record = claim};
  }
}

std::string ClaimKeeper::prepare(const PodSpec& pod) {
  std::vector<ResourceClaim> claims;
  Batches batches;
  std::string error = validate(pod, claims);
  if (error.empty()) error = refer(pod, claims, batches);
  for (const std::string& driver : driversOf(batches)) {
    if (error.empty()) error = askToPrepare(driver, batches.at(driver));
  }
  return error.empty() ? markPrepared(claims) : error;
}

std::string ClaimKeeper::validate(const PodSpec& pod, std::vector<ResourceClaim>& claims) const {
  for (const PodClaim& wanted : pod.claims) {
    const std::string& name = wanted.claim;
    if (name.empty()) return "pod claim " + wanted.name + ": ResourceClaim not created yet";
    std::string why = "no API server";
    auto claim = options_.claims ? options_.claims->get(pod.nameSpace, name, why) : std::nullopt;
    if (!claim) return "failed to fetch ResourceClaim " + name + ": " + why;
    const std::string text = pod.nameSpace + "/" + name;
    if (wanted.fromTemplate && claim->ownerPodUid != pod.uid) {
      return "ResourceClaim " + text + " was not created for pod " + pod.uid;
    }
    if (!claim->reservedFor.contains(pod.uid)) {
      return "pod " + pod.uid + " is not allowed to use resource claim " + text;
    }
    if (!claim->allocated) return "ResourceClaim " + text + " is not allocated yet";
    for (const std::string& driver : driversIn(*claim)) {
      if (plugins_.pick(driver) == nullptr) return "DRA driver " + driver + " is not registered";
    }
    claims.push_back(std::move(*claim));
  }
  return "";
}

std::string ClaimKeeper::refer(const PodSpec& pod, const std::vector<ResourceClaim>& claims,
                               Batches& batches) {
  const std::lock_guard lock(mutex_);
  if (closed_) return kClaimsClosed;
  for (const ResourceClaim& claim : claims) {
    const auto [entry, fresh] = kept_.try_emplace({claim.nameSpace, claim.name});
    ClaimRecord& record = entry->second.record;
    if (fresh) {
      record = {claim.uid, claim.name, claim.nameSpace, {}, {}};
      for (const std::string& driver : driversIn(claim)) record.drivers[driver] = {};
    }
    if (record.uid != claim.uid) {
      return "old ResourceClaim with same name " + slashed(claim) + " and different UID " +
             record.uid + " still exists";
    }
    record.podUids.insert(pod.uid);
    write();
    if (entry->second.prepared) continue;
    for (const std::string& driver : driversIn(claim)) batches[driver].push_back(claim);
  }
  return "";
}

std::string ClaimKeeper::askToPrepare(const std::string& driver,
                                      const std::vector<ResourceClaim>& claims) {
  const auto plugin = plugins_.pick(driver);
  if (plugin == nullptr) return "DRA driver " + driver + " is not registered";
  dra_v1::NodePrepareResourcesRequest request;
  nameClaims(claims, *request.mutable_claims());
  dra_v1::NodePrepareResourcesResponse response;
  const grpc::Status status = plugin->prepare(request, response);
  if (!status.ok()) return callError("NodePrepareResources", status);
  for (const auto& [uid, reply] : response.claims()) {
    const ResourceClaim* claim = findClaim(claims, uid);
    std::string error = replyError("NodePrepareResources", claim, uid, reply.error());
    if (error.empty()) error = keepDevices(driver, *claim, reply);
    if (!error.empty()) return error;
  }
  return skippedError("NodePrepareResources", claims.size(), response.claims().size());
}

std::string ClaimKeeper::keepDevices(const std::string& driver, const ResourceClaim& claim,
                                     const dra_v1::NodePrepareResourceResponse& reply) {
  const std::lock_guard lock(mutex_);
  const auto kept = kept_.find({claim.nameSpace, claim.name});
  if (kept == kept_.end()) return "unable to get claim info for claim " + slashed(claim);
  auto& devices = kept->second.record.drivers[driver];
  if (!options_.appendsDevices) devices.clear();
  for (const dra_v1::Device& device : reply.devices()) devices.push_back(claimDevice(device));
  return "";
}

std::string ClaimKeeper::markPrepared(const std::vector<ResourceClaim>& claims) {
  const std::lock_guard lock(mutex_);
  if (closed_) return kClaimsClosed;
  for (const ResourceClaim& claim : claims) {
    const auto kept = kept_.find({claim.nameSpace, claim.name});
    if (kept == kept_.end()) return "unable to get claim info for claim " + slashed(claim);
    kept->second.prepared = true;
    write();
  }
  return "";
}

std::string ClaimKeeper::unprepare(const std::string& podUid, const std::string& nameSpace,
                                   const std::vector<std::string>& names) {
  Batches batches;
  std::set<Key> ending;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return kClaimsClosed;
    for (const std::string& name : names) {
      const auto kept = kept_.find({nameSpace, name});
      if (kept == kept_.end()) continue;
      ClaimRecord& record = kept->second.record;
      if (record.podUids.size() > 1) {
        record.podUids.erase(podUid);
        continue;
      }
      if (!options_.lastReferenceIsAnybodys && !record.podUids.contains(podUid)) continue;
      ending.insert(kept->first);
      for (const auto& [driver, devices] : record.drivers) {
        batches[driver].push_back({.nameSpace = nameSpace, .name = name, .uid = record.uid});
      }
    }
  }
  for (const std::string& driver : driversOf(batches)) {
    std::string error = askToUnprepare(driver, batches.at(driver));
    if (!error.empty()) return error;
  }
  const std::lock_guard lock(mutex_);
  if (closed_) return kClaimsClosed;
  for (const Key& key : ending) kept_.erase(key);
  write();
  return "";
}

std::string ClaimKeeper::askToUnprepare(const std::string& driver,
                                        const std::vector<ResourceClaim>& claims) {
  const auto plugin = plugins_.pick(driver);
  if (plugin == nullptr) return "DRA driver " + driver + " is not registered";
  dra_v1::NodeUnprepareResourcesRequest request;
  nameClaims(claims, *request.mutable_claims());
  dra_v1::NodeUnprepareResourcesResponse response;
  const grpc::Status status = plugin->unprepare(request, response);
  if (!status.ok()) return callError("NodeUnprepareResources", status);
  for (const auto& [uid, reply] : response.claims()) {
    const std::string error =
        replyError("NodeUnprepareResources", findClaim(claims, uid), uid, reply.error());
    if (!error.empty()) return error;
  }
  return skippedError("NodeUnprepareResources", claims.size(), response.claims().size());
}

void ClaimKeeper::reconcile(const std::function<bool(const std::string& podUid)>& isActive) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> inactive;
  for (const ClaimRecord& claim : records()) {
    for (const std::string& uid : claim.podUids) {
      if (!isActive(uid)) inactive[{uid, claim.nameSpace}].push_back(claim.name);
    }
  }
  for (const auto& [pod, names] : inactive) {
    static_cast<void>(unprepare(pod.first, pod.second, names));  // the next round tries again
  }
}

bool ClaimKeeper::cdiDevices(const PodSpec& pod, const ContainerSpec& container,
                             std::vector<std::string>& names, std::string& why) const {
  const std::lock_guard lock(mutex_);
  for (const PodClaim& claim : pod.claims) {
    for (const ContainerClaim& used : container.claims) {
      if (used.name != claim.name) continue;
      const auto kept = kept_.find({pod.nameSpace, claim.claim});
      if (kept == kept_.end()) {
        why = "unable to get claim info for claim " + pod.nameSpace + "/" + claim.claim;
        return false;
      }
      for (const auto& [driver, device] : devicesFor(kept->second.record, used.request)) {
        for (const std::string& name : device.cdiDevices) {
          if (std::ranges::find(names, name) == names.end()) names.push_back(name);
        }
      }
    }
  }
  return true;
}

std::vector<std::string> ClaimKeeper::driversOf(const Batches& batches) {
  std::vector<std::string> drivers;
  for (const auto& [driver, claims] : batches) drivers.push_back(driver);
  const std::lock_guard lock(mutex_);
  std::ranges::shuffle(drivers, random_);
  return drivers;
}

std::vector<ClaimRecord> ClaimKeeper::records() const {
  const std::lock_guard lock(mutex_);
  std::vector<ClaimRecord> all;
  for (const auto& [key, kept] : kept_) all.push_back(kept.record);
  return all;
}

void ClaimKeeper::write() const {
  std::vector<ClaimRecord> all;
  for (const auto& [key, kept] : kept_) all.push_back(kept.record);
  keepFile(path_, formatClaims(all));
}

void ClaimKeeper::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

}  // namespace vfiogate::sim
