#include "netd/dra/api/tls_connector.h"

#include <kj/debug.h>
#include <kj/exception.h>

#include <string_view>
#include <utility>
#include <vector>

namespace vfiogate {
namespace {

constexpr std::size_t kMostCaBytes = std::size_t{1} << 20U;
constexpr std::size_t kMostAuthorities = 256;

/// Each by itself: kj-tls takes a text to be one chain, and trusts its first certificate alone.
std::vector<kj::TlsCertificate> authoritiesIn(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  std::vector<kj::TlsCertificate> found;
  std::size_t at = text.find(kBegin);
  while (at != std::string_view::npos && found.size() < kMostAuthorities) {
    const std::size_t end = text.find(kEnd, at);
    if (end == std::string_view::npos) break;
    const std::string one(text.substr(at, end + kEnd.size() - at));
    found.emplace_back(kj::StringPtr(one.c_str(), one.size()));
    at = text.find(kBegin, end);
  }
  return found;
}

}  // namespace

TlsConnector::TlsConnector(std::string caPath, std::string serverName)
    : ca_(std::move(caPath), kMostCaBytes), serverName_(std::move(serverName)) {}

Result<Done, std::string> TlsConnector::open() {
  auto text = ca_.text();
  if (!text) return Failure{text.error()};
  if (context_.get() != nullptr && text_ == *text) return Done{};
  std::string wrong;
  const auto failure = kj::runCatchingExceptions([&]() {
    const auto authorities = authoritiesIn(*text);
    if (authorities.empty()) {
      wrong = "there is no certificate in it";
      return;
    }
    kj::TlsContext::Options options;
    options.useSystemTrustStore = false;
    options.trustedCertificates = kj::arrayPtr(authorities.data(), authorities.size());
    options.minVersion = kj::TlsVersion::TLS_1_2;
    context_ = kj::refcounted<Context>(kj::mv(options));
    text_ = *text;
  });
  KJ_IF_MAYBE (found, failure) wrong = found->getDescription().cStr();
  if (!wrong.empty()) return Failure{"the certificates cannot be used: " + wrong};
  return Done{};
}

kj::Promise<kj::Own<kj::AsyncIoStream>> TlsConnector::wrap(kj::Own<kj::AsyncIoStream> stream) {
  const auto opened = open();
  KJ_REQUIRE(opened.has_value() || context_.get() != nullptr, opened.error().c_str());
  auto context = kj::addRef(*context_);
  return context->tls.wrapClient(kj::mv(stream), serverName_.c_str())
      .then([context = kj::mv(context)](kj::Own<kj::AsyncIoStream> made) mutable {
        return made.attach(kj::mv(context));
      });
}

}  // namespace vfiogate
