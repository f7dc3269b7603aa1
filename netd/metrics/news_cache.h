#pragma once
// Asks plugind at most once a second, however many want to know.

#include "netd/metrics/netd_counters.h"
#include "netd/metrics/plugind_news.h"

#include <kj/async.h>
#include <kj/timer.h>

#include <memory>
#include <optional>
#include <string>

namespace vfiogate {

class NewsCache {
public:
  using Latest = std::shared_ptr<const PlugindAnswer>;

  /// Borrows all.
  NewsCache(PlugindSource& source, kj::Timer& timer, NetdCounters& counters)
      : source_(source), timer_(timer), counters_(counters) {}

  /// The answer, at most a second old; a failure is kept as long. Whoever comes while plugind is
  /// being asked waits for the same answer.
  kj::Promise<Latest> latest();

private:
  void keep(PlugindAnswer answer);

  PlugindSource& source_;
  kj::Timer& timer_;
  NetdCounters& counters_;
  Latest latest_;
  kj::TimePoint askedAgainFrom_ = kj::origin<kj::TimePoint>();
  std::optional<std::string> told_;  ///< the failure on the log; empty: plugind answers
  bool asking_ = false;
  kj::ForkedPromise<Latest> question_ = nullptr;  ///< the last one; those who wait have a branch
};

}  // namespace vfiogate
