#pragma once
// Our client before a server of another make, which misbehaves on order. Time is the test's.

#include "netd/dra/api/api_address.h"
#include "netd/dra/api/kj_api_client.h"
#include "sim/base/temp_dir.h"
#include "tests/support/played/api_server.h"
#include "tests/support/test_certificates.h"

#include <gmock/gmock.h>
#include <kj/async-io.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace vfiogate::test {

class KjApiClientTest : public testing::Test {
public:
  // KJ's destructors may throw; a test's may not.
  ~KjApiClientTest() noexcept override = default;

protected:
  using Outcome = Result<ApiAnswer, ApiFailure>;
  static constexpr const char* kNode = "/api/v1/nodes/node-1";
  inline static const std::string kClaims =
      "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

  void SetUp() override {
    certificates_ = makeCertificates(dir_.path() / "pki");
    replace("token", "one");
    replace("ca", textOf(certificates_.ca));
    // The server's tokens are files of their own.
    std::ofstream(dir_ / "known-1") << "one";
    std::ofstream(dir_ / "known-2") << "two";
  }

  static std::string textOf(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// As a projected volume does it: another file has the name.
  void replace(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / "new") << text;
    std::filesystem::rename(dir_ / "new", dir_ / name);
  }

  void startServer() {
    server_ = std::make_unique<ApiServer>(ApiServerOptions{
        certificates_.certificate, certificates_.key, {dir_ / "known-1", dir_ / "known-2"}});
  }
  void dial(const std::string& serverName = "kubernetes.default.svc") {
    const auto url = ApiUrl::parse(server_->url());
    listener_ = std::make_unique<TlsConnector>(dir_ / "ca", serverName);
    const auto opened = listener_->open();
    ASSERT_TRUE(opened) << opened.error();
    token_ = std::make_unique<WatchedFile>(dir_ / "token", 4096);
    address_ = std::make_unique<ApiAddress>(*io_.lowLevelProvider, *resolveApi(*url), *listener_);
    client_ = std::make_unique<KjApiClient>(
        KjApiClient::Deps{timer_, *address_, url->authority(), *token_});
  }
  void start() {
    startServer();
    dial();
  }

  Outcome get(const std::string& path = kNode) {
    return client_->ask(ApiMethod::kGet, path, {}).wait(io_.waitScope);
  }
  static std::string whyOf(const Outcome& outcome) {
    return outcome ? "answers " + std::to_string(outcome->status) : outcome.error().why;
  }
  void order(nlohmann::json what) {
    what["match"] = "GET /api";
    server_->control({{"fail", nlohmann::json::array({std::move(what)})}});
  }
  /// Lets `asking` go on, while the test's time passes quickly, until it has ended.
  Outcome whileTimePasses(kj::Promise<Outcome> asking) {
    std::unique_ptr<Outcome> got;
    auto going =
        asking
            .then([&got](Outcome outcome) { got = std::make_unique<Outcome>(std::move(outcome)); })
            .eagerlyEvaluate(nullptr);
    while (!got) {
      io_.provider->getTimer().afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
      timer_.advanceTo(timer_.now() + 20 * kj::MILLISECONDS);
    }
    return *got;
  }

  TempDir dir_;
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
  TestCertificates certificates_;
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<TlsConnector> listener_;
  std::unique_ptr<WatchedFile> token_;
  std::unique_ptr<ApiAddress> address_;
  std::unique_ptr<KjApiClient> client_;
};

}  // namespace vfiogate::test
