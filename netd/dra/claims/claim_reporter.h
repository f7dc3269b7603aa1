#pragma once
// Writes a driver's part of a claim's status.

#include "ipc/api/api_claim.h"
#include "netd/dra/claims/claim_fetcher.h"

#include <kj/function.h>

#include <chrono>
#include <string>

namespace vfiogate {

/// Reads the claim, and writes it with the report; again where somebody wrote it in between, or the
/// server no longer serves what it was read as, four times at most.
class ClaimReporter {
public:
  using Clock = kj::Function<std::chrono::sys_seconds()>;

  /// Borrows `client` and `fetcher`.
  ClaimReporter(ApiClient& client, ClaimFetcher& fetcher, Clock clock)
      : client_(client), fetcher_(fetcher), clock_(kj::mv(clock)) {}

  /// Empty: it is stored. Else, for people, why not. Never fails.
  kj::Promise<std::string> write(ClaimReport report) { return write(std::move(report), 1); }

private:
  kj::Promise<std::string> write(ClaimReport report, unsigned round);
  kj::Promise<std::string> put(std::string path, std::string body, ClaimReport report,
                               unsigned round);

  ApiClient& client_;
  ClaimFetcher& fetcher_;
  Clock clock_;
};

}  // namespace vfiogate
