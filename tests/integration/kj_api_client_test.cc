// Our client against a server of another make, which misbehaves on order. Time is the test's.

#include "netd/dra/kj_api_client.h"
#include "netd/dra/api_address.h"
#include "tests/support/api_server.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificates.h"

#include <gmock/gmock.h>
#include <kj/async-io.h>

#include <filesystem>
#include <fstream>
#include <memory>

namespace vfiogate::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using Outcome = Result<ApiAnswer, ApiFailure>;

constexpr const char* kNode = "/api/v1/nodes/node-1";

class KjApiClientTest : public testing::Test {
public:
  // KJ's destructors may throw; a test's may not.
  ~KjApiClientTest() noexcept override = default;

protected:
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
    door_ = std::make_unique<TlsDoor>(dir_ / "ca", serverName);
    const auto opened = door_->open();
    ASSERT_TRUE(opened) << opened.error();
    token_ = std::make_unique<WatchedFile>(dir_ / "token", 4096);
    address_ = std::make_unique<ApiAddress>(*io_.lowLevelProvider, *resolveApi(*url), *door_);
    client_ = std::make_unique<KjApiClient>(
        KjApiClient::Parts{timer_, *address_, url->authority(), *token_});
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
  void order(json what) {
    what["match"] = "GET /api";
    server_->control({{"fail", json::array({std::move(what)})}});
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
  std::unique_ptr<TlsDoor> door_;
  std::unique_ptr<WatchedFile> token_;
  std::unique_ptr<ApiAddress> address_;
  std::unique_ptr<KjApiClient> client_;
};

TEST_F(KjApiClientTest, AsksOverTlsWithItsToken) {
  start();
  const auto outcome = get();
  ASSERT_TRUE(outcome) << outcome.error().why;
  EXPECT_EQ(outcome->status, 200U);
  EXPECT_EQ(json::parse(outcome->body).at("metadata").at("name"), "node-1");
  EXPECT_EQ(server_->journal().back().at("token"), "one");
  EXPECT_THAT(server_->journal().back().at("userAgent"), HasSubstr("vfiogate-netd/"));
}

TEST_F(KjApiClientTest, EachMethodArrivesWithItsBody) {
  start();
  const std::string claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
  const auto ask = [&](ApiMethod method, const std::string& path, const std::string& body) {
    return whyOf(client_->ask(method, path, body).wait(io_.waitScope));
  };
  EXPECT_EQ(ask(ApiMethod::kPost, claims, R"({"metadata":{"name":"c"},"spec":{}})"), "answers 201");
  EXPECT_EQ(ask(ApiMethod::kPatch, claims + "/c", R"({"metadata":{"labels":{"a":"b"}}})"),
            "answers 200");
  json claim = server_->claim("c");
  EXPECT_EQ(claim.at("metadata").at("labels").at("a"), "b");
  claim["metadata"]["labels"]["a"] = "c";
  EXPECT_EQ(ask(ApiMethod::kPut, claims + "/c", claim.dump()), "answers 200");
  EXPECT_EQ(ask(ApiMethod::kDelete, claims + "/c", ""), "answers 200");
  EXPECT_EQ(ask(ApiMethod::kGet, claims + "/c", ""), "answers 404");
}

TEST_F(KjApiClientTest, AServerOfAnotherAuthorityIsToldNothing) {
  startServer();
  const auto others = makeCertificates(dir_.path() / "others");
  replace("ca", textOf(others.ca));
  dial();
  EXPECT_THAT(whyOf(get()), HasSubstr("is not trusted"));
  EXPECT_EQ(server_->asked("GET /api/v1"), 0U);
}

TEST_F(KjApiClientTest, AServerOfAnotherNameIsToldNothing) {
  startServer();
  dial("api.example.com");
  EXPECT_THAT(whyOf(get()), HasSubstr("certificate"));
  EXPECT_EQ(server_->asked("GET /api/v1"), 0U);
}

TEST_F(KjApiClientTest, AuthoritiesAreReadAgainAndEachOfThemCounts) {
  startServer();
  const auto others = makeCertificates(dir_.path() / "others");
  replace("ca", textOf(others.ca));
  dial();
  EXPECT_THAT(whyOf(get()), HasSubstr("is not trusted"));
  replace("ca", "no certificate at all");
  EXPECT_THAT(whyOf(get()), HasSubstr("is not trusted"));
  replace("ca", textOf(others.ca) + textOf(certificates_.ca));
  EXPECT_EQ(whyOf(get()), "answers 200");
}

TEST_F(KjApiClientTest, ATokenIsReadAgainWhenItIsReplaced) {
  start();
  EXPECT_EQ(whyOf(get()), "answers 200");
  replace("token", "two\n");
  EXPECT_EQ(whyOf(get()), "answers 200");
  EXPECT_EQ(server_->journal().back().at("token"), "two");
  replace("token", "unknown");
  EXPECT_EQ(whyOf(get()), "answers 401");
  replace("token", "no token\r\nX-Other: header");
  EXPECT_THAT(whyOf(get()), HasSubstr("no token"));
}

TEST_F(KjApiClientTest, WhatTheServerAsksForIsSeen) {
  start();
  order({{"status", 429}, {"retryAfter", 7}});
  const auto outcome = get();
  ASSERT_TRUE(outcome) << outcome.error().why;
  EXPECT_EQ(outcome->status, 429U);
  EXPECT_EQ(outcome->retryAfter, 7 * kj::SECONDS);
}

TEST_F(KjApiClientTest, ConnectionsThatEndAreFailuresAndTheNextOneWorks) {
  start();
  for (const char* where : {"before", "mid-body"}) {
    order({{"drop", where}});
    EXPECT_FALSE(get()) << where;
    EXPECT_EQ(whyOf(get()), "answers 200") << where;
  }
}

TEST_F(KjApiClientTest, NoHeadCrashesIt) {
  start();
  const std::string long64k(70'000, 'x');
  for (const std::string& raw :
       {std::string("\r\n\r\n"), std::string("HTTP/1.1 999999999999 x\r\n\r\n"),
        std::string("HTTP/1.1 -1 x\r\n\r\n"), std::string("HTTP/1.1 200\r\n\r\n"),
        std::string("HTTP/2 200 OK\r\n\r\n"), std::string(3, '\0'),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx"),
        "HTTP/1.1 200 OK\r\nX: " + long64k + long64k + "\r\n\r\n",
        std::string("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n")}) {
    order({{"raw", raw}});
    const auto outcome = whileTimePasses(client_->ask(ApiMethod::kGet, kNode, {}));
    // An empty answer may be one: what matters is that it ends, and that the next one works.
    if (outcome) {
      EXPECT_LT(outcome->body.size(), 100U) << raw;
    }
    EXPECT_EQ(whyOf(get()), "answers 200") << raw;
  }
}

TEST_F(KjApiClientTest, ABodyIsBounded) {
  start();
  constexpr std::size_t kMost = std::size_t{4} << 20U;
  order({{"bodyBytes", kMost}});
  const auto whole = get();
  ASSERT_TRUE(whole) << whole.error().why;
  EXPECT_EQ(whole->body.size(), kMost);
  order({{"bodyBytes", kMost + 1}});
  EXPECT_THAT(whyOf(get()), HasSubstr("larger than 4 MiB"));
  EXPECT_EQ(whyOf(get()), "answers 200");
}

TEST_F(KjApiClientTest, ASlowServerIsGivenTenSeconds) {
  start();
  order({{"trickle", 0.05}});
  const auto begin = timer_.now();
  EXPECT_EQ(whyOf(whileTimePasses(client_->ask(ApiMethod::kGet, kNode, {}))),
            "no whole answer in time");
  EXPECT_GE(timer_.now() - begin, 10 * kj::SECONDS);
  EXPECT_LT(timer_.now() - begin, 11 * kj::SECONDS);
}

TEST_F(KjApiClientTest, AWatchTellsEachLineUntilItEnds) {
  start();
  const std::string claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
  const json list = json::parse(get(claims)->body);
  const auto version = list.at("metadata").at("resourceVersion").get<std::string>();
  std::vector<std::string> seen;
  bool ended = false;
  auto watching = client_
                      ->watch(claims + "?watch=1&resourceVersion=" + version,
                              [&seen](const std::string& line) {
                                seen.push_back(json::parse(line).at("type"));
                              })
                      .then([&ended](Outcome outcome) {
                        ended = true;
                        return outcome;
                      })
                      .eagerlyEvaluate(nullptr);
  server_->makeClaim("c", "d", {});
  server_->deleteClaim("c");
  while (seen.size() < 2) {
    io_.provider->getTimer().afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
    ASSERT_FALSE(ended);
  }
  EXPECT_THAT(seen, ElementsAre("ADDED", "DELETED"));
  // Another request goes its own way meanwhile.
  EXPECT_EQ(whyOf(get()), "answers 200");
  server_->control({{"endWatches", true}});
  EXPECT_EQ(whyOf(watching.wait(io_.waitScope)), "answers 200");
}

TEST_F(KjApiClientTest, AWatchThatIsRefusedSaysWhy) {
  start();
  order({{"status", 410}});
  const auto outcome = client_->watch(kNode, [](const std::string&) {}).wait(io_.waitScope);
  ASSERT_TRUE(outcome) << outcome.error().why;
  EXPECT_EQ(outcome->status, 410U);
}

TEST_F(KjApiClientTest, ALineOfAWatchIsBounded) {
  start();
  order({{"bodyBytes", (1U << 20U) + 1U}});
  const auto outcome = client_->watch(kNode, [](const std::string&) {}).wait(io_.waitScope);
  EXPECT_THAT(whyOf(outcome), HasSubstr("longer than 1 MiB"));
}

TEST_F(KjApiClientTest, ASilentWatchIsBrokenOff) {
  start();
  const std::string claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
  server_->makeClaim("c", "d", {});
  bool began = false;
  std::unique_ptr<Outcome> got;
  auto watching = client_
                      ->watch(claims + "?watch=1&resourceVersion=0",
                              [&began](const std::string&) { began = true; })
                      .then([&got](Outcome outcome) { got = std::make_unique<Outcome>(outcome); })
                      .eagerlyEvaluate(nullptr);
  while (!began && !got) {
    io_.provider->getTimer().afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
    // Another version makes news.
    server_->deleteClaim("c");
    server_->makeClaim("c", "d", {});
  }
  const auto begin = timer_.now();
  while (!got) {
    io_.provider->getTimer().afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
    timer_.advanceTo(timer_.now() + 2 * kj::SECONDS);
  }
  EXPECT_EQ(whyOf(*got), "no whole answer in time");
  EXPECT_GE(timer_.now() - begin, 10 * kj::MINUTES);
}

TEST_F(KjApiClientTest, PathsAreOurOwnWords) {
  start();
  for (const char* path : {"", "x", "/a b", "/a\r\nX: y", "http://other/"}) {
    EXPECT_THAT(whyOf(get(path)), HasSubstr("no path")) << path;
  }
}

TEST_F(KjApiClientTest, NobodyListens) {
  start();
  server_.reset();
  EXPECT_THAT(whyOf(get()), HasSubstr("onnect"));
}

}  // namespace
}  // namespace vfiogate::test
