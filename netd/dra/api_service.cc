#include "netd/dra/api_service.h"

#include "ipc/api/api_codec.h"
#include "netd/dra/api/api_client.h"
#include "netd/dra/claims/claim_json.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

/// Within the time that plugind waits for it, so that its reason is told.
constexpr auto kClaimTakes = 8 * kj::SECONDS;
constexpr unsigned kRead = 200;

ClaimAnswer claimAnswerOf(const ClaimFetcher::Fetched& fetched, const std::string& driver) {
  if (!fetched) return ClaimUnread{fetched.error()};
  const ApiOutcome& outcome = fetched->outcome;
  if (!outcome) return ClaimUnread{"the API server does not answer: " + outcome.error().why};
  if (hasStatus(outcome, kApiNotFound)) return ClaimGone{};
  if (outcome->status != kRead) return ClaimUnread{wordsOf(*outcome)};
  auto claim = readClaim(outcome->body, driver);
  if (!claim) return ClaimUnread{claim.error()};
  return std::move(claim).value();
}

}  // namespace

ApiService::ApiService(Deps deps)
    : fetcher_(deps.client, deps.versions),
      timer_(deps.timer),
      pools_(kj::mv(deps.pools)),
      reporter_(deps.client, fetcher_, kj::mv(deps.clock)) {}

kj::Promise<void> ApiService::claim(ClaimContext context) {
  const auto asked = context.getParams();
  auto answer =
      fetcher_.fetch({asked.getClaimNamespace(), asked.getName()})
          .then([driver = std::string(asked.getDriver())](const ClaimFetcher::Fetched& fetched) {
            return claimAnswerOf(fetched, driver);
          });
  return timer_.timeoutAfter(kClaimTakes, kj::mv(answer))
      .catch_([](kj::Exception&&) -> ClaimAnswer {
        return ClaimUnread{"the API server does not answer within 8 s"};
      })
      .then([context](const ClaimAnswer& read) mutable {
        encode(read, context.getResults().initAnswer());
      });
}

kj::Promise<void> ApiService::publish(PublishContext context) {
  auto pool = decode(context.getParams().getPool());
  KJ_REQUIRE(pool.has_value(), "the pool makes no sense", pool.error().c_str());
  // While the API server is away calls come and none is answered: each that plugind gives up for
  // the next one ends, and none keeps its message.
  context.releaseParams();
  context.allowCancellation();
  return pools_->publish(std::move(pool).value()).then([context](KeptFields kept) mutable {
    encode(kept, context.getResults().initKept());
  });
}

kj::Promise<void> ApiService::report(ReportContext context) {
  auto report = decode(context.getParams().getReport());
  KJ_REQUIRE(report.has_value(), "the report makes no sense", report.error().c_str());
  return reporter_.write(std::move(report).value())
      .then([context](const std::string& failure) mutable {
        context.getResults().setFailure(failure.c_str());
      });
}

}  // namespace vfiogate
