#pragma once
// Gets a claim from the API server, in the version that it serves.

#include "netd/dra/api/api_retry.h"
#include "netd/dra/api/api_versions.h"

#include <string>

namespace vfiogate {

struct ClaimPlace {
  std::string claimNamespace;
  std::string name;
};

/// The server's answer, whatever it is, and the path that it is the answer to.
struct FetchedClaim {
  ApiOutcome outcome;
  std::string path;
};

/// A claim that is not found is looked for once more where the server serves another version by
/// now.
class ClaimFetcher {
public:
  /// Error: for people; it was not asked for the claim.
  using Fetched = Result<FetchedClaim, std::string>;

  /// Borrows both.
  ClaimFetcher(ApiClient& client, ApiVersions& versions) : client_(client), versions_(versions) {}

  /// Never fails.
  kj::Promise<Fetched> fetch(ClaimPlace claim);

private:
  kj::Promise<Fetched> fetchAs(ResourceApi api, const ClaimPlace& claim);
  kj::Promise<Fetched> whereServedNow(ResourceApi before, ClaimPlace claim, Fetched missing);

  ApiClient& client_;
  ApiVersions& versions_;
};

}  // namespace vfiogate
