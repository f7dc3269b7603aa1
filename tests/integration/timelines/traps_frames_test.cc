// The traps of kubelet-contract.md 8 about what a plugin lists.

#include "tests/integration/timelines/traps.h"

#include <csignal>
#include <thread>

namespace vfiogate::test {
namespace {

// "Drop a vanished device from the list": the kubelet crashes (TearDown) if its Allocate was under
// way. It turns Unhealthy, and the call is refused.
TEST_F(Traps, T5_ADeviceThatVanishesDuringItsAllocateStaysInTheList) {
  start();
  adopt();
  node_->signalPrivd(SIGSTOP);  // what is asked of it now waits
  sim::Admission admission;
  std::thread kubeletsLoop([&]() { admission = kubelet().admit(podOf("p1", kGpu)); });
  hardware().remove(kA);
  node_->signalPrivd(SIGCONT);
  kubeletsLoop.join();
  EXPECT_FALSE(admission.admitted) << said();
  EXPECT_TRUE(shows(kGpu, {}, {kA})) << said();
}

// "Restart the plugin to add a device": the stream that is open tells it, and one withdrawn.
TEST_F(Traps, T7_NewsNeverEndAStream) {
  start();
  addC();
  EXPECT_TRUE(shows(kGpu, {kA, kC})) << said();
  hardware().setDriver(kC, "nouveau");
  EXPECT_TRUE(shows(kGpu, {kA}, {kC})) << said();
  EXPECT_EQ(kubelet().streamsEnded(kGpu), 0U);
  EXPECT_EQ(kubelet().registrations(kGpu), 1U);
}

// "The id is the group's number": it is the address, whatever number the group has, so what the
// kubelet has recorded stays true.
TEST_F(Traps, T12_AnIdOutlivesRestartsAndNewGroupNumbers) {
  start();
  ASSERT_EQ(admit(podOf("p1", kGpu)), std::vector{kA});
  powerOff();
  for (const auto& address : {kA, kB}) hardware().setGroup(address, 21);
  start();
  ASSERT_TRUE(kubelet().awaitRegistrations(kOther, 1)) << said();
  EXPECT_EQ(kubelet().allocated(kGpu), Ids{kA});
  restartPlugind();
  ASSERT_TRUE(kubelet().awaitRegistrations(kOther, 2)) << said();
  EXPECT_TRUE(shows(kGpu, {kA})) << said();
  EXPECT_THAT(offerAdopted(kOther, kB), testing::HasSubstr("not-shown")) << "its sibling";
}

}  // namespace
}  // namespace vfiogate::test
