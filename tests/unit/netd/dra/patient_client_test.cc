#include "netd/dra/api/patient_client.h"

#include "tests/unit/netd/dra/scripted_api.h"

#include <gmock/gmock.h>
#include <kj/async-io.h>

namespace vfiogate::test {
namespace {

class PatientClientTest : public testing::Test {
public:
  // KJ's destructors may throw; a test's may not.
  ~PatientClientTest() noexcept override = default;

protected:
  /// What was answered once `waited` has passed; absent: nothing yet.
  std::optional<ApiOutcome> askedFor(kj::Duration waited) {
    std::optional<ApiOutcome> got;
    auto asking = client_.ask(ApiMethod::kPut, "/x", "body")
                      .then([&got](const ApiOutcome& outcome) { got = outcome; })
                      .eagerlyEvaluate(nullptr);
    for (auto step = 0 * kj::SECONDS; step <= waited; step = step + kTick) {
      for (int turns = 0; turns < 20; ++turns) kj::evalLater([]() {}).wait(scope_);
      timer_.advanceTo(timer_.now() + kTick);
    }
    for (int turns = 0; turns < 20; ++turns) kj::evalLater([]() {}).wait(scope_);
    return got;
  }

  static constexpr auto kTick = 50 * kj::MILLISECONDS;

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
  ScriptedApi script_;
  PatientClient client_{script_, timer_, []() { return 0.5; }};
};

TEST_F(PatientClientTest, ASecondTryMayHelp) {
  script_.answers = {Failure{ApiFailure{"hung up"}}, ApiAnswer{503, ""}, ApiAnswer{200, "good"}};
  const auto got = askedFor(2 * kj::SECONDS);
  ASSERT_TRUE(got && got->has_value());
  EXPECT_EQ((*got)->body, "good");
  ASSERT_EQ(script_.asked.size(), 3U);
  for (const auto& asked : script_.asked) {
    EXPECT_EQ(asked.method, ApiMethod::kPut);
    EXPECT_EQ(asked.path, "/x");
    EXPECT_EQ(asked.body, "body");
  }
}

TEST_F(PatientClientTest, TheServerIsWaitedFor) {
  script_.answers = {ApiAnswer{429, "", 3 * kj::SECONDS}, ApiAnswer{200, ""}};
  EXPECT_FALSE(askedFor(2900 * kj::MILLISECONDS));
  EXPECT_EQ(script_.asked.size(), 1U);
}

TEST_F(PatientClientTest, ItEndsWithTheLastOutcome) {
  const auto got = askedFor(20 * kj::SECONDS);
  ASSERT_TRUE(got && !got->has_value());
  EXPECT_EQ(script_.asked.size(), std::size_t{kMostApiTries});
}

TEST_F(PatientClientTest, ARefusalStands) {
  script_.answers = {ApiAnswer{403, R"({"message":"no"})"}};
  const auto got = askedFor(0 * kj::SECONDS);
  ASSERT_TRUE(got && got->has_value());
  EXPECT_EQ((*got)->status, 403U);
}

}  // namespace
}  // namespace vfiogate::test
