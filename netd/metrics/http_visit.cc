#include "netd/metrics/http_visit.h"

#include "netd/base/log_line.h"

#include <strings.h>

#include <utility>

namespace vfiogate {
namespace {

constexpr auto kHeadPatience = 5 * kj::SECONDS;
constexpr auto kIdlePatience = 30 * kj::SECONDS;
/// Between two log lines that a client can cause.
constexpr auto kTellingPause = 1 * kj::SECONDS;
constexpr ClientStream::Limits kLimits{.patience = 10 * kj::SECONDS,
                                       .mostHead = std::size_t{16} * 1024};

kj::HttpServerSettings settingsWith(kj::HttpServerErrorHandler& errors) {
  kj::HttpServerSettings settings;
  settings.headerTimeout = kHeadPatience;
  settings.pipelineTimeout = kIdlePatience;
  // A body that was sent all the same is not read: the connection ends.
  settings.canceledUploadGracePeriod = 0 * kj::SECONDS;
  settings.canceledUploadGraceBytes = 0;
  settings.errorHandler = errors;
  return settings;
}

bool isEmpty(kj::AsyncInputStream& body) {
  KJ_IF_MAYBE (length, body.tryGetLength()) {
    return *length == 0;
  }
  return false;
}

bool asksToClose(const kj::HttpHeaders& headers) {
  KJ_IF_MAYBE (wish, headers.get(kj::HttpHeaderId::CONNECTION)) {
    return strcasecmp(wish->cStr(), "close") == 0;
  }
  return false;
}

}  // namespace

HttpVisit::HttpVisit(const HttpDeps& deps, kj::Own<kj::AsyncIoStream> stream)
    : deps_(deps),
      stream_(kj::mv(stream), deps.timer, kLimits),
      server_(deps.timer, deps.headers, *this, settingsWith(*this)) {
  progress();
}

kj::Promise<void> HttpVisit::serve() {
  return server_.listenHttpCleanDrain(stream_)
      .ignoreResult()
      .exclusiveJoin(kj::mv(displaced_.promise))
      .catch_([](kj::Exception&& /*failure*/) {});  // of this connection only, which ends with it
}

void HttpVisit::displace() {
  leaving_ = true;
  displaced_.fulfiller->fulfill();
}

kj::Promise<void> HttpVisit::request(kj::HttpMethod method, kj::StringPtr url,
                                     const kj::HttpHeaders& headers, kj::AsyncInputStream& body,
                                     Response& response) {
  progress();
  stream_.headDone();
  if (asksToClose(headers)) drained_ = server_.drain();
  const bool reads = method == kj::HttpMethod::GET || method == kj::HttpMethod::HEAD;
  const Place place = placeOf({url.begin(), url.size()});
  auto refusal = refusalOf({place, reads, !isEmpty(body)});
  if (refusal) return send(place, *std::move(refusal), response);
  // Later: whoever has a thousand requests ready takes its turn after everybody else.
  return kj::evalLater([this]() { return deps_.news.latest(); })
      .then([this, place, &response](const NewsCache::Latest& answer) {
        const std::string own = place == Place::kMetrics ? deps_.counters.text() : "";
        return send(place, pageFor(place, *answer, own), response);
      });
}

kj::Promise<void> HttpVisit::send(Place place, Page page, Response& response) {
  deps_.counters.answered(nameOf(place), page.code);
  kj::HttpHeaders headers(deps_.headers);
  headers.set(kj::HttpHeaderId::CONTENT_TYPE, page.type);
  if (page.code == 405) headers.add("Allow", "GET, HEAD");
  auto out = response.send(page.code, page.reason, headers, page.body.size());
  auto body = kj::heap(std::move(page.body));
  auto written = out->write(body->data(), body->size());
  return written.attach(kj::mv(out), kj::mv(body)).then([this]() { progress(); });
}

kj::Promise<void> HttpVisit::handleClientProtocolError(kj::HttpHeaders::ProtocolError error,
                                                       Response& response) {
  return send(Place::kElsewhere, pageOf(error.statusCode, error.statusMessage.cStr()), response);
}

kj::Promise<void> HttpVisit::handleApplicationError(kj::Exception failure,
                                                    kj::Maybe<Response&> response) {
  if (failure.getType() == kj::Exception::Type::DISCONNECTED) return kj::READY_NOW;
  if (failure.getType() == kj::Exception::Type::OVERLOADED) return kj::READY_NOW;  // does not read
  // Strangers cause it, too, such as with a head that is too large.
  deps_.counters.connectionBroken();
  if (deps_.timer.now() - deps_.book.failureTold >= kTellingPause) {
    deps_.book.failureTold = deps_.timer.now();
    netdLog(NetdEvent::kTaskFailed, {{"why", failure.getDescription().cStr()}});
  }
  KJ_IF_MAYBE (open, response) {
    return send(Place::kElsewhere, pageOf(500, "Internal Server Error"), *open);
  }
  return kj::READY_NOW;
}

}  // namespace vfiogate
