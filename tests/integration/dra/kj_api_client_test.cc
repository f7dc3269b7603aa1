// Requests and answers. The fixture says what is on the other side.

#include "tests/integration/dra/kj_api_client_case.h"

#include <string>

namespace vfiogate::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

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
  const auto ask = [&](ApiMethod method, const std::string& path, const std::string& body) {
    return whyOf(client_->ask(method, path, body).wait(io_.waitScope));
  };
  EXPECT_EQ(ask(ApiMethod::kPost, kClaims, R"({"metadata":{"name":"c"},"spec":{}})"),
            "answers 201");
  EXPECT_EQ(ask(ApiMethod::kPatch, kClaims + "/c", R"({"metadata":{"labels":{"a":"b"}}})"),
            "answers 200");
  json claim = server_->claim("c");
  EXPECT_EQ(claim.at("metadata").at("labels").at("a"), "b");
  claim["metadata"]["labels"]["a"] = "c";
  EXPECT_EQ(ask(ApiMethod::kPut, kClaims + "/c", claim.dump()), "answers 200");
  EXPECT_EQ(ask(ApiMethod::kDelete, kClaims + "/c", ""), "answers 200");
  EXPECT_EQ(ask(ApiMethod::kGet, kClaims + "/c", ""), "answers 404");
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
