#include "privd/gate/gate_service.h"

#include "ipc/base/kube_names.h"
#include "privd/cdi/cdi_spec.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace vfiogate {
namespace {

using gate::Code;

constexpr const char* kNoUid = "uid: no UUID in lower case";
// With the length of each uid, and of the answer.
static_assert(kMostClaimSpecs * (gate::kLongestUid + 2) + 64 < gate::kLargestAnswer);

}  // namespace

GateAnswer GateService::on(GateSession& /*session*/, const gate::Put& request) {
  const auto* claim = std::get_if<ClaimSpecText>(&request.spec);
  const auto written = claim != nullptr ? deps_.claims.write(*claim)
                                        : deps_.specs.put(std::get<StaticSpecText>(request.spec));
  return written ? done() : GateAnswer{written.error(), std::nullopt};
}

/// kFailed: what it took away may come back after a crash.
GateAnswer GateService::on(GateSession& /*session*/, const gate::Remove& request) {
  const bool ofClaim = request.what == gate::Remove::What::kClaim;
  if (ofClaim && !isUid(request.uid)) return bad(kNoUid);
  const auto removed = ofClaim ? deps_.claims.unlink(request.uid) : deps_.specs.keepOnlyThose();
  return removed ? done() : refused(Code::kFailed, removed.error().error);
}

/// kNotYet: there is none.
GateAnswer GateService::openClaim(const std::string& uid) const {
  return isUid(uid) ? handed(deps_.claims.open(uid)) : bad(kNoUid);
}

GateAnswer GateService::claimsAfter(const std::string& last) const {
  auto uids = deps_.claims.uids();
  if (!uids) return refused(Code::kFailed, uids.error().error);
  gate::ClaimUids part{.uids = std::move(uids).value(), .more = false};
  std::erase_if(part.uids, [&last](const std::string& uid) { return uid <= last; });
  return done(std::move(part));
}

}  // namespace vfiogate
