// That the books of the fault matrix see a group allocated twice, when a plugind has nothing to
// adopt by.

#include "tests/integration/faults/fault_books.h"
#include "tests/integration/timelines/timelines.h"

#include <filesystem>
#include <functional>

namespace vfiogate::test {
namespace {

class FaultControl : public Timelines {
protected:
  /// A pod holds a and has not opened it; plugind is killed, and another pod asks for b.
  void killBetweenTwoPods(const std::function<void()>& restart) {
    ASSERT_EQ(admit(podOf("p1", kGpu)), std::vector{kA});
    books_.granted("p1", kGpu, {kA});
    ASSERT_EQ(books_.imbalance(kubelet(), kPatience), "") << said();
    const std::size_t frames = kubelet().frames(kOther);
    ASSERT_NO_FATAL_FAILURE(restart());
    ASSERT_TRUE(kubelet().awaitFrames(kOther, frames + 1)) << said();
    // What ended streams had shown is not Healthy any more: this is of the new one.
    ASSERT_TRUE(kubelet().await(kGpu, [](const auto& shown) {
      return shown.healthy().contains(kA);
    })) << said();
    adopt();
    if (kubelet().admit(podOf("p2", kOther)).admitted) books_.granted("p2", kOther, {kB});
  }

  /// And privd's record of allocations is lost, without which and the kubelet's word nobody knows.
  void restartWithoutARecord() {
    node_->killPlugind();
    node_->killPrivd();
    std::filesystem::remove_all(node_->directory("state/devices"));
    ASSERT_TRUE(node_->startPrivd()) << said();
    ASSERT_TRUE(node_->startPlugind(config_)) << said();
  }

  FaultBooks books_{{{kA, {kGpu, 7}}, {kB, {kOther, 7}}}};
};

TEST_F(FaultControl, WithoutAdoptionAGroupIsAllocatedTwice) {
  start();
  kubelet().concealPods();
  ASSERT_NO_FATAL_FAILURE(killBetweenTwoPods([this]() { restartWithoutARecord(); }));
  EXPECT_EQ(books_.imbalance(kubelet(), std::chrono::seconds(0)),
            "I1: group 7 is allocated to p1 and p2");
}

TEST_F(FaultControl, WithAdoptionItIsNot) {
  start();
  ASSERT_NO_FATAL_FAILURE(killBetweenTwoPods([this]() { restartPlugind(); }));
  EXPECT_EQ(books_.imbalance(kubelet(), kPatience), "") << said();
  EXPECT_EQ(books_.pods().size(), 1U);
}

}  // namespace
}  // namespace vfiogate::test
