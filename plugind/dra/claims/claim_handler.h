#pragma once
// The kubelet's calls about claims, from their arrival to the answer.

#include "plugind/dra/api/api_link.h"
#include "plugind/dra/claims/claim_ledger.h"
#include "plugind/dra/claims/claim_specs.h"
#include "plugind/dra/claims/claims_call.h"

#include <kj/async.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace vfiogate {

/// Claims in one call are independent; the call is answered when all have ended. The loop's thread
/// only.
class ClaimHandler final : private kj::TaskSet::ErrorHandler {
public:
  /// Borrows all.
  ClaimHandler(ApiLink& api, ClaimLedger& ledger, ClaimSpecs& specs);
  KJ_DISALLOW_COPY(ClaimHandler);

  void asked(const std::shared_ptr<ClaimsCall>& call);
  /// The kubelet hung up: its claims are not decided any more.
  void cancelled(const std::shared_ptr<ClaimsCall>& call);

  /// The ledger's answer. False: not a call of ours.
  bool answered(const Answer& answer);
  /// The ledger wants this claim's spec on disk.
  void writeSpec(CallId id);

private:
  /// One claim that the ledger is deciding.
  struct Open {
    const ClaimsCall* call;
    ClaimName claim;
    AllocatedClaim allocated;  ///< of a prepare
    kj::Own<kj::PromiseFulfiller<ClaimResult>> fulfiller;
    std::map<UnitId, std::string> sets{};  ///< as in PrepareRequest
  };
  kj::Promise<void> answerWhenAllEnded(std::shared_ptr<ClaimsCall> call);
  kj::Promise<ClaimResult> prepare(const ClaimsCall& call, const ClaimName& claim);
  kj::Promise<ClaimResult> decide(const ClaimsCall& call, const ClaimName& claim,
                                  const ClaimAnswer& answer);
  kj::Promise<ClaimResult> unprepare(const ClaimsCall& call, const ClaimName& claim);
  kj::Promise<ClaimResult> open(CallId id, const ClaimsCall& call, const ClaimName& claim,
                                AllocatedClaim allocated);
  ClaimResult resultOf(const Open& open, const Answer& answer) const;
  void report(const Open& open, const ClaimResult& result);
  /// A pod hangs in Terminating for it, of which no event of the kubelet's tells why.
  void reportHeld(const ClaimName& claim, const std::string& why);
  kj::Promise<void> send(const ClaimName& claim, std::vector<ReportedDevice> devices);
  void taskFailed(kj::Exception&& exception) override;

  ApiLink& api_;
  ClaimLedger& ledger_;
  ClaimSpecs& specs_;
  std::map<CallId, Open> open_;
  std::map<const ClaimsCall*, kj::Promise<void>> running_;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
