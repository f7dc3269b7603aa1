#pragma once
// What an answer of the API server was, and which are worth another try, and when. Pure.

#include "netd/dra/api/api_client.h"

#include <kj/time.h>

#include <optional>

namespace vfiogate {

using ApiOutcome = Result<ApiAnswer, ApiFailure>;

constexpr unsigned kApiNotFound = 404;
constexpr unsigned kApiConflict = 409;

/// An answer with a status of 200 to 299.
bool isGood(const ApiOutcome& outcome);
bool hasStatus(const ApiOutcome& outcome, unsigned status);

/// Tries of one request, the first included.
constexpr unsigned kMostApiTries = 5;
/// The longest wait before the second try; doubled for each that follows.
constexpr kj::Duration kFirstApiBackoff = 250 * kj::MILLISECONDS;
constexpr kj::Duration kMostApiBackoff = 10 * kj::SECONDS;
/// A server that asks for more is taken to say no.
constexpr kj::Duration kMostRetryAfter = 60 * kj::SECONDS;

/// How long to wait before the next try, after `tries` of them. Absent: the outcome stands; a
/// conflict, a refusal and a good answer do. `unit` is random, in [0, 1): full jitter, since
/// thousands of nodes meet the same outage; on top of what the server asks for, too.
std::optional<kj::Duration> waitBeforeRetry(const ApiOutcome& outcome, unsigned tries, double unit);

}  // namespace vfiogate
