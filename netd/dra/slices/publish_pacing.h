#pragma once
// How fast a node's slices are published, so that thousands of nodes at once do the API server no
// harm. docs/scale.md has been computed from these numbers, and a test compares. Pure.

#include "ipc/base/backoff.h"

#include <kj/time.h>

namespace vfiogate {

/// The first request of a publisher comes within this time, and the next of one that lost its
/// server: a rollout, or that server's restart, concerns many at once.
constexpr kj::Duration kStartSpread = 10 * kj::SECONDS;

/// After a change by others: so long is waited for the rest of it. The kubelet, which deletes a
/// node's slices one by one, is done by then.
constexpr kj::Duration kSettleLeast = 1 * kj::SECONDS;
constexpr kj::Duration kSettleMost = 5 * kj::SECONDS;
/// Whoever undoes what we write is not answered at once for ever: the time doubles with each
/// repair, until there has been none for a while.
constexpr kj::Duration kSettleCap = 120 * kj::SECONDS;
constexpr kj::Duration kSettleForgotten = 600 * kj::SECONDS;

/// After a request that failed: doubled each time, on top of what the server asks for. A
/// publisher's client tries once: tries within tries would keep a server busy with refusals.
constexpr kj::Duration kPublishBackoff = 1 * kj::SECONDS;
constexpr kj::Duration kMostPublishBackoff = 60 * kj::SECONDS;

/// A watch is asked for that long, then again from where it ended.
constexpr kj::Duration kWatchLeast = 300 * kj::SECONDS;
constexpr kj::Duration kWatchMost = 600 * kj::SECONDS;

/// Of each, `unit` is random, in [0, 1).
inline kj::Duration startDelay(double unit) {
  return within(0 * kj::SECONDS, kStartSpread, unit);
}
/// `repairs`: how often lately.
inline kj::Duration settleTime(unsigned repairs, double unit) {
  return doubled(within(kSettleLeast, kSettleMost, unit), repairs, kSettleCap);
}
/// After `failures` in a row, at least one: between half and all of what it has doubled to.
inline kj::Duration publishBackoff(unsigned failures, double unit) {
  return backoffAfter<kj::Duration>(failures, {kPublishBackoff, kMostPublishBackoff}, unit);
}
inline kj::Duration watchTime(double unit) {
  return within(kWatchLeast, kWatchMost, unit);
}

}  // namespace vfiogate
