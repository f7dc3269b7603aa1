#include "netd/dra/claim_reporter.h"

#include "netd/dra/api_retry.h"
#include "netd/dra/claim_path.h"
#include "netd/dra/claim_report.h"
#include "netd/dra/status_words.h"

#include <utility>

namespace vfiogate {
namespace {

constexpr unsigned kMostRounds = 4;
constexpr unsigned kStored = 200;
constexpr unsigned kConflict = 409;

std::string failureOf(const ApiOutcome& outcome) {
  if (!outcome) return outcome.error().why;
  return outcome->status == kStored ? "" : wordsOf(*outcome);
}

}  // namespace

kj::Promise<std::string> ClaimReporter::write(ClaimReport report, unsigned round) {
  const auto path = claimPath(report.claimNamespace, report.name);
  if (!path) return std::string("that is no claim's name");
  auto read = client_.ask(ApiMethod::kGet, *path, {});
  return read.then([this, path = *path, report = std::move(report),
                    round](ApiOutcome outcome) mutable -> kj::Promise<std::string> {
    if (auto why = failureOf(outcome); !why.empty()) return why;
    auto body = claimWithReport(outcome->body, report, clock_());
    if (!body) return body.error();
    if (!*body) return std::string();
    std::string text = **body;
    return put(std::move(path), std::move(text), std::move(report), round);
  });
}

kj::Promise<std::string> ClaimReporter::put(std::string path, std::string body, ClaimReport report,
                                            unsigned round) {
  auto written = client_.ask(ApiMethod::kPut, path + "/status", std::move(body));
  return written.then([this, report = std::move(report),
                       round](ApiOutcome outcome) mutable -> kj::Promise<std::string> {
    const bool conflict = outcome && outcome->status == kConflict;
    if (conflict && round < kMostRounds) return write(std::move(report), round + 1);
    return failureOf(outcome);
  });
}

}  // namespace vfiogate
