#include "netd/dra/claims/claim_reporter.h"

#include "tests/unit/netd/dra/scripted_api.h"

#include <gmock/gmock.h>
#include <kj/async-io.h>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;

constexpr const char* kServed =
    R"({"resources":[{"name":"resourceclaims"},{"name":"resourceslices"}]})";
constexpr const char* kClaim =
    R"({"metadata":{"uid":"u-1","resourceVersion":"41"},"status":{"allocation":{}}})";

class ClaimReporterTest : public testing::Test {
public:
  // KJ's destructors may throw; a test's may not.
  ~ClaimReporterTest() noexcept override = default;

protected:
  void SetUp() override {
    script_.answers = {ApiAnswer{200, kServed}};
    ASSERT_TRUE(versions_.current(script_).wait(scope_));
    script_.asked.clear();
  }
  std::string written(const std::string& name = "c") {
    const ClaimReport report{"vfio.vfiogate.dev", "ns", name, "u-1", {{"p", "d", {}, true, "R"}}};
    return reporter_.write(report).wait(scope_);
  }

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  ScriptedApi script_;
  ApiVersions versions_{[](ResourceApi) {}};
  ClaimFetcher fetcher_{script_, versions_};
  ClaimReporter reporter_{script_, fetcher_, []() { return std::chrono::sys_seconds{}; }};
};

TEST_F(ClaimReporterTest, ReadsTheClaimAndPutsItsStatus) {
  script_.answers = {ApiAnswer{200, kClaim}, ApiAnswer{200, ""}};
  EXPECT_EQ(written(), "");
  ASSERT_EQ(script_.asked.size(), 2U);
  const std::string path = "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c";
  EXPECT_EQ(script_.asked[0].path, path);
  EXPECT_EQ(script_.asked[1].path, path + "/status");
  EXPECT_EQ(script_.asked[1].method, ApiMethod::kPut);
  EXPECT_THAT(script_.asked[1].body, HasSubstr(R"("resourceVersion":"41")"));
}

TEST_F(ClaimReporterTest, AConflictIsReadAndWrittenAgainButNotForEver) {
  script_.answers = {ApiAnswer{200, kClaim}, ApiAnswer{409, ""}, ApiAnswer{200, kClaim},
                     ApiAnswer{200, ""}};
  EXPECT_EQ(written(), "");
  EXPECT_EQ(script_.asked.size(), 4U);
  for (int i = 0; i < 20; ++i) {
    script_.answers.emplace_back(ApiAnswer{200, kClaim});
    script_.answers.emplace_back(ApiAnswer{409, ""});
  }
  EXPECT_THAT(written(), HasSubstr("409"));
  EXPECT_EQ(script_.asked.size(), 12U);
}

TEST_F(ClaimReporterTest, FailuresAreInWords) {
  EXPECT_THAT(written(), HasSubstr("the script has ended"));
  script_.answers = {ApiAnswer{404, R"({"message":"not found"})"}, ApiAnswer{200, kServed}};
  EXPECT_EQ(written(), "the API server answers 404: not found");
  script_.answers = {ApiAnswer{200, kClaim},
                     ApiAnswer{403, R"({"message":"resourceclaims/driver"})"}};
  EXPECT_EQ(written(), "the API server answers 403: resourceclaims/driver");
  EXPECT_THAT(written("../x"), HasSubstr("no claim's name"));
}

// An upgrade between reading and writing.
TEST_F(ClaimReporterTest, WhatWasReadAsAVersionThatIsGoneIsReadAnew) {
  script_.answers = {ApiAnswer{200, kClaim}, ApiAnswer{404, ""},      ApiAnswer{404, ""},
                     ApiAnswer{404, ""},     ApiAnswer{200, kServed}, ApiAnswer{200, kClaim},
                     ApiAnswer{200, ""}};
  EXPECT_EQ(written(), "");
  EXPECT_EQ(script_.asked.back().path,
            "/apis/resource.k8s.io/v1beta2/namespaces/ns/resourceclaims/c/status");
}

}  // namespace
}  // namespace vfiogate::test
