#include "netd/dra/claims/claim_fetcher.h"

#include "netd/dra/claims/claim_json.h"

#include <utility>

namespace vfiogate {
namespace {

bool isMissing(const ClaimFetcher::Fetched& fetched) {
  return fetched && hasStatus(fetched->outcome, kApiNotFound);
}

}  // namespace

kj::Promise<ClaimFetcher::Fetched> ClaimFetcher::fetch(ClaimPlace claim) {
  auto version = versions_.current(client_);
  return version.then([this, claim = std::move(claim)](
                          const ApiVersions::Found& known) mutable -> kj::Promise<Fetched> {
    if (!known) return Fetched(Failure{known.error()});
    auto first = fetchAs(*known, claim);
    return first.then([this, api = *known,
                       claim = std::move(claim)](Fetched fetched) mutable -> kj::Promise<Fetched> {
      if (!isMissing(fetched)) return fetched;
      return whereServedNow(api, std::move(claim), std::move(fetched));
    });
  });
}

kj::Promise<ClaimFetcher::Fetched> ClaimFetcher::fetchAs(ResourceApi api, const ClaimPlace& claim) {
  auto path = claimPath(api, claim.claimNamespace, claim.name);
  if (!path) return Fetched(Failure{std::string("that is no claim's name")});
  auto asked = client_.ask(ApiMethod::kGet, *path, {});
  return asked.then([path = std::move(*path)](ApiOutcome outcome) mutable {
    return Fetched(FetchedClaim{std::move(outcome), std::move(path)});
  });
}

kj::Promise<ClaimFetcher::Fetched> ClaimFetcher::whereServedNow(ResourceApi before,
                                                                ClaimPlace claim, Fetched missing) {
  return versions_.ask(client_).then(
      [this, before, claim = std::move(claim), missing = std::move(missing)](
          const ApiVersions::Found& now) mutable -> kj::Promise<Fetched> {
        if (!now) return Fetched(Failure{now.error()});
        if (*now == before) return kj::mv(missing);
        return fetchAs(*now, claim);
      });
}

}  // namespace vfiogate
