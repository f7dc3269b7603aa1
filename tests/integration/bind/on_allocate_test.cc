// On-allocate binding: the real plugind, a kubelet, and a privd whose binds end as the test says.

#include "tests/integration/plugind_process.h"

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <thread>

namespace vfiogate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Binding = FakePrivd::Binding;

constexpr const char* kOnAllocate =
    "resources:\n"
    "  - {select: {vendor: \"10de\"}, bind: on-allocate, returnTo: original}\n"
    "grace: 3600s\n"
    "allocateWait: 2s\n"
    "bindDeadline: 2s\n";
constexpr const char* kAllOnAllocate =
    "resources:\n"
    "  - {select: {vendor: \"10de\"}, bind: on-allocate, groupUnit: all}\n"
    "grace: 3600s\n"
    "bindDeadline: 10s\n";

/// All on the host's drivers; privd's guards let plugind bind both groups.
Hardware onHostDrivers() {
  Hardware hardware = twoGroups();
  for (const std::string& address : {kFirst, kSibling, kSecond}) {
    PciDevice& device = hardware.device(address);
    device.driver = "nvidia";
    device.vfioDev.reset();
    device.cdevNode = false;
  }
  for (const std::uint32_t group : {31U, 32U}) {
    hardware.group(group).groupNode = false;
    hardware.group(group).binding.bindable = true;
  }
  return hardware;
}

std::vector<std::string> nodesOf(const Allocated& allocated) {
  std::vector<std::string> nodes;
  for (const auto& device : allocated.response.container_responses(0).devices()) {
    nodes.push_back(device.host_path());
  }
  return nodes;
}

class OnAllocateNode : public PlugindProcess {
protected:
  void startNode(const std::string& config = kOnAllocate) {
    startPlugind(config);
    startKubelet();
    startPrivd(onHostDrivers());
  }
  void startShown() {
    startNode();
    ASSERT_TRUE(showsBoth()) << said();
  }
  /// An Allocate that does not end before its bind does.
  std::future<Allocated> allocateLater(const Ids& ids) {
    const unsigned before = privd_->binds();
    privd_->setBinding(Binding::kWaits);
    auto later = std::async(std::launch::async, [this, ids]() { return allocate(ids); });
    EXPECT_TRUE(until([&]() { return privd_->binds() > before; })) << said();
    return later;
  }
  template <typename Condition>
  static bool until(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + 3 * sim::kPatience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  /// A pod of one container with one device; its id, or why there is none.
  std::string admitPod(const std::string& uid) {
    const sim::Admission admission =
        kubelet_->admit({.uid = uid,
                         .initContainers = {},
                         .containers = {{.name = "main", .limits = {{kResource, 1}}}}});
    return admission.admitted ? admission.granted.at(0).ids.at(0) : admission.message;
  }
};

TEST_F(OnAllocateNode, BindsThenAnswers) {
  startShown();
  const auto allocated = allocate({kFirst});
  ASSERT_TRUE(allocated.status.ok()) << allocated.status.error_message();
  EXPECT_THAT(nodesOf(allocated), ElementsAre("/dev/vfio/vfio", "/dev/vfio/31"));
  EXPECT_EQ(privd_->binds(), 1U);
  EXPECT_EQ(privd_->held(), std::set{IommuGroupId(31)});
  EXPECT_TRUE(plugind_->says("\"event\":\"bound\"")) << said();
  EXPECT_TRUE(showsBoth()) << "T5, I4";
}

TEST_F(OnAllocateNode, AFailureRefusesWithWhatAPodsOwnerMaySee) {
  startShown();
  privd_->setBinding(Binding::kRefused);
  const auto refused = allocate({kFirst});
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.status.error_message(),
              HasSubstr("0000:65:00.0, group 31: could not be bound, bind-failed:refused"));
  EXPECT_THAT(refused.status.error_message(), Not(HasSubstr("/srv")));
  EXPECT_TRUE(plugind_->says("nvme0n1 is mounted at /srv")) << "the log is the operator's";
  EXPECT_TRUE(kubelet_->shows(kResource, {kSecond}, {kFirst})) << "the next pod goes elsewhere";
  privd_->setBinding(Binding::kSucceeds);
  EXPECT_TRUE(allocate({kFirst}).status.ok()) << "a pod that is on its way";
}

TEST_F(OnAllocateNode, AStuckWriteTakesTheGroupOutOfOffer) {
  startShown();
  privd_->setBinding(Binding::kStuck);
  EXPECT_THAT(allocate({kFirst}).status.error_message(), HasSubstr("bind-failed:stuck"));
  EXPECT_TRUE(kubelet_->shows(kResource, {kSecond}, {kFirst})) << said();
}

TEST_F(OnAllocateNode, ABindThatIsLateServesTheNextPod) {
  startShown();
  auto late = allocateLater({kFirst});
  EXPECT_THAT(late.get().status.error_message(), HasSubstr("timed-out"));
  EXPECT_TRUE(kubelet_->shows(kResource, {kSecond}, {kFirst})) << "its bind runs: " << said();
  privd_->setBinding(Binding::kSucceeds);
  ASSERT_TRUE(showsBoth()) << said();
  EXPECT_TRUE(allocate({kFirst}).status.ok());
  EXPECT_EQ(privd_->binds(), 1U);
}

TEST_F(OnAllocateNode, I1_WhileAGroupIsBoundItsSiblingIsRefused) {
  startNode(kAllOnAllocate);
  ASSERT_TRUE(kubelet_->shows(kResource, {kFirst, kSibling, kSecond})) << said();
  auto first = allocateLater({kFirst});
  EXPECT_THAT(allocate({kSibling}).status.error_message(), HasSubstr("being-allocated"));
  privd_->setBinding(Binding::kSucceeds);
  EXPECT_TRUE(first.get().status.ok());
  EXPECT_THAT(allocate({kSibling}).status.error_message(), HasSubstr("group-allocated"));
}

TEST_F(OnAllocateNode, ReturnsToTheOriginalDriverAndIsAllocatedAgain) {
  startShown();
  const std::string id = admitPod("p1");
  ASSERT_TRUE(id == kFirst || id == kSecond) << id;
  const std::string other = id == kFirst ? kSecond : kFirst;
  privd_->setBinding(Binding::kWaits);
  kubelet_->end("p1");
  // The kubelet protects the pod last admitted.
  ASSERT_TRUE(kubelet_->admit({.uid = "p2", .initContainers = {}, .containers = {{"compute", {}}}})
                  .admitted);
  ASSERT_TRUE(until([this]() { return privd_->returns() == 1; })) << said();
  EXPECT_TRUE(kubelet_->shows(kResource, {other}, {id})) << said();
  EXPECT_THAT(allocate({id}).status.error_message(), HasSubstr("returning"));
  privd_->setBinding(Binding::kSucceeds);
  ASSERT_TRUE(showsBoth()) << said();
  EXPECT_TRUE(plugind_->says("\"event\":\"returned\"")) << said();
  EXPECT_TRUE(allocate({id}).status.ok());
  EXPECT_EQ(privd_->binds(), 2U);
}

// 19: after a reboot no Allocate comes for the same pod.
TEST_F(OnAllocateNode, RebootOnAllocate) {
  startShown();
  const std::string id = admitPod("p1");
  ASSERT_TRUE(kubelet_->startContainer("p1", "main").started) << said();
  kubelet_->powerOff();
  plugind_.reset();
  privd_.reset();
  startPlugind(kOnAllocate);
  kubelet_->start();
  startPrivd(onHostDrivers());
  ASSERT_TRUE(showsBoth()) << said();
  const auto again = kubelet_->startContainer("p1", "main");
  EXPECT_TRUE(again.started) << again.error << said();
  EXPECT_EQ(privd_->binds(), 1U);
}

TEST_F(OnAllocateNode, APreStartWhoseBindFailsIsRefusedAndAsksAgain) {
  startShown();
  const std::string id = admitPod("p1");
  // The other group's hold shows when plugind has seen that this one is on its host driver.
  Hardware unbound = onHostDrivers();
  unbound.group(id == kFirst ? 32 : 31).binding.excluded = true;
  privd_->setHardware(unbound.snapshot());
  ASSERT_TRUE(kubelet_->shows(kResource, {id}, {id == kFirst ? kSecond : kFirst})) << said();
  privd_->setBinding(Binding::kFails);
  EXPECT_THAT(kubelet_->startContainer("p1", "main").error, HasSubstr("bind-failed:failed"));
  privd_->setBinding(Binding::kSucceeds);
  EXPECT_TRUE(kubelet_->startContainer("p1", "main").started) << said();
}

// 26: a bridge that is enabled and a companion on its driver are no use.
TEST_F(OnAllocateNode, BridgeAndCompanion) {
  Hardware hardware = onHostDrivers();
  PciDevice& bridge = hardware.add("0000:64:00.0", 31);
  bridge.headerType = std::uint8_t{1};
  bridge.classCode = 0x060400;
  bridge.driver = "pcieport";
  bridge.vfioDev.reset();
  bridge.enableCount = 2;
  hardware.device(kSibling).driver = "snd_hda_intel";
  hardware.device(kSibling).classCode = 0x040300;
  hardware.device(kSibling).enableCount = 1;
  startPlugind(kOnAllocate);
  startKubelet();
  startPrivd(hardware);
  ASSERT_TRUE(showsBoth()) << said();
  EXPECT_TRUE(allocate({kFirst}).status.ok()) << said();
}

// I1: what privd bound for a pod that was never answered is nobody's, and is allocated without a
// bind.
TEST_F(OnAllocateNode, I1_ARestartBetweenBindAndAnswerAllocatesToOne) {
  startShown();
  auto cut = allocateLater({kFirst});
  plugind_.reset();
  EXPECT_FALSE(cut.get().status.ok());
  Hardware bound = onHostDrivers();
  for (const std::string& address : {kFirst, kSibling}) {
    bound.device(address).driver = "vfio-pci";
    bound.device(address).vfioDev = 7;
  }
  bound.group(31).groupNode = true;
  bound.group(31).binding = {.boundForAllocation = true};
  privd_->setHardware(bound.snapshot());
  startPlugind(kOnAllocate);
  ASSERT_TRUE(showsBoth()) << said();
  const unsigned binds = privd_->binds();
  EXPECT_TRUE(allocate({kFirst}).status.ok()) << said();
  EXPECT_EQ(privd_->binds(), binds);
}

TEST_F(OnAllocateNode, I3_PrivdsEndWhileItBindsRefuses) {
  startShown();
  auto cut = allocateLater({kFirst});
  privd_.reset();
  EXPECT_THAT(cut.get().status.error_message(), HasSubstr("privd-away"));
  startPrivd(onHostDrivers());
  ASSERT_TRUE(showsBoth()) << said();
  EXPECT_TRUE(allocate({kFirst}).status.ok()) << said();
}

TEST_F(OnAllocateNode, WithoutTheRightThatIsSaidOnceAndNothingIsOffered) {
  startPlugind(kOnAllocate);
  startKubelet();
  FakePrivd::Setup without = privdWith(onHostDrivers());
  without.mayBind = false;
  privd_.emplace(without);
  ASSERT_TRUE(plugind_->says("event=binding_denied")) << said();
  ASSERT_TRUE(kubelet_->shows(kResource, {}, {kFirst, kSecond})) << said();
  EXPECT_EQ(plugind_->count("event=binding_denied"), 1U) << said();
  EXPECT_EQ(privd_->binds(), 0U);
}

TEST_F(OnAllocateNode, WithoutABinderThatIsSaidAndWhenItComesItBinds) {
  startPlugind(kOnAllocate);
  startKubelet();
  FakePrivd::Setup without = privdWith(onHostDrivers());
  without.hasBinder = false;
  privd_.emplace(without);
  ASSERT_TRUE(plugind_->says("privd-binder is away")) << said();
  ASSERT_TRUE(kubelet_->shows(kResource, {}, {kFirst, kSecond})) << said();
  privd_->setBinder(true);
  ASSERT_TRUE(showsBoth()) << said();
  EXPECT_TRUE(allocate({kFirst}).status.ok()) << said();
}

/// Its session is not over, and so nothing else ends what waits.
TEST_F(OnAllocateNode, I3_TheBindersEndRefusesWhatItWasAskedFor) {
  startShown();
  auto cut = allocateLater({kFirst});
  privd_->setBinder(false);
  EXPECT_THAT(cut.get().status.error_message(), HasSubstr("could not be bound"));
  ASSERT_TRUE(plugind_->says("event=binder_went")) << said();
  EXPECT_EQ(privd_->hangUps(), 0U);
  EXPECT_EQ(plugind_->count("event=privd_went"), 0U) << said();
}

TEST_F(OnAllocateNode, I4_AnOperatorsExclusionLeavesAHeldDeviceHealthy) {
  startShown();
  const std::string id = admitPod("p1");
  Hardware held = onHostDrivers();
  held.group(31).binding.excluded = true;
  held.group(32).binding.excluded = true;
  privd_->setHardware(held.snapshot());
  EXPECT_TRUE(kubelet_->shows(kResource, {id}, {id == kFirst ? kSecond : kFirst})) << said();
  EXPECT_TRUE(plugind_->says("operator-excluded")) << said();
}

}  // namespace
}  // namespace vfiogate::test
