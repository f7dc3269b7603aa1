#pragma once
// Asks whether the claims that hold devices still exist: an Unprepare can be lost (ledger.md, row
// 46).

#include "plugind/dra/api/api_link.h"
#include "plugind/dra/claims/claim_ledger.h"

#include <kj/async.h>
#include <kj/timer.h>

#include <random>
#include <vector>

namespace vfiogate {

/// Each claim once after the start, then every 10 minutes; one that is not ours any more again a
/// minute later, and the ledger acts on the second word. What the API server cannot say changes
/// nothing. The loop's thread only.
class ClaimSweep {
public:
  /// Borrows all. `isHeld` claims of the ledger alone are asked for.
  ClaimSweep(ApiLink& api, ClaimLedger& ledger, kj::Timer& timer, std::mt19937& random);
  KJ_DISALLOW_COPY(ClaimSweep);

  /// A netd has come.
  void start();

private:
  kj::Promise<void> forever();
  /// True: some claim is to be asked for again soon.
  kj::Promise<bool> sweep(std::vector<ClaimName> claims);
  kj::Promise<bool> ask(const ClaimName& claim);
  std::vector<ClaimName> held() const;

  ApiLink& api_;
  ClaimLedger& ledger_;
  kj::Timer& timer_;
  std::mt19937& random_;
  kj::Promise<void> running_ = nullptr;
  bool started_ = false;
};

}  // namespace vfiogate
