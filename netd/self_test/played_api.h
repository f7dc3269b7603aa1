#pragma once
// The Kubernetes API as netd's self-test plays it: it has nothing.

#include <kj/async-io.h>
#include <kj/compat/http.h>
#include <kj/compat/tls.h>
#include <kj/io.h>

#include <string>

namespace vfiogate {

/// A key and a certificate that is signed by itself, in PEM.
struct ThrowawayCertificate {
  std::string key;
  std::string certificate;
};

/// For a server of this DNS name, for an hour. Throws std::runtime_error.
ThrowawayCertificate makeCertificate(const std::string& serverName);

/// Serves over TLS for as long as it lives: each request is answered with 404.
class PlayedApi final : private kj::HttpService {
public:
  /// `listener` listens. Borrows `io`.
  PlayedApi(kj::AsyncIoContext& io, kj::AutoCloseFd listener, const ThrowawayCertificate& shown);
  ~PlayedApi() noexcept(false);
  KJ_DISALLOW_COPY(PlayedApi);

  /// How many requests came.
  unsigned requests() const { return requests_; }

private:
  kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url,
                            const kj::HttpHeaders& headers, kj::AsyncInputStream& body,
                            Response& response) override;

  unsigned requests_ = 0;
  kj::Own<kj::HttpHeaderTable> table_ = kj::HttpHeaderTable::Builder().build();
  kj::TlsKeypair pair_;
  kj::TlsContext tls_;
  kj::Own<kj::ConnectionReceiver> listener_;
  kj::HttpServer server_;
  kj::Promise<void> serving_;
};

}  // namespace vfiogate
