#include "privd/gate/gate_service.h"

#include "ipc/base/kube_names.h"
#include "privd/cdi/cdi_spec.h"

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

/// kBad, with words: which part of the spec is not written.
GateAnswer GateService::on(GateSession& /*session*/, const gate::Put& request) {
  return std::visit([this](const auto& text) { return put(text); }, request.spec);
}

GateAnswer GateService::put(const StaticSpecText& text) {
  using Refusal = CdiStore::Refusal;
  const auto written = deps_.specs.put(text);
  if (written) return done();
  switch (written.error().why) {
    case Refusal::kBadName:
      return refused(Code::kBadName);
    case Refusal::kForeignPrefix:
      return refused(Code::kForeign);
    case Refusal::kTooLong:
      return bad("devices: more than " + std::to_string(kMostSpecMentions) + " nodes in all");
    case Refusal::kFailed:
      break;
  }
  return refused(Code::kFailed, written.error().error);
}

GateAnswer GateService::put(const ClaimSpecText& text) {
  if (auto fault = faultIn(text.spec)) return bad(*std::move(fault));
  const auto written = deps_.claims.write(text);
  if (written) return done();
  if (const auto* words = std::get_if<std::string>(&written.error())) return bad(*words);
  return refused(Code::kFailed, std::get<ReadError>(written.error()).error);
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
