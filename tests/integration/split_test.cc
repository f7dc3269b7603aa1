// The two real programs, locked down, between a directory laid out like sysfs and the stand-in
// kubelet: what issue and README promise, end to end.

#include "sim/base/process_status.h"
#include "tests/integration/split_case.h"
#include "tests/support/seen/network_sockets.h"

#include <gmock/gmock.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>

namespace vfiogate::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

const std::string kGpus = "vfiogate.dev/10de_2684";
const std::string kNics = "vfiogate.dev/8086_1572";

constexpr const char* kConfig =
    "resources:\n"
    "  - select: {vendor: \"10de\", class: \"03\"}\n"
    "  - select: {vendor: \"8086\"}\n";

class Split : public SplitCase {
protected:
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = "0000:01:00.0"});
    hardware.add({.address = "0000:01:00.1", .device = 0x22ba, .classCode = 0x040300});
    hardware.add({.address = "0000:02:00.0", .group = 8, .numaNode = 1});
  }
  void startPrivd() { ASSERT_TRUE(node_->startPrivd()) << said(); }
  void startPlugind(const std::string& config = kConfig) {
    ASSERT_TRUE(node_->startPlugind(config)) << said();
  }
  /// Everything runs, and the kubelet has seen these.
  void startAll(const std::set<std::string>& gpus = {"0000:01:00.0", "0000:02:00.0"}) {
    node_->kubelet.start();
    startPlugind();
    startPrivd();
    ASSERT_TRUE(node_->kubelet.shows(kGpus, gpus)) << said();
  }
  std::string said() { return node_->said(); }
};

TEST_F(Split, EachProgramSaysAtItsStartOfWhatItWasBuilt) {
  startPlugind();
  ASSERT_TRUE(node_->startPrivd({"--plugind-rights", "watch,kubelet,bind"})) << said();
  EXPECT_TRUE(node_->plugind->says("event=started " + builtOf("plugind"))) << said();
  for (const char* role : {"daemon", "gate", "hardware", "binder"}) {
    const std::string built = builtOf(std::string("privd-") + role);
    EXPECT_TRUE(node_->privd->says(std::string("event=started role=") + role + " " + built))
        << said();
  }
}

TEST_F(Split, ADeviceReachesTheKubeletAndIsHandedOver) {
  startAll();
  const auto pod = node_->kubelet.admit(podOf("pod-1", kGpus));
  ASSERT_TRUE(pod.admitted) << pod.message;
  ASSERT_EQ(pod.granted.size(), 1U);
  const std::string id = pod.granted[0].ids.at(0);
  const std::string group = id == "0000:01:00.0" ? "7" : "8";
  std::vector<std::string> nodes;
  for (const auto& node : pod.granted[0].response.devices()) {
    EXPECT_EQ(node.host_path(), node.container_path());
    EXPECT_EQ(node.permissions(), "mrw");
    nodes.push_back(node.host_path());
  }
  EXPECT_EQ(nodes, (std::vector<std::string>{"/dev/vfio/vfio", "/dev/vfio/" + group}));
  EXPECT_EQ(pod.granted[0].response.envs().at("PCI_RESOURCE_VFIOGATE_DEV_10DE_2684"), id);
}

// K18: the stand-in asks, takes the answer, and would have picked at random otherwise.
TEST_F(Split, APodOfSeveralDevicesGetsThemOnOneNumaNode) {
  node_->hardware.add({.address = "0000:03:00.0", .group = 9, .numaNode = 1});
  startAll({"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"});
  const auto pod = node_->kubelet.admit(podOf("pod-1", kGpus, 2));
  ASSERT_TRUE(pod.admitted) << pod.message;
  EXPECT_THAT(pod.granted.at(0).ids, UnorderedElementsAre("0000:02:00.0", "0000:03:00.0"));
}

// As `kubeadm reset` does it, and whoever clears the kubelet's directory by hand.
TEST_F(Split, ADirectoryOfTheKubeletsThatIsMadeAnewEndsPrivdWhichIsWellOnceItIsBack) {
  startAll();
  if (node_->privd->count("event=landlock abi=0") != 0) GTEST_SKIP() << "nothing is confined here";
  node_->kubelet.crash();
  const std::string plugins = node_->directory("kubelet/device-plugins");
  std::filesystem::rename(plugins, node_->directory("kubelet/old"));
  std::filesystem::create_directory(plugins);
  EXPECT_TRUE(node_->privd->says("event=directory_lost directory=" + plugins)) << said();
  EXPECT_EQ(node_->privd->wait(), 1) << said();
  startPrivd();
  node_->kubelet.start();
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
}

TEST_F(Split, I1_AGroupIsNeverAllocatedTwice) {
  node_->hardware.add({.address = "0000:01:00.2", .device = 0x2684, .classCode = 0x030000});
  startAll();
  std::string error;
  node_->kubelet.offer(kGpus, {"0000:01:00.0"}, error);
  ASSERT_EQ(error, "");
  node_->kubelet.offer(kGpus, {"0000:01:00.2"}, error);
  EXPECT_NE(error, "");
  EXPECT_THAT(error, HasSubstr("0000:01:00.2"));
}

// A look for a call that came while an earlier one ran begins as that one ends.
TEST_F(Split, AllocatesThatMeetARunningReconcileAreJudgedAfterOneOfTheirOwn) {
  node_->hardware.add({.address = "0000:03:00.0", .group = 9});
  node_->hardware.add({.address = "0000:04:00.0", .group = 10});
  const std::set<std::string> gpus = {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0",
                                      "0000:04:00.0"};
  startAll(gpus);
  node_->kubelet.holdCheckpoints();  // the reconcile runs for as long as these are kept back
  std::map<std::string, std::string> errors;
  std::vector<std::thread> pods;
  for (const std::string& gpu : gpus) {
    std::string& error = errors[gpu];
    pods.emplace_back([this, &gpu, &error]() { node_->kubelet.offer(kGpus, {gpu}, error); });
  }
  EXPECT_TRUE(node_->kubelet.awaitHeldCheckpoints(1)) << said();
  node_->kubelet.releaseCheckpoints();
  for (std::thread& pod : pods) pod.join();
  for (const auto& [gpu, error] : errors) EXPECT_EQ(error, "") << gpu << said();
}

TEST_F(Split, I3_AnOpenGroupIsRefused) {
  startAll();
  node_->hardware.setEnable("0000:02:00.0", 1);
  std::string error;
  node_->kubelet.offer(kGpus, {"0000:02:00.0"}, error);
  EXPECT_THAT(error, HasSubstr("0000:02:00.0"));
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0"}, {"0000:02:00.0"})) << said();
}

TEST_F(Split, I3_WithoutPrivdFramesStandAndAllocationIsRefused) {
  startAll();
  node_->killPrivd();
  EXPECT_EQ(node_->kubelet.devices(kGpus).allocatable(), 2U);
  std::string error;
  node_->kubelet.offer(kGpus, {"0000:01:00.0"}, error);
  EXPECT_NE(error, "");
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {}, {"0000:01:00.0", "0000:02:00.0"})) << said();
  startPrivd();
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
  node_->kubelet.offer(kGpus, {"0000:01:00.0"}, error);
  EXPECT_EQ(error, "");
}

TEST_F(Split, PlugindOutlivesARestartOfPrivdWithoutAFlap) {
  startAll();
  const std::size_t frames = node_->kubelet.frames(kGpus);
  node_->killPrivd();
  startPrivd();
  ASSERT_TRUE(node_->plugind->says("event=privd_went")) << said();
  // A change after the restart shows that it watches again; no frame came in between.
  node_->hardware.add({.address = "0000:03:00.0", .group = 9});
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"}))
      << said();
  EXPECT_EQ(node_->kubelet.frames(kGpus), frames + 1);
  EXPECT_EQ(node_->kubelet.streamsEnded(kGpus), 0U);
}

TEST_F(Split, I2_NewsReachesTheLiveStream) {
  startAll();
  node_->hardware.setDriver("0000:02:00.0", "nouveau");
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0"}, {"0000:02:00.0"})) << said();
  node_->hardware.setDriver("0000:02:00.0", "vfio-pci");
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
  EXPECT_EQ(node_->kubelet.streamsEnded(kGpus), 0U);
}

TEST_F(Split, I2_AModelNotSeenBeforeStartsItsOwnResource) {
  startAll();
  node_->hardware.add({.address = "0000:05:00.0",
                       .vendor = 0x8086,
                       .device = 0x1572,
                       .classCode = 0x020000,
                       .group = 12});
  EXPECT_TRUE(node_->kubelet.shows(kNics, {"0000:05:00.0"})) << said();
  EXPECT_EQ(node_->kubelet.streamsEnded(kGpus), 0U);
}

TEST_F(Split, AKubeletRestartIsFollowedByARegistration) {
  startAll();
  node_->kubelet.restart();
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
}

TEST_F(Split, AKubeletThatComesLaterIsFound) {
  startPlugind();
  startPrivd();
  node_->kubelet.start();
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
}

TEST_F(Split, AKubeletThatRefusesIsAskedAgain) {
  node_->kubelet.behave(sim::Manner::kRefuses);
  node_->kubelet.start();
  startPlugind();
  startPrivd();
  ASSERT_TRUE(node_->plugind->says("not today")) << said();
  node_->kubelet.behave(sim::Manner::kRegisters);
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
}

TEST_F(Split, AKubeletThatNeverAnswersHoldsNothingUp) {
  node_->kubelet.behave(sim::Manner::kSilent);
  node_->kubelet.start();
  startPlugind();
  startPrivd();
  ASSERT_TRUE(node_->kubelet.awaitRegistrations(kGpus, 1)) << said();
  node_->kubelet.behave(sim::Manner::kRegisters);
  node_->kubelet.restart();
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
}

TEST_F(Split, AStreamThatEndsUnaskedIsRegisteredAgain) {
  startAll();
  node_->kubelet.dropStream(kGpus);
  EXPECT_TRUE(node_->kubelet.awaitRegistrations(kGpus, 2)) << said();
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
}

TEST_F(Split, OneBrokenDeviceLeavesTheOthersAdvertised) {
  startAll();
  node_->hardware.setAttribute("0000:01:00.0", "modalias", "garbage\n");
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {"0000:02:00.0"}, {"0000:01:00.0"})) << said();
}

// No event and no scan shows it: what is there is read for the call.
TEST_F(Split, I9_ACardThatIsExcludedIsNeitherGrantedNorStartedInThePlaceOfAnother) {
  node_->kubelet.start();
  startPlugind(
      "exclude:\n  - {vendor: \"8086\"}\nresources:\n  - select: {class: [\"02\", \"03\"]}\n");
  ASSERT_TRUE(node_->startPrivd({"--rescan", "3600"})) << said();
  ASSERT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
  const auto pod = node_->kubelet.admit(podOf("p1", kGpus));
  ASSERT_TRUE(pod.admitted) << pod.message;
  const std::string held = pod.granted.at(0).ids.at(0);
  const bool first = held == "0000:01:00.0";
  ASSERT_EQ(node_->kubelet.startContainer("p1", "compute").error, "") << said();
  for (const char* address : {"0000:01:00.0", "0000:02:00.0"}) {
    node_->hardware.setIds(
        {.address = address, .vendor = 0x8086, .device = 0x1572, .classCode = 0x020000});
  }
  std::string error;
  node_->kubelet.offer(kGpus, {first ? "0000:02:00.0" : "0000:01:00.0"}, error);
  EXPECT_THAT(error, AllOf(HasSubstr("other hardware than was offered is at its address: was "
                                     "10de:2684 "),
                           HasSubstr(", is 8086:1572 ")))
      << said();
  EXPECT_THAT(node_->kubelet.restartContainer("p1", "compute").error,
              AllOf(HasSubstr(held), HasSubstr("other hardware than was allocated")))
      << said();
}

TEST_F(Split, NothingIsAdvertisedUntilSomethingIsNamed) {
  node_->kubelet.start();
  startPlugind("resources: []\n");
  startPrivd();
  EXPECT_TRUE(node_->plugind->says("event=nothing_named")) << said();
  EXPECT_TRUE(node_->plugind->says("event=privd_came")) << said();
  EXPECT_TRUE(node_->kubelet.resources().empty());
}

TEST_F(Split, EveryThreadIsLockedDown) {
  startAll();
  node_->kubelet.admit(podOf("pod-1", kGpus));
  const std::map<pid_t, uid_t> users{{node_->privd->pid(), 0},
                                     {node_->roleOf("hardware"), 64531},
                                     {node_->roleOf("gate"), 0},
                                     {node_->plugind->pid(), kPlugindUid}};
  for (const auto& [pid, user] : users) {
    EXPECT_THAT(lockdownFaults(pid), testing::IsEmpty()) << user;
    EXPECT_THAT(identityFaults(pid, user), testing::IsEmpty()) << user;
  }
}

// ADR 0023. Linux cuts a name after 15 characters; a spare one is called as its process.
TEST_F(Split, PlugindsThreadsAreFewAndKnown) {
  startAll();
  ASSERT_TRUE(node_->kubelet.admit(podOf("pod-1", kGpus)).admitted) << said();
  std::vector<std::string> names;
  for (const auto& [id, status] : threadStatuses(node_->plugind->pid())) {
    names.push_back(status.at("Name"));
  }
  EXPECT_LE(names.size(), 8U) << testing::PrintToString(names);
  EXPECT_THAT(names, testing::Each(testing::AnyOf("plugind", "call_queue", "default-executo",
                                                  "resolver-execut", "grpc_global_tim")));
}

TEST_F(Split, PlugindHoldsItsLockButNoFileAndNoDirectory) {
  startAll();
  // A version of the checkpoint that is being read goes away again.
  const auto files = [this] { return descriptorsOfKind(node_->plugind->pid(), {S_IFREG}); };
  for (int i = 0; i < 1000 && files().size() > 1; ++i) usleep(10'000);
  EXPECT_THAT(files(), testing::ElementsAre(testing::EndsWith("/state/plugind.lock")));
  EXPECT_THAT(descriptorsOfKind(node_->plugind->pid(), {S_IFDIR, S_IFCHR, S_IFBLK}),
              testing::IsEmpty());
}

TEST_F(Split, PlugindMayNotListenAsRoot) {
  node_->kubelet.start();
  startPrivd();
  // Root's own listener in plugind's place is dialled, seen for what it is, and told nothing.
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, node_->plugindSocket().c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 4), 0);
  EXPECT_TRUE(node_->privd->says("event=plugind_refused")) << said();
  EXPECT_THAT(node_->privd->output(), HasSubstr("uid=0 expected=64532"));
  const int dialled = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
  char byte = 0;
  EXPECT_EQ(read(dialled, &byte, 1), 0);
  close(dialled);
  close(fd);
}

// It dials, and nobody dials it: the kubelet's and plugind's sockets are plugind's.
TEST_F(Split, NobodyCanConnectToPrivd) {
  node_->kubelet.start();
  startPlugind();
  ASSERT_TRUE(node_->startPrivd({"--plugind-rights", "watch,kubelet,bind"})) << said();
  ASSERT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
  ASSERT_TRUE(node_->kubelet.admit(podOf("pod-1", kGpus)).admitted) << said();
  EXPECT_THAT(listeningPathsOf(node_->plugind->pid()),
              UnorderedElementsAre(HasSubstr(node_->directory("plugind")),
                                   HasSubstr(node_->directory("kubelet/device-plugins"))));
  EXPECT_THAT(listeningPathsOf(node_->privd->pid()), testing::IsEmpty());
  for (const std::string& role : SplitNode::kRoles) {
    const pid_t pid = node_->roleOf(role);
    ASSERT_THAT(localSocketsOf(pid), testing::Not(testing::IsEmpty())) << role;  // its channel
    EXPECT_THAT(listeningPathsOf(pid), testing::IsEmpty()) << role;
  }
}

TEST_F(Split, WatchPrintsWhatChangesWithoutADaemon) {
  ChildProcess watch({builtProgram("privd"), "watch", "--sysfs", node_->hardware.sysfs(), "--dev",
                      node_->hardware.dev(), "--rescan", "1"},
                     filteredEnvironment());
  ASSERT_TRUE(watch.says("added 0000:02:00.0")) << watch.output();
  node_->hardware.setDriver("0000:02:00.0", "nouveau");
  EXPECT_TRUE(watch.says("changed 0000:02:00.0 group=8 driver=nouveau state=host-driver"))
      << watch.output();
  node_->hardware.remove("0000:02:00.0");
  EXPECT_TRUE(watch.says("removed 0000:02:00.0")) << watch.output();
}

TEST_F(Split, AMachineWithManyDevicesIsSeenWhole) {
  char address[16];
  for (unsigned i = 0; i < 1000; ++i) {
    snprintf(address, sizeof(address), "0000:%02x:%02x.%u", 0x10 + i / 256, i / 8 % 32, i % 8);
    node_->hardware.add({.address = address, .group = 100 + i});
  }
  node_->kubelet.start();
  startPlugind();
  startPrivd();
  EXPECT_TRUE(node_->kubelet.await(kGpus, [](const auto& devices) {
    return devices.allocatable() == 1002;
  })) << said();
}

TEST_F(Split, ForeignResourcePrefixesAreRefusedByPrivd) {
  node_->kubelet.start();
  startPlugind("resources:\n  - name: nvidia.com/GPU\n    select: {vendor: \"10de\"}\n");
  startPrivd();
  EXPECT_TRUE(node_->privd->says("event=socket_refused resource=nvidia.com/GPU")) << said();
  EXPECT_THAT(said(), HasSubstr("--resource-prefix"));
}

TEST_F(Split, BothEndQuietlyOnSigterm) {
  startAll();
  for (auto* process : {&node_->plugind, &node_->privd}) {
    (*process)->signal(SIGTERM);
    EXPECT_EQ((*process)->wait(), 0) << said();
  }
}

}  // namespace
}  // namespace vfiogate::test
