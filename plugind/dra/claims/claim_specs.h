#pragma once
// The specs of prepared claims, one change after the other.

#include "plugind/base/concurrency_limit.h"
#include "plugind/dra/claims/claim_ledger.h"
#include "plugind/privd/link/privd_link.h"

#include <kj/async.h>

#include <map>
#include <string>
#include <vector>

namespace vfiogate {

/// Has privd write and unlink, and tells the ledger. A spec that came too late for its call is
/// unlinked again: with nobody behind it it would keep its group from everybody after a restart.
/// One that a later call of the claim was granted with is not.
/// The loop's thread only.
class ClaimSpecs final : private kj::TaskSet::ErrorHandler {
public:
  /// Borrows all.
  ClaimSpecs(PrivdLink& privd, ClaimLedger& ledger);
  KJ_DISALLOW_COPY(ClaimSpecs);

  void write(CallId call, ClaimSpec spec);
  void unlink(const std::string& uid);

  /// The CDI names of a claim's devices as privd wrote them last, by address. Empty: not written
  /// by this process, or unlinked.
  const std::map<UnitId, std::string>& namesOf(const std::string& uid) const;
  /// Why it could not be written or unlinked last, for people; empty: it could.
  const std::string& troubleOf(const std::string& uid) const;

private:
  void written(CallId call, const ClaimSpec& spec,
               const Result<std::vector<std::string>, SpecTrouble>& answer);
  void unlinked(const std::string& uid, const Result<Done, SpecTrouble>& answer);
  bool isHeld(const std::string& uid) const;
  bool isWanted(const std::string& uid) const;
  void taskFailed(kj::Exception&& exception) override;

  PrivdLink& privd_;
  ClaimLedger& ledger_;
  ConcurrencyLimit one_{1};
  std::map<std::string, std::map<UnitId, std::string>> names_;
  std::map<std::string, std::string> troubles_;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
