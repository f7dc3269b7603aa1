#pragma once
// One client's connection: its requests, one after the other.

#include "netd/metrics/client_stream.h"
#include "netd/metrics/netd_counters.h"
#include "netd/metrics/news_cache.h"
#include "netd/metrics/pages.h"

#include <kj/async-io.h>
#include <kj/compat/http.h>
#include <kj/timer.h>

#include <cstdint>

namespace vfiogate {

/// What visits know of each other.
struct HttpBook {
  std::uint64_t progress = 0;  ///< counts up with each progress of any visit
  kj::TimePoint failureTold = kj::origin<kj::TimePoint>();  ///< on the log
};

/// What all visits share; borrowed from whoever made them.
struct HttpDeps {
  NewsCache& news;
  NetdCounters& counters;
  kj::Timer& timer;
  const kj::HttpHeaderTable& headers;
  HttpBook& book;
};

/// Limits: 5 s from the first byte of a request's head to its last (and from the connection to the
/// end of the first) and 16 KiB for it, 30 s without a request, no body, 10 s for the client to
/// take an answer. The next request is not looked at before the answer is written.
class HttpVisit final : private kj::HttpService, private kj::HttpServerErrorHandler {
public:
  HttpVisit(const HttpDeps& deps, kj::Own<kj::AsyncIoStream> stream);
  KJ_DISALLOW_COPY(HttpVisit);

  /// Serves until the client leaves, breaks a limit, or is displaced. Never fails. Drop it before
  /// the visit. Call once.
  kj::Promise<void> serve();

  /// Ends it; serve() resolves soon.
  void displace();
  bool isLeaving() const { return leaving_; }
  /// When it last came forward: was opened, sent a whole head, got its answer. Bytes alone do not
  /// count. Greater is later, over all visits.
  std::uint64_t lastProgress() const { return lastProgress_; }

private:
  kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url,
                            const kj::HttpHeaders& headers, kj::AsyncInputStream& body,
                            Response& response) override;
  kj::Promise<void> handleClientProtocolError(kj::HttpHeaders::ProtocolError error,
                                              Response& response) override;
  kj::Promise<void> handleApplicationError(kj::Exception failure,
                                           kj::Maybe<Response&> response) override;
  kj::Promise<void> send(Place place, Page page, Response& response);
  void progress() { lastProgress_ = ++deps_.book.progress; }

  const HttpDeps deps_;
  ClientStream stream_;
  kj::PromiseFulfillerPair<void> displaced_ = kj::newPromiseAndFulfiller<void>();
  bool leaving_ = false;
  std::uint64_t lastProgress_ = 0;
  kj::HttpServer server_;
  kj::Promise<void> drained_ = nullptr;  ///< the client asked for the end after its answer
};

}  // namespace vfiogate
