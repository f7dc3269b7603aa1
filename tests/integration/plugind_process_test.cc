// What plugind does where privd does as the test says. The two real programs together:
// split_test.cc.

#include "tests/integration/plugind_process.h"
#include "ipc/socket/unix_socket.h"
#include "sim/base/process_status.h"

#include <gmock/gmock.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <future>

namespace vfiogate::test {
namespace {

using sim::Manner;
using testing::HasSubstr;

TEST_F(PlugindProcess, ShowsOneDeviceOfEachGroup) {
  startAll();
  EXPECT_TRUE(kubelet_->awaitRegistrations(kResource, 1));
}

TEST_F(PlugindProcess, AllocatesAGroupOnceWithNodesAndEnvironment) {
  startAll();
  const auto first = allocate({kFirst});
  ASSERT_TRUE(first.status.ok()) << first.status.error_message();
  const auto& container = first.response.container_responses(0);
  ASSERT_EQ(container.devices_size(), 2);
  EXPECT_EQ(container.devices(0).host_path(), "/dev/vfio/vfio");
  EXPECT_EQ(container.devices(1).host_path(), "/dev/vfio/31");
  EXPECT_EQ(container.envs().at("PCI_RESOURCE_VFIOGATE_DEV_10DE_2684"), "0000:65:00.0");
  EXPECT_TRUE(plugind_->says("\"event\":\"allocated\""));

  auto open = twoGroups();
  open.group(31).use = GroupUse::kOpen;
  privd_->setHardware(open.snapshot());
  const auto again = allocate({kFirst});
  EXPECT_EQ(again.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(again.status.error_message(), HasSubstr("0000:65:00.0, group 31"));
  EXPECT_THAT(again.status.error_message(), HasSubstr("still-open"));
  EXPECT_TRUE(kubelet_->shows(kResource, {kSecond}, {kFirst})) << "row 17: lingering";
}

TEST_F(PlugindProcess, RefusesWhatItNeverShowed) {
  startAll();
  const auto sibling = allocate({kSibling});
  EXPECT_EQ(sibling.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(sibling.status.error_message(), HasSubstr("not-shown"));
}

// I3: advertising fails static, allocation fails closed.
TEST_F(PlugindProcess, I3KeepsItsFramesWhilePrivdIsAwayAndRefusesWhatItCannotCheck) {
  startAll();
  ASSERT_TRUE(allocate({kFirst}).status.ok());
  privd_.reset();
  ASSERT_TRUE(plugind_->says("event=privd_went")) << said();
  EXPECT_EQ(kubelet_->devices(kResource).healthy(), (Ids{kFirst, kSecond}));

  const auto refused = allocate({kSecond});
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.status.error_message(), HasSubstr("privd-away"));
  EXPECT_TRUE(kubelet_->shows(kResource, {kFirst}, {kSecond}));

  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(allocate({kSecond}).status.ok());
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(1))
      << "only the first one of an outage waits";

  startPrivd();
  EXPECT_TRUE(showsBoth());
}

TEST_F(PlugindProcess, APrivdThatComesBackFlapsNoFrame) {
  startAll();
  const auto shown = plugind_->count("event=frame_shown");
  privd_.reset();
  ASSERT_TRUE(plugind_->says("event=privd_went")) << said();
  startPrivd();
  // An Allocate that privd answers proves that it is back and that nothing is under way.
  ASSERT_TRUE(allocate({kSecond}).status.ok());
  EXPECT_EQ(plugind_->count("event=frame_shown"), shown) << plugind_->output();
  EXPECT_TRUE(kubelet_->awaitRegistrations(kResource, 1));
}

TEST_F(PlugindProcess, AnAllocateWaitsForAPrivdThatComesBack) {
  startAll();
  privd_.reset();
  ASSERT_TRUE(plugind_->says("event=privd_went")) << said();
  auto waiting = std::async(std::launch::async, [this]() { return allocate({kSecond}); });
  startPrivd();
  EXPECT_TRUE(waiting.get().status.ok());
}

TEST_F(PlugindProcess, ANewKubeletIsRegisteredWithinASecond) {
  startAll();
  startKubelet();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(showsBoth()) << said();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
}

TEST_F(PlugindProcess, AKubeletThatDropsTheStreamIsRegisteredAgain) {
  startAll();
  kubelet_->dropStream(kResource);
  EXPECT_TRUE(kubelet_->awaitRegistrations(kResource, 2)) << said();
}

TEST_F(PlugindProcess, AKubeletThatRefusesIsAskedAgain) {
  startPlugind();
  startKubelet(Manner::kRefuses);
  startPrivd();
  ASSERT_TRUE(plugind_->says("not today")) << said();
  kubelet_->behave(Manner::kRegisters);
  EXPECT_TRUE(showsBoth()) << said();
}

TEST_F(PlugindProcess, AKubeletThatNeverAnswersHangsNothing) {
  startPlugind();
  startKubelet(Manner::kSilent);
  startPrivd();
  ASSERT_TRUE(kubelet_->awaitRegistrations(kResource, 1));
  startKubelet();
  EXPECT_TRUE(showsBoth()) << said();
}

// I2: news never costs a restart.
TEST_F(PlugindProcess, I2ANewModelStartsANewResourceAndOldStreamsLive) {
  startAll();
  auto hardware = twoGroups();
  hardware.add("0000:67:00.0", 33).device = std::uint16_t{0x1234};
  privd_->setHardware(hardware.snapshot());
  EXPECT_TRUE(kubelet_->shows("vfiogate.dev/10de_1234", {"0000:67:00.0"}));
  EXPECT_EQ(kubelet_->devices(kResource).healthy(), (Ids{kFirst, kSecond}));
}

TEST_F(PlugindProcess, I2ADeviceThatVanishesTurnsUnhealthyOnTheLiveStream) {
  startAll();
  auto hardware = twoGroups();
  hardware.remove(kSecond);
  privd_->setHardware(hardware.snapshot());
  EXPECT_TRUE(kubelet_->shows(kResource, {kFirst}, {kSecond}));
  privd_->setHardware(twoGroups().snapshot());
  EXPECT_TRUE(showsBoth());
}

TEST_F(PlugindProcess, AnUpdateThatDoesNotFollowIsAnsweredByAskingForTheWhole) {
  startAll();
  const auto wholes = privd_->wholes();
  privd_->skipADelta();
  ASSERT_TRUE(plugind_->says("event=update_refused"));
  EXPECT_TRUE(allocate({kSecond}).status.ok());
  EXPECT_EQ(privd_->wholes(), wholes + 1);
}

TEST_F(PlugindProcess, ARereadThatHangsIsRefusedInTime) {
  startAll();
  privd_->stallRereads();
  const auto began = std::chrono::steady_clock::now();
  const auto refused = allocate({kSecond});
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.status.error_message(), HasSubstr("timed-out"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  EXPECT_TRUE(showsBoth()) << "the group returned to what it was";
}

TEST_F(PlugindProcess, AnAllocateThatTheKubeletGivesUpTakesNothing) {
  startAll();
  privd_->stallRereads();
  const auto given = allocate({kFirst, kSecond}, std::chrono::milliseconds(200));
  EXPECT_EQ(given.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  ASSERT_TRUE(plugind_->says("\"reason\":\"cancelled\""));
  EXPECT_THAT(allocate({kFirst}).status.error_message(), HasSubstr("timed-out"))
      << "the group is free, not being allocated";
}

TEST_F(PlugindProcess, GarbageAndSilenceOnItsSocketKeepNobodyOut) {
  startPlugind();
  const auto silent = dialAt(socket().c_str());
  ASSERT_TRUE(silent);
  {
    const auto garbage = dialAt(socket().c_str());
    ASSERT_TRUE(garbage);
    EXPECT_GT(send(garbage->get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 0);
    EXPECT_TRUE(plugind_->says("event=handshake_failed")) << said();
  }
  startKubelet();
  startPrivd();
  EXPECT_TRUE(showsBoth()) << said();
}

TEST_F(PlugindProcess, AStrangerOnItsSocketIsSentAway) {
  startPlugind();
  std::async(std::launch::async, [this]() {
    // The bare call, which changes this thread only.
    ASSERT_EQ(syscall(SYS_setresuid, -1, 1234, -1), 0);
    const auto stranger = dialAt(socket().c_str());
    ASSERT_TRUE(stranger);
    char byte = 0;
    pollfd closed{stranger->get(), POLLIN, 0};
    EXPECT_EQ(poll(&closed, 1, 20'000), 1);
    EXPECT_EQ(recv(stranger->get(), &byte, 1, 0), 0) << "hung up on";
  }).get();
  EXPECT_TRUE(plugind_->says("event=peer_refused"));
  EXPECT_THAT(plugind_->output(), HasSubstr("uid=1234 wanted_uid=0"));
}

TEST_F(PlugindProcess, APrivdOfAnotherReleaseIsToldSoInTheLog) {
  const std::string kOurs = std::to_string(schema::PROTOCOL);
  constexpr std::uint16_t kOther = schema::PROTOCOL + 1;
  startPlugind();
  FakePrivd::Setup other = privdWith({});
  other.channelVersion = kOther;
  privd_.emplace(other);
  EXPECT_TRUE(
      plugind_->says("speaks version " + std::to_string(kOther) + ", this is version " + kOurs));
  other = privdWith({});
  other.protocol = kOther;
  privd_.emplace(other);
  EXPECT_TRUE(
      plugind_->says("speaks protocol " + std::to_string(kOther) + ", this is protocol " + kOurs));
  privd_.reset();
  startKubelet();
  startPrivd();
  EXPECT_TRUE(showsBoth()) << said();
}

TEST_F(PlugindProcess, TakesNoSecondPrivd) {
  startAll();
  FakePrivd second(privdWith(twoGroups()));
  EXPECT_TRUE(plugind_->says("privd is here already"));
  EXPECT_EQ(second.sessions(), 0U);
  EXPECT_EQ(privd_->hangUps(), 0U);
}

TEST_F(PlugindProcess, IsLockedDownBeforeItServesAndStaysSo) {
  startAll();
  ASSERT_TRUE(allocate({kFirst}).status.ok());
  EXPECT_THAT(lockdownFaults(plugind_->pid()), testing::IsEmpty());
  EXPECT_THAT(identityFaults(plugind_->pid(), 64532), testing::IsEmpty());
  // But for what it reads just now of the kubelet's, through a descriptor of privd's.
  EXPECT_THAT(descriptorsOfKind(plugind_->pid(), {S_IFREG}),
              testing::Each(testing::EndsWith("kubelet_internal_checkpoint")));
  EXPECT_THAT(descriptorsOfKind(plugind_->pid(), {S_IFDIR}), testing::IsEmpty());
}

TEST_F(PlugindProcess, ThatIsNotStartedAsRootSaysSoAndStaysWhoItIs) {
  constexpr uid_t kOther = 1234;
  ASSERT_EQ(chown((directory_ / "plugind").c_str(), kOther, kOther), 0);
  plugind_.emplace(
      std::vector<std::string>{"/usr/bin/setpriv", "--reuid=1234", "--regid=1234", "--clear-groups",
                               builtProgram("plugind"), "--listen", socket()},
      filteredEnvironment());
  ASSERT_TRUE(plugind_->says("event=started")) << said();
  EXPECT_THAT(said(), HasSubstr("event=not_root uid=1234 wanted_uid=64532"));
  EXPECT_THAT(identityFaults(plugind_->pid(), kOther), testing::IsEmpty());
}

TEST_F(PlugindProcess, LeavesQuietlyWhenTold) {
  startAll();
  const auto frames = kubelet_->frames(kResource);
  plugind_->signal(SIGTERM);
  EXPECT_EQ(plugind_->wait(), 0) << said();
  EXPECT_EQ(kubelet_->frames(kResource), frames) << "no empty frame";
}

TEST_F(PlugindProcess, SaysThatNothingIsAdvertisedUntilSomethingIsNamed) {
  startPlugind("resources: []\n");
  EXPECT_THAT(plugind_->output(), HasSubstr("event=nothing_named"));
}

}  // namespace
}  // namespace vfiogate::test
