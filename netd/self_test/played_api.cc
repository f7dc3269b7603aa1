#include "netd/self_test/played_api.h"

#include "ipc/socket/stream_flags.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>

namespace vfiogate {
namespace {

constexpr long kValidSeconds = 3600;
constexpr const char* kNothing = "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}";

template <typename T>
using Freed = std::unique_ptr<T, void (*)(T*)>;

void require(bool done) {
  if (!done) throw std::runtime_error("OpenSSL makes no certificate");
}

void extend(X509* certificate, int what, const std::string& value) {
  const Freed<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, nullptr, what, value.c_str()),
                                        &X509_EXTENSION_free);
  require(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1);
}

template <typename Write>
std::string pemOf(Write write) {
  const Freed<BIO> memory(BIO_new(BIO_s_mem()), [](BIO* freed) { BIO_free(freed); });
  require(memory != nullptr && write(memory.get()) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

kj::TlsContext::Options serving(kj::TlsKeypair& shown) {
  kj::TlsContext::Options options;
  options.useSystemTrustStore = false;
  options.defaultKeypair = shown;
  return options;
}

}  // namespace

ThrowawayCertificate makeCertificate(const std::string& serverName) {
  const Freed<EVP_PKEY> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const Freed<X509> made(X509_new(), &X509_free);
  require(key != nullptr && made != nullptr && X509_set_version(made.get(), 2) == 1);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -kValidSeconds);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), kValidSeconds);
  X509_NAME* const name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("self-test"), -1, -1, 0);
  require(X509_set_issuer_name(made.get(), name) == 1 &&
          X509_set_pubkey(made.get(), key.get()) == 1);
  extend(made.get(), NID_basic_constraints, "critical,CA:TRUE");
  extend(made.get(), NID_subject_alt_name, "DNS:" + serverName);
  require(X509_sign(made.get(), key.get(), EVP_sha256()) > 0);
  return {pemOf([&key](BIO* to) {
            return PEM_write_bio_PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          }),
          pemOf([&made](BIO* to) { return PEM_write_bio_X509(to, made.get()); })};
}

PlayedApi::PlayedApi(kj::AsyncIoContext& io, kj::AutoCloseFd listener,
                     const ThrowawayCertificate& shown)
    : pair_{kj::TlsPrivateKey(shown.key.c_str()), kj::TlsCertificate(shown.certificate.c_str())},
      tls_(serving(pair_)),
      listener_(
          tls_.wrapPort(io.lowLevelProvider->wrapListenSocketFd(kj::mv(listener), kStreamFlags))),
      server_(io.provider->getTimer(), *table_, *this),
      serving_(server_.listenHttp(*listener_).eagerlyEvaluate(nullptr)) {}

PlayedApi::~PlayedApi() noexcept(false) = default;

kj::Promise<void> PlayedApi::request(kj::HttpMethod /*method*/, kj::StringPtr /*url*/,
                                     const kj::HttpHeaders& /*headers*/, kj::AsyncInputStream& body,
                                     Response& response) {
  ++requests_;
  return body.readAllBytes().then([this, &response](const kj::Array<kj::byte>&) {
    kj::HttpHeaders headers(*table_);
    headers.set(kj::HttpHeaderId::CONTENT_TYPE, "application/json");
    const kj::StringPtr text = kNothing;
    auto stream = response.send(404, "Not Found", headers, text.size());
    auto written = stream->write(text.begin(), text.size());
    return written.attach(kj::mv(stream));
  });
}

}  // namespace vfiogate
