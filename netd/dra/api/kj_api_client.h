#pragma once
// The API server over kj-http.

#include "netd/dra/api/api_client.h"
#include "netd/dra/api/watched_file.h"

#include <kj/async-io.h>
#include <kj/compat/http.h>
#include <kj/timer.h>

#include <array>
#include <string>

namespace vfiogate {

/// Whatever comes from the network ends in an answer or a failure: a try takes at most 10 s, a body
/// has at most 4 MiB, a head what kj-http takes (128 KiB), a line of a watch 1 MiB. A watch on
/// which nothing comes for 10 minutes is broken off: ask the server to end it before.
class KjApiClient final : public ApiClient {
public:
  struct Deps {
    kj::Timer& timer;
    kj::NetworkAddress& server;
    std::string authority;          ///< what requests say as Host
    kj::Maybe<WatchedFile&> token;  ///< null: none is sent
  };
  /// Borrows what the deps refer to.
  explicit KjApiClient(Deps deps);

  kj::Promise<Result<ApiAnswer, ApiFailure>> ask(ApiMethod method, const std::string& path,
                                                 std::string body) override;
  kj::Promise<Result<ApiAnswer, ApiFailure>> watch(
      const std::string& path, kj::Function<void(const std::string&)> line) override;

private:
  using Outcome = Result<ApiAnswer, ApiFailure>;
  using Response = kj::HttpClient::Response;

  struct HeaderIds {
    kj::HttpHeaderId accept;
    kj::HttpHeaderId authorization;
    kj::HttpHeaderId retryAfter;
    kj::HttpHeaderId userAgent;
  };

  kj::HttpHeaders headersFor(ApiMethod method);
  /// Puts a word for each token that was sent last and before: what a server says back is told on,
  /// in errors and on the log.
  void concealTokens(std::string& text) const;
  Outcome failureOf(const kj::Exception& failure) const;
  kj::Promise<Response> send(ApiMethod method, const std::string& path, std::string body);
  kj::Promise<Outcome> answerOf(Response response);
  kj::Promise<Outcome> linesOf(Response response, kj::Function<void(const std::string&)> line);

  Deps deps_;
  std::array<std::string, 2> tokens_;  ///< sent last, and before that
  HeaderIds ids_;
  kj::Own<kj::HttpHeaderTable> table_;
  kj::Own<kj::HttpClient> http_;
};

}  // namespace vfiogate
