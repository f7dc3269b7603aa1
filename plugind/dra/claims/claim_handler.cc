#include "plugind/dra/claims/claim_handler.h"

#include "plugind/base/log_line.h"
#include "plugind/base/own_threads.h"
#include "plugind/core/dra/claim_request.h"

#include <kj/vector.h>

#include <algorithm>
#include <utility>

namespace vfiogate {
namespace {

ClaimResult failed(std::string why) {
  return {.devices = {}, .error = std::move(why)};
}

}  // namespace

ClaimHandler::ClaimHandler(ApiLink& api, ClaimLedger& ledger, ClaimSpecs& specs)
    : api_(api), ledger_(ledger), specs_(specs), tasks_(*this) {}

void ClaimHandler::asked(const std::shared_ptr<ClaimsCall>& call) {
  if (call->claimed()) return;  // the kubelet hung up
  if (refusedWithoutThreads(*call)) return;
  const ClaimsCall* key = call.get();
  auto running = answerWhenAllEnded(call).eagerlyEvaluate(
      [this](kj::Exception&& failure) { taskFailed(kj::mv(failure)); });
  running_.emplace(key, kj::mv(running));
}

void ClaimHandler::cancelled(const std::shared_ptr<ClaimsCall>& call) {
  running_.erase(call.get());
  std::vector<CallId> dropped;
  for (const auto& [id, open] : open_) {
    if (open.call == call.get()) dropped.push_back(id);
  }
  for (const CallId id : dropped) {
    open_.erase(id);
    ledger_.callDropped(id);
  }
}

kj::Promise<void> ClaimHandler::answerWhenAllEnded(std::shared_ptr<ClaimsCall> call) {
  kj::Vector<kj::Promise<ClaimResult>> ways;
  for (const ClaimName& claim : call->claims()) {
    ways.add(call->kind() == ClaimsCall::Kind::kPrepare ? prepare(*call, claim)
                                                        : unprepare(*call, claim));
  }
  return kj::joinPromises(ways.releaseAsArray()).then([this, call](kj::Array<ClaimResult> ended) {
    ClaimResults results;
    for (std::size_t i = 0; i < ended.size(); ++i) {
      results.insert_or_assign(call->claims()[i].uid, kj::mv(ended[i]));
    }
    if (call->claim()) call->answer(results);
    // Not now: it is this promise that would be dropped.
    tasks_.add(kj::evalLater([this, key = call.get()]() { running_.erase(key); }));
  });
}

kj::Promise<ClaimResult> ClaimHandler::prepare(const ClaimsCall& call, const ClaimName& claim) {
  return api_.claim(claim.claimNamespace, claim.name)
      .then([this, &call, claim](ClaimAnswer answer) { return decide(call, claim, answer); });
}

kj::Promise<ClaimResult> ClaimHandler::decide(const ClaimsCall& call, const ClaimName& claim,
                                              const ClaimAnswer& answer) {
  if (const auto* unread = std::get_if<ClaimUnread>(&answer)) return failed(unread->why);
  const auto* allocated = std::get_if<AllocatedClaim>(&answer);
  if (allocated == nullptr) return failed("the API server has no claim of this name any more");
  auto request = requestOf(claim, *allocated, ledger_.settings(), ledger_.ledgerState(),
                           api_.node().value_or(""));
  if (!request) return failed(request.error());
  const CallId id = ledger_.newCall();
  auto ended = open(id, call, claim, *allocated);
  open_.at(id).sets = request->sets;
  ledger_.prepareAsked(id, *request, call.arrived());
  return ended;
}

kj::Promise<ClaimResult> ClaimHandler::unprepare(const ClaimsCall& call, const ClaimName& claim) {
  const CallId id = ledger_.newCall();
  auto ended = open(id, call, claim, {});
  ledger_.unprepareAsked(id, claim);
  return ended;
}

kj::Promise<ClaimResult> ClaimHandler::open(CallId id, const ClaimsCall& call,
                                            const ClaimName& claim, AllocatedClaim allocated) {
  auto ended = kj::newPromiseAndFulfiller<ClaimResult>();
  open_.emplace(id, Open{&call, claim, std::move(allocated), kj::mv(ended.fulfiller)});
  return kj::mv(ended.promise);
}

bool ClaimHandler::answered(const Answer& answer) {
  const auto found = open_.find(answer.call);
  if (found == open_.end()) return false;
  Open ended = std::move(found->second);
  open_.erase(found);
  ClaimResult result = resultOf(ended, answer);
  report(ended, result);
  ended.fulfiller->fulfill(std::move(result));
  return true;
}

ClaimResult ClaimHandler::resultOf(const Open& open, const Answer& answer) const {
  if (answer.refusal) {
    const std::string& trouble = specs_.troubleOf(open.claim.uid);
    const bool spec = answer.refusal->reason == "cdi" && !trouble.empty();
    return failed(spec ? answer.refusal->text + ": " + trouble : answer.refusal->text);
  }
  if (open.call->kind() == ClaimsCall::Kind::kUnprepare) return {};
  return {.devices = preparedDevices(open.allocated, specs_.namesOf(open.claim.uid), open.sets),
          .error = ""};
}

void ClaimHandler::report(const Open& open, const ClaimResult& result) {
  const bool failed = !result.error.empty();
  const bool ends = open.call->kind() == ClaimsCall::Kind::kUnprepare;
  if (ends && failed) return reportHeld(open.claim, result.error);
  if (!ends && !failed) tasks_.add(send(open.claim, reportedDevices(open.allocated)));
}

void ClaimHandler::reportHeld(const ClaimName& claim, const std::string& why) {
  auto read = api_.claim(claim.claimNamespace, claim.name);
  tasks_.add(read.then([this, claim, why](const ClaimAnswer& answer) -> kj::Promise<void> {
    const auto* allocated = std::get_if<AllocatedClaim>(&answer);
    if (allocated == nullptr || allocated->uid != claim.uid) return kj::READY_NOW;
    return send(claim, heldDevices(*allocated, why));
  }));
}

kj::Promise<void> ClaimHandler::send(const ClaimName& claim, std::vector<ReportedDevice> devices) {
  const ClaimReport told{.driver = ledger_.settings().dra.driver,
                         .claimNamespace = claim.claimNamespace,
                         .name = claim.name,
                         .uid = claim.uid,
                         .devices = std::move(devices)};
  return api_.report(told).then([uid = claim.uid](const std::string& failure) {
    if (!failure.empty()) logWarning(LogEvent::kReportFailed, {{"claim", uid}, {"why", failure}});
  });
}

void ClaimHandler::writeSpec(CallId id) {
  const LedgerState& state = ledger_.ledgerState();
  const auto call = state.calls.find(id);
  const auto open = open_.find(id);
  // Its kubelet hung up in this very turn: the ledger hears that next.
  if (call == state.calls.end() || open == open_.end()) return;
  specs_.write(id,
               claimSpecOf(state, call->second, open->second.allocated, ledger_.settings().dra));
}

void ClaimHandler::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed,
           {{"task", "claim_handler"}, {"why", exception.getDescription().cStr()}});
}

}  // namespace vfiogate
