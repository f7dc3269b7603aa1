#include "netd/dra/api/api_retry.h"

#include "ipc/base/backoff.h"

namespace vfiogate {
namespace {

constexpr unsigned kTooManyRequests = 429;
constexpr unsigned kNotImplemented = 501;

bool isPassing(const ApiOutcome& outcome) {
  if (!outcome) return true;
  if (outcome->status == kTooManyRequests) return true;
  return outcome->status >= 500 && outcome->status <= 599 && outcome->status != kNotImplemented;
}

}  // namespace

bool isGood(const ApiOutcome& outcome) {
  return outcome && outcome->status >= 200 && outcome->status <= 299;
}

bool hasStatus(const ApiOutcome& outcome, unsigned status) {
  return outcome && outcome->status == status;
}

std::optional<kj::Duration> waitBeforeRetry(const ApiOutcome& outcome, unsigned tries,
                                            double unit) {
  if (tries >= kMostApiTries || !isPassing(outcome)) return std::nullopt;
  kj::Duration asked = 0 * kj::SECONDS;
  if (outcome && outcome->retryAfter) asked = *outcome->retryAfter;
  if (asked > kMostRetryAfter) return std::nullopt;
  return asked +
         within(0 * kj::SECONDS, doubled(kFirstApiBackoff, tries - 1, kMostApiBackoff), unit);
}

}  // namespace vfiogate
