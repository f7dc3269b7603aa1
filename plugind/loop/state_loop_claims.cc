// What the DRA driver tells the ledger.

#include "plugind/loop/state_loop.h"

namespace vfiogate {

void StateLoop::prepareAsked(CallId call, const PrepareRequest& request, Instant arrived) {
  carryOut(ledger_.prepareAsked(call, request, arrived, now()));
}

void StateLoop::unprepareAsked(CallId call, const ClaimName& claim) {
  carryOut(ledger_.unprepareAsked(call, claim, now()));
}

void StateLoop::callDropped(CallId call) {
  carryOut(ledger_.callCancelled(call, now()));
}

void StateLoop::specWritten(CallId call, bool written) {
  carryOut(ledger_.specWritten(call, written, now()));
}

void StateLoop::specUnlinked(const std::string& claimUid, bool unlinked) {
  carryOut(ledger_.specUnlinked(claimUid, unlinked, now()));
}

void StateLoop::claimChecked(const std::string& claimUid, bool ours) {
  carryOut(ledger_.claimChecked(claimUid, ours, now()));
}

}  // namespace vfiogate
