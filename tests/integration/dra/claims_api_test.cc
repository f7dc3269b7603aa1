// Claims while the API server has a bad day, and claims that are not what they were.

#include "tests/integration/dra/claim_case.h"

#include <csignal>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class DraApi : public ClaimCase {
protected:
  /// Allocated and reserved, and known to the kubelet whatever becomes of the API server.
  std::string rememberedClaim(const std::string& claim, const std::string& pod,
                              const std::string& address) {
    const std::string uid = claimFor(claim, pod, {address});
    remember(claim);
    return uid;
  }
  nlohmann::json reported(const std::string& claim) {
    return api_->claim(claim).value("/status/devices"_json_pointer, nlohmann::json::array());
  }
};

TEST_F(DraApi, AnAbsentServerIsNamedAndTheNextTryWorks) {
  startAll();
  const std::string uid = rememberedClaim("c1", "p1", kC);
  claimReads({{"drop", "before"}, {"times", -1}});
  const sim::PodStart start = run(podWith("p1", "c1"));
  EXPECT_FALSE(start.started);
  EXPECT_THAT(start.error, HasSubstr("API server"));
  EXPECT_FALSE(specIsThere(uid));
  api_->control({{"clearFaults", true}});
  EXPECT_TRUE(node_->kubelet.awaitStarted("p1")) << node_->said();
  EXPECT_TRUE(specIsThere(uid));
}

TEST_F(DraApi, AServerThatErrsIsAskedAgainWithinThePrepare) {
  startAll();
  rememberedClaim("c1", "p1", kC);
  claimReads({{"drop", "mid-body"}});
  claimReads({{"status", 500}});
  const std::size_t before = api_->asked(kClaimsRead);
  const sim::PodStart start = run(podWith("p1", "c1"));
  EXPECT_TRUE(start.started) << start.error;
  EXPECT_GE(api_->asked(kClaimsRead) - before, 3U);
}

TEST_F(DraApi, AServerThatThrottlesIsGivenTheTimeItAsksFor) {
  startAll();
  rememberedClaim("c1", "p1", kC);
  claimReads({{"status", 429}, {"retryAfter", 2}});
  const auto begun = Clock::now();
  const sim::PodStart start = run(podWith("p1", "c1"));
  EXPECT_TRUE(start.started) << start.error;
  EXPECT_GE(Clock::now() - begun, std::chrono::seconds(2));
}

TEST_F(DraApi, AServerThatIsSlowIsNamedAndNotNetd) {
  startAll();
  rememberedClaim("c1", "p1", kC);
  claimReads({{"hang", 30}});
  const sim::PodStart start = run(podWith("p1", "c1"));
  EXPECT_FALSE(start.started);
  EXPECT_THAT(start.error, HasSubstr("the API server does not answer within 8 s"));
}

TEST_F(DraApi, ANetdThatDoesNotAnswerIsNamed) {
  startAll();
  rememberedClaim("c1", "p1", kC);
  node_->netdDra->signal(SIGSTOP);
  const sim::PodStart start = run(podWith("p1", "c1"));
  node_->netdDra->signal(SIGCONT);
  EXPECT_FALSE(start.started);
  EXPECT_THAT(start.error, HasSubstr("netd dra does not answer within 9 s"));
}

TEST_F(DraApi, AnAnswerThatIsNoClaimFailsThePrepareInWords) {
  startAll();
  rememberedClaim("c1", "p1", kC);
  claimReads({{"body", "[1, 2"}});
  const sim::PodStart start = run(podWith("p1", "c1"));
  EXPECT_FALSE(start.started);
  EXPECT_THAT(start.error, HasSubstr("c1"));
  EXPECT_TRUE(node_->kubelet.awaitStarted("p1")) << node_->said();
}

TEST_F(DraApi, AConflictOverTheStatusIsResolved) {
  startAll();
  api_->control(
      {{"fail",
        {{{"match", "PUT /apis/resource.k8s.io/v1/namespaces/default/"}, {"status", 409}}}}});
  claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  EXPECT_TRUE(until([this]() { return reported("c1").size() == 1; })) << node_->said();
}

TEST_F(DraApi, AClaimMadeAnewUnderItsNameIsRefused) {
  startAll();
  const std::string old = rememberedClaim("c1", "p1", kC);
  api_->deleteClaim("c1");
  const std::string fresh = claimFor("c1", "p2", {kC});
  ASSERT_NE(fresh, old);
  const sim::PodStart start = run(podWith("p1", "c1"));
  EXPECT_FALSE(start.started);
  EXPECT_THAT(start.error, HasSubstr("made anew"));
  EXPECT_FALSE(specIsThere(old));
  EXPECT_FALSE(specIsThere(fresh));
}

TEST_F(DraApi, AClaimThatTheSchedulerTookBackIsRefused) {
  startAll();
  const std::string uid = rememberedClaim("c1", "p1", kC);
  api_->deallocate("c1");
  EXPECT_THAT(run(podWith("p1", "c1")).error, HasSubstr("not allocated"));
  EXPECT_FALSE(specIsThere(uid));
}

TEST_F(DraApi, AClaimThatIsDeletedBeforeItsPrepareIsRefused) {
  startAll();
  rememberedClaim("c1", "p1", kC);
  api_->deleteClaim("c1");
  EXPECT_THAT(run(podWith("p1", "c1")).error, HasSubstr("no claim of this name"));
}

// Of one call: what befalls one claim does not touch the other.
TEST_F(DraApi, OneClaimOfACallFailsAndTheOtherIsPrepared) {
  startAll();
  rememberedClaim("c1", "p1", kA);
  const std::string good = rememberedClaim("c2", "p1", kC);
  api_->deleteClaim("c1");
  sim::PodSpec pod = podWith("p1", "c1");
  pod.claims.push_back({.name = "other", .claim = "c2"});
  EXPECT_THAT(run(pod).error, HasSubstr("no claim of this name"));
  EXPECT_TRUE(specIsThere(good));
  node_->kubelet.end("p1");
  ASSERT_TRUE(node_->kubelet.awaitEnded("p1"));
  EXPECT_FALSE(specIsThere(good));
}

}  // namespace
}  // namespace vfiogate::test
