#include "privd/gate/spec_service.h"

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

GateAnswer failed(ReadError error) {
  return refused(Code::kFailed, error.error);
}

}  // namespace

GateAnswer SpecService::put(const gate::Put& request) {
  return std::visit([this](const auto& text) { return put(text); }, request.spec);
}

GateAnswer SpecService::put(const StaticSpecText& text) {
  using Refusal = CdiStore::Refusal;
  const auto written = specs_.put(text);
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

GateAnswer SpecService::put(const ClaimSpecText& text) {
  if (auto fault = faultIn(text.spec)) return bad(*std::move(fault));
  const auto written = claims_.write(text);
  if (written) return done();
  if (const auto* words = std::get_if<std::string>(&written.error())) return bad(*words);
  return failed(std::get<ReadError>(written.error()));
}

GateAnswer SpecService::remove(const gate::Remove& request) {
  const bool ofClaim = request.what == gate::Remove::What::kClaim;
  if (ofClaim && !isUid(request.uid)) return bad(kNoUid);
  const auto removed = ofClaim ? claims_.unlink(request.uid) : specs_.keepOnlyThose();
  return removed ? done() : failed(removed.error());
}

GateAnswer SpecService::open(const std::string& uid) const {
  if (!isUid(uid)) return bad(kNoUid);
  return handed(claims_.open(uid));
}

GateAnswer SpecService::list(const std::string& after) const {
  auto uids = claims_.uids();
  if (!uids) return failed(uids.error());
  gate::ClaimUids part{.uids = std::move(uids).value(), .more = false};
  std::erase_if(part.uids, [&after](const std::string& uid) { return uid <= after; });
  return done(std::move(part));
}

}  // namespace vfiogate
