// The timelines of ledger.md 17 through the real programs: pods, siblings and hardware. A comment
// before a test is its number there. 29 is in reload_test. Not through the programs, but in
// tests/unit/plugind/ledger alone: 13 to 16 (claims), 19, 26, 34 (bind on demand) and 28 (mediated
// devices), which need what the programs do not have yet.

#include "tests/integration/timelines/timelines.h"

#include <chrono>
#include <csignal>
#include <thread>

namespace vfiogate::test {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// 1, I1: the frame that withdraws b was handed over before the reply.
TEST_F(Timelines, SiblingRace) {
  start();
  ASSERT_TRUE(shows(kOther, {kB}));
  ASSERT_EQ(admit(podOf("p1", kGpu)), std::vector{kA});
  EXPECT_THAT(offer(kOther, kB), HasSubstr("group-allocated"));
  EXPECT_TRUE(shows(kOther, {}, {kB})) << said();
}

// 4, I1.
TEST_F(Timelines, InitThenApp) {
  addC();
  start({kA, kC});
  const auto pod = kubelet().admit({.uid = "p1",
                                    .initContainers = {{"init", {{kGpu, 1}}}},
                                    .containers = {{"compute", {{kGpu, 2}}}}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  ASSERT_THAT(pod.granted, SizeIs(2));
  EXPECT_THAT(pod.granted[1].ids, UnorderedElementsAre(kA, kC));
  EXPECT_TRUE(node_->tells("allocated-again", pod.granted[0].ids.at(0))) << said();
  EXPECT_EQ(startContainer("p1", "init"), "");
  kubelet().stopContainer("p1", "init");
  EXPECT_EQ(startContainer("p1"), "");
}

// 17, I3.
TEST_F(Timelines, PrivdDownInAllocate) {
  start();
  adopt();
  node_->killPrivd();
  EXPECT_EQ(kubelet().devices(kGpu).healthy(), Ids{kA}) << "the frame stands";
  const auto asked = std::chrono::steady_clock::now();
  EXPECT_THAT(offer(kGpu, kA), HasSubstr("privd-away"));
  const auto refused = std::chrono::steady_clock::now();
  EXPECT_GE(refused - asked, 4900ms) << "allocateWait, once";
  EXPECT_TRUE(shows(kGpu, {}, {kA})) << said();
  for (int i = 0; i < 9; ++i) EXPECT_THAT(offer(kGpu, kA), HasSubstr("privd-away"));
  EXPECT_LT(std::chrono::steady_clock::now() - refused, 5s) << "at once";
  ASSERT_TRUE(node_->startPrivd()) << said();
  EXPECT_TRUE(shows(kGpu, {kA})) << said();
  EXPECT_EQ(offer(kGpu, kA), "");
}

// 18, I1; one boot here, other numbers all the same.
TEST_F(Timelines, RebootNewNumbers) {
  start();
  admit(podOf("p1", kGpu));
  ASSERT_EQ(startContainer("p1"), "");
  kubelet().powerOff();
  node_->killPlugind();
  node_->killPrivd();
  for (const auto& address : {kA, kB}) hardware().setGroup(address, 13);
  start();
  EXPECT_TRUE(node_->tells("adopted", kA)) << said();
  EXPECT_THAT(startContainer("p1"), HasSubstr("stale-nodes"));
  kubelet().end("p1");
  EXPECT_EQ(admit(podOf("p2", kGpu)), std::vector{kA});
  EXPECT_EQ(startContainer("p2"), "");
}

// 20, I1 and I4.
TEST_F(Timelines, UnplugReplugHeld) {
  start();
  admit(podOf("p1", kGpu));
  ASSERT_EQ(startContainer("p1"), "");
  hardware().remove(kA);
  EXPECT_TRUE(shows(kGpu, {}, {kA})) << said();
  EXPECT_THAT(offer(kOther, kB), HasSubstr("group-allocated"));
  hardware().add({.address = kA, .group = 77, .numaNode = 0});
  EXPECT_TRUE(shows(kGpu, {kA})) << said();
  EXPECT_THAT(offer(kOther, kB), HasSubstr("group-allocated"));
  EXPECT_THAT(kubelet().restartContainer("p1", "compute").error, HasSubstr("stale-nodes"));
}

// 21, I1: behind privd's back, as another tool would; `privd unbind` is not built yet.
TEST_F(Timelines, UnbindByHandHeld) {
  start();
  admit(podOf("p1", kGpu));
  hardware().setDriver(kA, "nouveau");
  ASSERT_TRUE(node_->seen()) << said();
  EXPECT_EQ(kubelet().devices(kGpu).healthy(), Ids{kA}) << "held: I4";
  EXPECT_THAT(startContainer("p1"), HasSubstr("not-viable"));
  EXPECT_THAT(offer(kOther, kB), HasSubstr("group-allocated"));
  hardware().setDriver(kA, "vfio-pci");
  ASSERT_TRUE(node_->seen()) << said();
  EXPECT_THAT(offer(kOther, kB), HasSubstr("group-allocated"));
}

// 22, I5.
TEST_F(Timelines, RepresentativeSticks) {
  for (const auto& address : {kA, kB}) hardware().remove(address);
  hardware().add({.address = kB});
  start({kB});
  adopt();
  node_->signalPrivd(SIGSTOP);  // what is asked of it now waits
  std::vector<std::string> granted;
  std::thread kubeletsLoop([&]() { granted = admit(podOf("p1", kGpu)); });
  hardware().add({.address = kA, .driver = ""});
  node_->signalPrivd(SIGCONT);
  kubeletsLoop.join();
  EXPECT_EQ(granted, std::vector{kB});
  ASSERT_TRUE(node_->seen()) << said();
  EXPECT_EQ(kubelet().devices(kGpu).healthy(), Ids{kB});
  EXPECT_FALSE(kubelet().devices(kGpu).lists(kA)) << "the lower one is not shown";
}

// 23, T5: the stand-in crashes (TearDown) where a granted id is not in its list.
TEST_F(Timelines, FlapDuringPick) {
  start();
  adopt();
  std::jthread flapping([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      hardware().remove(kA);
      hardware().add({.address = kA, .numaNode = 0});
      hardware().setEnable(kA, 0);
    }
  });
  for (int i = 0; i < 20; ++i) {
    const std::string uid = "p" + std::to_string(i);
    kubelet().admit(podOf(uid, kGpu));
    EXPECT_TRUE(kubelet().devices(kGpu).lists(kA)) << "after " << uid;
    kubelet().end(uid);
  }
  flapping.request_stop();
  flapping.join();
  ASSERT_TRUE(node_->seen()) << said();
  EXPECT_EQ(admit(podOf("last", kGpu)), std::vector{kA});
}

// 27, I1.
TEST_F(Timelines, TwoResourcesOneGroup) {
  start();
  ASSERT_TRUE(shows(kOther, {kB}));
  // The frame may come before the kubelet's second pick, which then fails without a call.
  EXPECT_THAT(rejected({.uid = "p1",
                        .initContainers = {},
                        .containers = {{"compute", {{kGpu, 1}, {kOther, 1}}}}}),
              AnyOf(HasSubstr("group-allocated, ref="), HasSubstr("no healthy devices present")));
}

}  // namespace
}  // namespace vfiogate::test
