#include "netd/dra/api/api_versions.h"

#include "netd/dra/claims/claim_fetcher.h"
#include "tests/unit/netd/dra/scripted_api.h"

#include <gmock/gmock.h>
#include <kj/async-io.h>

namespace vfiogate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kServed =
    R"({"kind":"APIResourceList","resources":[{"name":"deviceclasses"},{"name":"resourceclaims"},
        {"name":"resourceclaims/status"},{"name":"resourceslices"}]})";
/// Of 1.33's v1alpha3, or where a version is turned on for one resource alone.
constexpr const char* kRulesAlone = R"({"resources":[{"name":"devicetaintrules"}]})";
const ApiAnswer kNoSuchPath{404, "404 page not found\n"};

TEST(ServedApi, EachVersionHasItsPlaceAndName) {
  std::vector<std::string> paths;
  for (const ResourceApi api : kResourceApis) paths.push_back(pathOf(api));
  EXPECT_THAT(paths, ElementsAre("/apis/resource.k8s.io/v1", "/apis/resource.k8s.io/v1beta2",
                                 "/apis/resource.k8s.io/v1beta1"));
  EXPECT_EQ(groupVersionOf(ResourceApi::kV1beta1), "resource.k8s.io/v1beta1");
}

TEST(ServedApi, AVersionIsServedWhoseClaimsAndSlicesAre) {
  const std::vector<std::pair<ApiAnswer, bool>> rows = {
      {{200, kServed}, true},
      {{200, kRulesAlone}, false},
      {{200, R"({"resources":[]})"}, false},
      {{200, R"({"resources":[{"name":"resourceclaims"},{"name":"resourceclaims/status"}]})"},
       false},
      {{200, R"({"resources":[7,{"name":8},"resourceclaims","resourceslices"]})"}, false},
      {kNoSuchPath, false},
      {{404, R"({"kind":"Status","reason":"NotFound"})"}, false},
  };
  for (const auto& [answer, served] : rows) {
    const auto read = isServed(answer);
    ASSERT_TRUE(read) << answer.body;
    EXPECT_EQ(*read, served) << answer.body;
  }
}

TEST(ServedApi, WhatSaysNeitherIsAnError) {
  for (const ApiAnswer& answer :
       {ApiAnswer{200, ""}, ApiAnswer{200, "{}"}, ApiAnswer{200, R"({"resources":{}})"},
        ApiAnswer{403, R"({"message":"forbidden"})"}, ApiAnswer{503, ""}, ApiAnswer{302, ""}}) {
    EXPECT_FALSE(isServed(answer)) << answer.status << answer.body;
  }
  EXPECT_EQ(isServed(Failure{ApiFailure{"away"}}).error(), "away");
}

class ApiVersionsTest : public testing::Test {
public:
  // KJ's destructors may throw; a test's may not.
  ~ApiVersionsTest() noexcept override = default;

protected:
  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (const auto& asked : script_.asked) all.push_back(asked.path);
    return all;
  }

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  ScriptedApi script_;
  std::vector<ResourceApi> told_;
  ApiVersions versions_{[this](ResourceApi api) { told_.push_back(api); }};
  ClaimFetcher fetcher_{script_, versions_};
};

TEST_F(ApiVersionsTest, TheNewestThatIsServedIsTaken) {
  const std::vector<std::pair<std::deque<ApiOutcome>, ResourceApi>> rows = {
      {{ApiAnswer{200, kServed}}, ResourceApi::kV1},
      {{kNoSuchPath, ApiAnswer{200, kServed}}, ResourceApi::kV1beta2},
      {{kNoSuchPath, kNoSuchPath, ApiAnswer{200, kServed}}, ResourceApi::kV1beta1},
      {{kNoSuchPath, ApiAnswer{200, kRulesAlone}, ApiAnswer{200, kServed}}, ResourceApi::kV1beta1},
  };
  for (const auto& [answers, wanted] : rows) {
    script_.answers = answers;
    EXPECT_EQ(*versions_.ask(script_).wait(scope_), wanted);
    EXPECT_TRUE(script_.answers.empty()) << "none is asked for that is not needed";
  }
  EXPECT_THAT(told_, ElementsAre(ResourceApi::kV1, ResourceApi::kV1beta2, ResourceApi::kV1beta1))
      << "each once";
}

TEST_F(ApiVersionsTest, WhatIsKnownIsNotAskedForAgain) {
  script_.answers = {ApiAnswer{200, kServed}};
  EXPECT_EQ(*versions_.current(script_).wait(scope_), ResourceApi::kV1);
  EXPECT_EQ(*versions_.current(script_).wait(scope_), ResourceApi::kV1);
  EXPECT_EQ(script_.asked.size(), 1U);
}

TEST_F(ApiVersionsTest, AServerThatIsAwayIsNoServerOfAnOlderVersion) {
  script_.answers = {ApiAnswer{503, ""}, ApiAnswer{200, kServed}};
  EXPECT_THAT(versions_.current(script_).wait(scope_).error(), HasSubstr("answers 503"));
  EXPECT_EQ(script_.asked.size(), 1U);
  EXPECT_TRUE(versions_.current(script_).wait(scope_)) << "and is asked again";
}

TEST_F(ApiVersionsTest, AServerWithoutAnyIsTold) {
  script_.answers = {kNoSuchPath, kNoSuchPath, kNoSuchPath};
  EXPECT_THAT(versions_.ask(script_).wait(scope_).error(),
              HasSubstr("none of v1, v1beta2 and v1beta1"));
}

TEST_F(ApiVersionsTest, AClaimThatIsNotFoundIsGoneUnlessTheVersionIs) {
  script_.answers = {ApiAnswer{200, kServed}, kNoSuchPath, ApiAnswer{200, kServed}};
  auto gone = fetcher_.fetch({"ns", "c"}).wait(scope_);
  ASSERT_TRUE(gone) << gone.error();
  EXPECT_TRUE(hasStatus(gone->outcome, kApiNotFound));
  // The server is another by now.
  script_.asked.clear();
  script_.answers = {kNoSuchPath, kNoSuchPath, ApiAnswer{200, kServed}, ApiAnswer{200, "it"}};
  const auto found = fetcher_.fetch({"ns", "c"}).wait(scope_);
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->outcome->body, "it");
  const std::string claim = "/namespaces/ns/resourceclaims/c";
  EXPECT_EQ(found->path, "/apis/resource.k8s.io/v1beta2" + claim);
  EXPECT_THAT(paths(), ElementsAre("/apis/resource.k8s.io/v1" + claim, "/apis/resource.k8s.io/v1",
                                   "/apis/resource.k8s.io/v1beta2",
                                   "/apis/resource.k8s.io/v1beta2" + claim));
}

TEST_F(ApiVersionsTest, AClaimIsNotAskedForWhereTheVersionIsUnknown) {
  EXPECT_THAT(fetcher_.fetch({"ns", "c"}).wait(scope_).error(), HasSubstr("cannot tell"));
  EXPECT_THAT(paths(), ElementsAre("/apis/resource.k8s.io/v1"));
}

}  // namespace
}  // namespace vfiogate::test
