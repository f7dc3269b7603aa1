// An Unprepare that never came (ledger.md, row 46): in real time, which is one reconcile after the
// start and a second one a minute later.

#include "tests/integration/dra/claim_case.h"

namespace vfiogate::test {
namespace {

class DraSweep : public ClaimCase {
protected:
  static bool within(std::chrono::seconds patience, const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      poll(nullptr, 0, 100);
    }
    return true;
  }
};

// I1: of three claims one is gone, one is gone and open, one is there; the kubelet knows of none.
TEST_F(DraSweep, I1_AClaimThatIsGoneIsSweptOnceItsDeviceIsIdle) {
  node_->hardware.add({.address = "0000:03:00.0", .group = 9});
  startAll(4);
  const std::string gone = claimFor("gone", "p1", {kC});
  const std::string open = claimFor("open", "p2", {kA});
  const std::string kept = claimFor("kept", "p3", {"0000:03:00.0"});
  for (const char* each : {"1 gone", "2 open", "3 kept"}) {
    const std::string text = each;
    ASSERT_TRUE(run(podWith("p" + text.substr(0, 1), text.substr(2))).started) << node_->said();
  }
  node_->hardware.setEnable(kA, 1);
  // A kubelet without its files knows of no claim, and unprepares none.
  node_->kubelet.stop();
  std::filesystem::remove(node_->directory("kubelet") + "/dra_manager_state");
  api_->deleteClaim("gone");
  api_->deleteClaim("open");
  node_->kubelet.start();
  node_->killPlugind();
  startPlugind();
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_TRUE(within(std::chrono::seconds(150), [&]() { return !specIsThere(gone); }))
      << node_->said();
  EXPECT_GT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(55)) << "two reconciles";
  EXPECT_TRUE(within(std::chrono::seconds(20), [&]() {
    return taintOf(devices(), nameOf(kA)) == "lingering";
  })) << node_->said();
  EXPECT_TRUE(specIsThere(open)) << "until it is closed";
  EXPECT_TRUE(specIsThere(kept));
  EXPECT_EQ(taintOf(devices(), nameOf(kC)), "");
  node_->hardware.setEnable(kA, 0);
  EXPECT_TRUE(within(std::chrono::seconds(30), [&]() { return !specIsThere(open); }))
      << node_->said();
}

}  // namespace
}  // namespace vfiogate::test
