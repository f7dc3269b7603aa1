#pragma once
// The ledger, as the DRA driver's parts use it, and what they are told of it. The state loop stands
// behind both.

#include "plugind/core/dra/dra_registration.h"
#include "plugind/core/ledger/state/ledger_state.h"
#include "plugind/core/settings.h"

#include <string>

namespace vfiogate {

/// What follows from an event is carried out before the function returns: an answer may come back
/// through ClaimHandler while it runs.
class ClaimLedger {
public:
  /// A number for a call, unique among all of the kubelet's.
  virtual CallId newCall() = 0;
  /// `arrived`: when the kubelet asked.
  virtual void prepareAsked(CallId call, const PrepareRequest& request, Instant arrived) = 0;
  virtual void unprepareAsked(CallId call, const ClaimName& claim) = 0;
  /// Nobody waits for the answer any more.
  virtual void callDropped(CallId call) = 0;
  virtual void specWritten(CallId call, bool written) = 0;
  virtual void specUnlinked(const std::string& claimUid, bool unlinked) = 0;
  virtual void claimChecked(const std::string& claimUid, bool ours) = 0;

  virtual const LedgerState& ledgerState() const = 0;
  virtual const Settings& settings() const = 0;

protected:
  ~ClaimLedger() = default;
};

/// The server of claims.
class ClaimServer {
public:
  /// privd's gate answers from now on.
  virtual void socketsCame() = 0;
  /// The holders of before are known: the kubelet may ask.
  virtual void begun() = 0;
  /// What concerns claims among an event's effects, but for the answers. After each event.
  virtual void carryOut(const Effects& effects) = 0;
  /// False: not a call about claims.
  virtual bool answered(const Answer& answer) = 0;
  virtual DriverStatus status() const = 0;

protected:
  ~ClaimServer() = default;
};

}  // namespace vfiogate
