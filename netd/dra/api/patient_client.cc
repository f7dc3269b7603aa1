#include "netd/dra/api/patient_client.h"

#include "netd/base/log_line.h"
#include "netd/dra/api/api_client.h"

#include <utility>

namespace vfiogate {
namespace {

constexpr unsigned kUnauthorized = 401;
constexpr unsigned kForbidden = 403;

}  // namespace

kj::Promise<ApiOutcome> PatientClient::ask(ApiMethod method, const std::string& path,
                                           std::string body) {
  return tryIt(method, path, std::move(body), 1);
}

kj::Promise<ApiOutcome> PatientClient::watch(const std::string& path,
                                             kj::Function<void(const std::string&)> line) {
  return once_.watch(path, kj::mv(line)).then([this](ApiOutcome outcome) {
    tell(outcome);
    return outcome;
  });
}

kj::Promise<ApiOutcome> PatientClient::tryIt(ApiMethod method, std::string path, std::string body,
                                             unsigned tries) {
  auto asked = once_.ask(method, path, body);
  return asked.then([this, method, path = std::move(path), body = std::move(body),
                     tries](ApiOutcome outcome) mutable -> kj::Promise<ApiOutcome> {
    tell(outcome);
    const auto wait = waitBeforeRetry(outcome, tries, draw_());
    if (!wait) return outcome;
    return timer_.afterDelay(*wait).then(
        [this, method, path = std::move(path), body = std::move(body), tries]() mutable {
          return tryIt(method, std::move(path), std::move(body), tries + 1);
        });
  });
}

void PatientClient::tell(const ApiOutcome& outcome) {
  const bool refused =
      outcome && (outcome->status == kUnauthorized || outcome->status == kForbidden);
  if (refused) {
    const std::string why = wordsOf(*outcome);
    if (why != toldRefused_) netdLog(NetdEvent::kApiRefuses, {{"why", why}});
    toldRefused_ = why;
  }
  // What is retried at all is what an outage looks like.
  const bool away = waitBeforeRetry(outcome, 1, 0).has_value();
  if (!away) {
    if (!toldAway_.empty()) netdLog(NetdEvent::kApiBack);
    toldAway_.clear();
    return;
  }
  const std::string why = outcome ? wordsOf(*outcome) : outcome.error().why;
  if (why != toldAway_) netdLog(NetdEvent::kApiAway, {{"why", why}});
  toldAway_ = why;
}

}  // namespace vfiogate
