#pragma once
// Takes connections on the one listener, and never holds more than it may.

#include "netd/metrics/http_visit.h"

#include <kj/async-unix.h>
#include <kj/io.h>

#include <cstdint>
#include <map>

namespace vfiogate {

/// At most 64 visits at a time. A newcomer beyond that takes the place of the one that came
/// forward least recently: whoever opens connections and says nothing pushes out its own, and a
/// scrape gets through. The loop's thread only.
class HttpListener final : private kj::TaskSet::ErrorHandler {
public:
  struct Deps {
    kj::UnixEventPort& port;
    kj::LowLevelAsyncIoProvider& streams;
    kj::Timer& timer;
    NewsCache& news;
    NetdCounters& counters;
  };

  /// Borrows the deps.
  HttpListener(kj::AutoCloseFd listener, const Deps& deps);
  KJ_DISALLOW_COPY(HttpListener);

  /// Takes connections for as long as the promise is kept.
  kj::Promise<void> run();

private:
  kj::Promise<void> takeSome();
  void admit(kj::AutoCloseFd connection);
  void makeRoom();
  void taskFailed(kj::Exception&& exception) override;

  kj::AutoCloseFd listener_;
  const Deps deps_;
  const kj::HttpHeaderTable headers_;
  kj::UnixEventPort::FdObserver readable_;
  HttpBook book_;
  bool starved_ = false;  ///< of descriptors; told once, until all who wait were taken
  std::uint64_t lastId_ = 0;
  std::map<std::uint64_t, kj::Own<HttpVisit>> visits_;
  kj::TaskSet tasks_;
};

}  // namespace vfiogate
