#include "netd/dra/claims/claim_reporter.h"

#include "netd/dra/api/api_client.h"
#include "netd/dra/api/api_retry.h"
#include "netd/dra/claims/claim_json.h"

#include <utility>

namespace vfiogate {
namespace {

constexpr unsigned kMostRounds = 4;
constexpr unsigned kStored = 200;

std::string failureOf(const ApiOutcome& outcome) {
  if (!outcome) return outcome.error().why;
  return outcome->status == kStored ? "" : wordsOf(*outcome);
}

}  // namespace

kj::Promise<std::string> ClaimReporter::write(ClaimReport report, unsigned round) {
  auto read = fetcher_.fetch({report.claimNamespace, report.name});
  return read.then([this, report = std::move(report),
                    round](ClaimFetcher::Fetched fetched) mutable -> kj::Promise<std::string> {
    if (!fetched) return fetched.error();
    if (auto why = failureOf(fetched->outcome); !why.empty()) return why;
    auto body = claimWithReport(fetched->outcome->body, report, clock_());
    if (!body) return body.error();
    if (!*body) return std::string();
    std::string text = **body;
    return put(fetched->path, std::move(text), std::move(report), round);
  });
}

kj::Promise<std::string> ClaimReporter::put(std::string path, std::string body, ClaimReport report,
                                            unsigned round) {
  auto written = client_.ask(ApiMethod::kPut, path + "/status", std::move(body));
  return written.then([this, report = std::move(report),
                       round](ApiOutcome outcome) mutable -> kj::Promise<std::string> {
    const bool anew = hasStatus(outcome, kApiConflict) || hasStatus(outcome, kApiNotFound);
    if (anew && round < kMostRounds) return write(std::move(report), round + 1);
    return failureOf(outcome);
  });
}

}  // namespace vfiogate
