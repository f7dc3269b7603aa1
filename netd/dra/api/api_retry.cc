#include "netd/dra/api/api_retry.h"

#include <algorithm>
#include <cstdint>

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

kj::Duration within(kj::Duration least, kj::Duration most, double unit) {
  const auto span = static_cast<double>((most - least) / kj::NANOSECONDS);
  return least + static_cast<std::int64_t>(span * unit) * kj::NANOSECONDS;
}

kj::Duration doubled(kj::Duration first, unsigned times, kj::Duration most) {
  constexpr unsigned kMostDoublings = 16;
  return std::min(first * (std::int64_t{1} << std::min(times, kMostDoublings)), most);
}

kj::Duration backoffAfter(unsigned failures, kj::Duration first, kj::Duration most, double unit) {
  const auto whole = doubled(first, std::max(failures, 1U) - 1, most);
  return within(whole / 2, whole, unit);
}

}  // namespace vfiogate
