#include "netd/dra/api/api_url.h"

#include "netd/dra/claims/claim_json.h"

#include <gmock/gmock.h>

namespace vfiogate {
namespace {

using testing::HasSubstr;

TEST(ApiUrl, IsAHostAndAPort) {
  EXPECT_EQ(ApiUrl::parse("https://api.example.com:6443"),
            (ApiUrl{true, "api.example.com", 6443, false}));
  EXPECT_EQ(ApiUrl::parse("https://10.96.0.1"), (ApiUrl{true, "10.96.0.1", 443, true}));
  EXPECT_EQ(ApiUrl::parse("https://[fd00::1]:6443/"), (ApiUrl{true, "fd00::1", 6443, true}));
  EXPECT_EQ(ApiUrl::parse("http://127.8.9.1:8001"), (ApiUrl{false, "127.8.9.1", 8001, true}));
  EXPECT_EQ(ApiUrl::parse("http://[::1]"), (ApiUrl{false, "::1", 80, true}));
}

TEST(ApiUrl, WhatItSaysIsReadBack) {
  for (const char* text : {"https://a:1", "https://[fd00::1]:443", "http://127.0.0.1:80"}) {
    const auto url = ApiUrl::parse(text);
    ASSERT_TRUE(url) << text;
    EXPECT_EQ(url->str(), text);
  }
  EXPECT_EQ(ApiUrl::parse("https://[fd00::1]")->authority(), "[fd00::1]:443");
}

TEST(ApiUrl, NothingElseIsOne) {
  for (const char* text : {"",
                           "api",
                           "ftp://a",
                           "https://",
                           "https://a:",
                           "https://a:0",
                           "https://a:65536",
                           "https://a/b",
                           "https://a//",
                           "https://u@a",
                           "https://a?b",
                           "https://[::1",
                           "https://[]",
                           "https://[10.0.0.1]",
                           "https://::1",
                           "https://a b",
                           "https://a\r\nX: y",
                           "https://a:1:2",
                           "https://-a",
                           "HTTPS://a"}) {
    EXPECT_FALSE(ApiUrl::parse(text)) << text;
  }
}

TEST(ApiUrl, WithoutTlsItIsThisMachine) {
  for (const char* text : {"http://10.0.0.1", "http://128.0.0.1", "http://localhost",
                           "http://[::2]", "http://127.0.0.1.example.com", "http://0.0.0.0"}) {
    const auto url = ApiUrl::parse(text);
    ASSERT_FALSE(url) << text;
    EXPECT_THAT(url.error(), HasSubstr("this machine")) << text;
  }
}

TEST(ApiUrl, AServiceMayHaveAnIpv6Address) {
  EXPECT_EQ(apiUrlOf("10.96.0.1", "443"), "https://10.96.0.1:443");
  EXPECT_EQ(apiUrlOf("fd00::1", "443"), "https://[fd00::1]:443");
}

TEST(ClaimPath, TakesNamesAlone) {
  for (const ResourceApi api : kResourceApis) {
    EXPECT_EQ(claimPath(api, "ns", "a.b-1"), std::string("/apis/resource.k8s.io/") + nameOf(api) +
                                                 "/namespaces/ns/resourceclaims/a.b-1");
  }
  for (const std::string name : {"", "..", ".", "a/b", "A", "a b", "a?b", "a%2f", "a\n"}) {
    EXPECT_EQ(claimPath(ResourceApi::kV1, "ns", name), std::nullopt) << name;
    EXPECT_EQ(claimPath(ResourceApi::kV1, name, "c"), std::nullopt) << name;
  }
  EXPECT_EQ(claimPath(ResourceApi::kV1, "ns", std::string(254, 'a')), std::nullopt);
}

}  // namespace
}  // namespace vfiogate
