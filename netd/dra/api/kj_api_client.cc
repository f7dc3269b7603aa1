#include "netd/dra/api/kj_api_client.h"

#include "ipc/base/hex.h"
#include "netd/dra/api/line_splitter.h"

#include <kj/debug.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace vfiogate {
namespace {

constexpr std::uint64_t kMostBody = std::uint64_t{4} << 20U;
constexpr std::size_t kMostLine = std::size_t{1} << 20U;
constexpr std::size_t kPiece = std::size_t{16} << 10U;
constexpr auto kTryTakes = 10 * kj::SECONDS;
constexpr auto kWatchIdle = 10 * kj::MINUTES;
constexpr unsigned kOk = 200;
constexpr std::size_t kMostWhy = 300;
/// What is shorter is no account's token, and may stand in any text.
constexpr std::size_t kShortestSecret = 16;

kj::HttpMethod methodOf(ApiMethod method) {
  switch (method) {
    case ApiMethod::kGet:
      return kj::HttpMethod::GET;
    case ApiMethod::kPost:
      return kj::HttpMethod::POST;
    case ApiMethod::kPut:
      return kj::HttpMethod::PUT;
    case ApiMethod::kPatch:
      return kj::HttpMethod::PATCH;
    case ApiMethod::kDelete:
      return kj::HttpMethod::DELETE;
  }
  KJ_UNREACHABLE;
}

bool isPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

std::optional<kj::Duration> secondsIn(kj::StringPtr text) {
  // In the other form, a date, no API server says it.
  const auto number = parseDecimal({text.begin(), text.size()});
  if (!number || *number > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(*number) * kj::SECONDS;
}

void appendBounded(std::string& body, std::string_view piece) {
  KJ_REQUIRE(body.size() + piece.size() <= kMostBody, "the answer is larger than 4 MiB");
  body.append(piece);
}

void demandBoundedLine(bool fed) {
  KJ_REQUIRE(fed, "a line of the watch is longer than 1 MiB");
}

/// Reads on until `take` has enough or the stream ends.
class PieceReader {
public:
  PieceReader(kj::Own<kj::AsyncInputStream> stream, kj::Function<void(std::string_view)> take)
      : stream_(kj::mv(stream)), take_(kj::mv(take)) {}

  kj::Promise<void> readAll() {
    return stream_->tryRead(piece_.begin(), 1, piece_.size())
        .then([this](std::size_t size) -> kj::Promise<void> {
          if (size == 0) return kj::READY_NOW;
          take_({piece_.begin(), size});
          return readAll();
        });
  }

  /// The same, but fails where nothing comes for `patience`.
  kj::Promise<void> readAll(kj::Timer& timer, kj::Duration patience) {
    return timer.timeoutAfter(patience, stream_->tryRead(piece_.begin(), 1, piece_.size()))
        .then([this, &timer, patience](std::size_t size) -> kj::Promise<void> {
          if (size == 0) return kj::READY_NOW;
          take_({piece_.begin(), size});
          return readAll(timer, patience);
        });
  }

private:
  kj::Own<kj::AsyncInputStream> stream_;
  kj::Function<void(std::string_view)> take_;
  kj::Array<char> piece_ = kj::heapArray<char>(kPiece);
};

}  // namespace

KjApiClient::KjApiClient(Deps deps) : deps_(kj::mv(deps)) {
  kj::HttpHeaderTable::Builder table;
  ids_ = {table.add("Accept"), table.add("Authorization"), table.add("Retry-After"),
          table.add("User-Agent")};
  table_ = table.build();
  http_ = kj::newHttpClient(deps_.timer, *table_, deps_.server);
}

kj::HttpHeaders KjApiClient::headersFor(ApiMethod method) {
  kj::HttpHeaders headers(*table_);
  headers.set(kj::HttpHeaderId::HOST, kj::str(deps_.authority.c_str()));
  headers.set(ids_.userAgent, "vfiogate-netd/" VFIOGATE_VERSION);
  headers.set(ids_.accept, "application/json");
  if (method == ApiMethod::kPatch) {
    headers.set(kj::HttpHeaderId::CONTENT_TYPE, "application/merge-patch+json");
  } else if (method != ApiMethod::kGet) {
    headers.set(kj::HttpHeaderId::CONTENT_TYPE, "application/json");
  }
  KJ_IF_MAYBE (file, deps_.token) {
    const auto read = file->text();
    KJ_REQUIRE(read.has_value(), "there is no token", read.error().c_str());
    std::string token = *read;
    while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
    KJ_REQUIRE(!token.empty() && isPrintable(token), "what the token's file says is no token");
    headers.set(ids_.authorization, kj::str("Bearer ", token.c_str()));
    if (token != tokens_[0]) tokens_ = {token, tokens_[0]};
  }
  return headers;
}

KjApiClient::Outcome KjApiClient::failureOf(const kj::Exception& failure) const {
  if (failure.getType() == kj::Exception::Type::OVERLOADED) {
    return Failure{ApiFailure{"no whole answer in time"}};
  }
  std::string why = failure.getDescription().cStr();
  concealTokens(why);
  return Failure{ApiFailure{why.substr(0, kMostWhy)}};
}

void KjApiClient::concealTokens(std::string& text) const {
  for (const std::string& token : tokens_) {
    if (token.size() < kShortestSecret) continue;
    for (std::size_t at = text.find(token); at != std::string::npos; at = text.find(token, at)) {
      text.replace(at, token.size(), "[token]");
    }
  }
}

kj::Promise<KjApiClient::Response> KjApiClient::send(ApiMethod method, const std::string& path,
                                                     std::string body) {
  KJ_REQUIRE(path.starts_with('/') && isPrintable(path), "this is no path", path.c_str());
  auto request = http_->request(methodOf(method), path.c_str(), headersFor(method), body.size());
  if (body.empty()) return kj::mv(request.response);
  auto text = kj::heap(std::move(body));
  auto written = request.body->write(text->data(), text->size());
  return written.then([stream = kj::mv(request.body), text = kj::mv(text),
                       response = kj::mv(request.response)]() mutable {
    stream = nullptr;  // its end is the request's
    return kj::mv(response);
  });
}

kj::Promise<KjApiClient::Outcome> KjApiClient::answerOf(Response response) {
  auto answer = kj::heap<ApiAnswer>();
  answer->status = response.statusCode;
  KJ_IF_MAYBE (text, response.headers->get(ids_.retryAfter)) answer->retryAfter = secondsIn(*text);
  KJ_IF_MAYBE (length, response.body->tryGetLength()) {
    KJ_REQUIRE(*length <= kMostBody, "the answer is larger than 4 MiB");
  }
  auto reader = kj::heap<PieceReader>(
      kj::mv(response.body),
      [&body = answer->body](std::string_view piece) { appendBounded(body, piece); });
  auto read = reader->readAll();
  return read.attach(kj::mv(reader)).then([this, answer = kj::mv(answer)]() mutable {
    concealTokens(answer->body);
    return Outcome(std::move(*answer));
  });
}

kj::Promise<KjApiClient::Outcome> KjApiClient::linesOf(
    Response response, kj::Function<void(const std::string&)> line) {
  auto reader = kj::heap<PieceReader>(
      kj::mv(response.body),
      [splitter = LineSplitter(kMostLine),
       line = kj::Function<void(const std::string&)>(
           [this, line = kj::mv(line)](std::string said) mutable {
             concealTokens(said);
             line(said);
           })](std::string_view piece) mutable { demandBoundedLine(splitter.feed(piece, line)); });
  auto read = reader->readAll(deps_.timer, kWatchIdle);
  return read.attach(kj::mv(reader)).then([]() { return Outcome(ApiAnswer{kOk, ""}); });
}

kj::Promise<Result<ApiAnswer, ApiFailure>> KjApiClient::ask(ApiMethod method,
                                                            const std::string& path,
                                                            std::string body) {
  auto tried = kj::evalNow([&]() {
    return send(method, path, std::move(body)).then([this](Response response) {
      return answerOf(kj::mv(response));
    });
  });
  return deps_.timer.timeoutAfter(kTryTakes, kj::mv(tried)).catch_([this](kj::Exception&& failure) {
    return failureOf(failure);
  });
}

kj::Promise<Result<ApiAnswer, ApiFailure>> KjApiClient::watch(
    const std::string& path, kj::Function<void(const std::string&)> line) {
  auto head = kj::evalNow([&]() { return send(ApiMethod::kGet, path, {}); });
  return deps_.timer.timeoutAfter(kTryTakes, kj::mv(head))
      .then([this, line = kj::mv(line)](Response response) mutable -> kj::Promise<Outcome> {
        if (response.statusCode == kOk) return linesOf(kj::mv(response), kj::mv(line));
        return deps_.timer.timeoutAfter(kTryTakes, answerOf(kj::mv(response)));
      })
      .catch_([this](kj::Exception&& failure) { return failureOf(failure); });
}

}  // namespace vfiogate
