// The two real programs, locked down, between a directory laid out like sysfs and the stand-in
// kubelet: what issue and README promise, end to end.

#include "tests/support/child_process.h"
#include "tests/support/fake_sysfs.h"
#include "tests/support/kubelet_sim/kubelet_sim.h"
#include "tests/support/process_status.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

namespace vfiogate::test {
namespace {

using sim::KubeletSim;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

const std::string kGpus = "vfiogate.dev/10de_2684";
const std::string kNics = "vfiogate.dev/8086_1572";
constexpr uid_t kPlugindUid = 64532;

constexpr const char* kConfig =
    "resources:\n"
    "  - select: {vendor: \"10de\", class: \"03\"}\n"
    "  - select: {vendor: \"8086\"}\n"
    "allocateWait: 2s\n";

sim::PodSpec podOf(const std::string& uid, const std::string& resource, std::size_t count = 1) {
  return {.uid = uid, .initContainers = {}, .containers = {{"compute", {{resource, count}}}}};
}

class Split : public testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: privd serves only as root";
    chmod(dir_.path().c_str(), 0755);
    for (const char* name : {"privd", "plugind", "kubelet", "kubelet/device-plugins"}) {
      std::filesystem::create_directory(dir_.path() / name);
    }
    ASSERT_EQ(chown((dir_ / "plugind").c_str(), kPlugindUid, kPlugindUid), 0);
    hardware_.add({.address = "0000:01:00.0"});
    hardware_.add({.address = "0000:01:00.1", .device = 0x22ba, .classCode = 0x040300});
    hardware_.add({.address = "0000:02:00.0", .group = 8, .numaNode = 1});
    kubelet_.emplace(dir_ / "kubelet");
  }
  // Nothing may outlive the directories below it, and a kubelet that would have crashed fails.
  void TearDown() override {
    if (kubelet_) {
      EXPECT_EQ(kubelet_->crash(), "");
    }
  }

  static std::string program(const std::string& name) {
    return std::string(getenv("VFIOGATE_BIN")) + "/" + name;
  }
  static std::map<std::string, std::string> environment() {
    // A sanitizer's own ways at the end and in new threads are not in the filter (ADR 0003).
    return {{"ASAN_OPTIONS", "detect_leaks=0:use_sigaltstack=0"}};
  }

  void startPrivd(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {program("privd"), "serve",
                                        "--socket",       privdSocket(),
                                        "--plugind",      plugindSocket(),
                                        "--sysfs",        hardware_.sysfs(),
                                        "--dev",          hardware_.dev(),
                                        "--kubelet-dir",  dir_ / "kubelet",
                                        "--state-dir",    dir_ / "state",
                                        "--uevents",      "off",
                                        "--rescan",       "1"};
    command.insert(command.end(), more.begin(), more.end());
    privd_.emplace(command, environment());
    ASSERT_TRUE(privd_->says("event=started")) << privd_->output();
  }
  void startPlugind(const std::string& config = kConfig) {
    std::ofstream(dir_ / "config.yaml") << config;
    plugind_.emplace(std::vector<std::string>{program("plugind"), "--listen", plugindSocket(),
                                              "--config", dir_ / "config.yaml"},
                     environment());
    ASSERT_TRUE(plugind_->says("event=started")) << plugind_->output();
  }
  /// Everything runs, and the kubelet has seen these.
  void startAll(const std::set<std::string>& gpus = {"0000:01:00.0", "0000:02:00.0"}) {
    kubelet_->start();
    startPlugind();
    startPrivd();
    ASSERT_TRUE(kubelet_->shows(kGpus, gpus)) << said();
  }
  std::string said() {
    std::string all;
    for (auto* process : {&privd_, &plugind_}) {
      if (!*process) continue;
      all += (*process)->output();
    }
    return all;
  }

  std::string privdSocket() const { return dir_ / "privd/privd.sock"; }
  std::string plugindSocket() const { return dir_ / "plugind/plugind.sock"; }

  TempDir dir_;
  FakeSysfs hardware_;
  std::optional<KubeletSim> kubelet_;
  std::optional<ChildProcess> privd_;
  std::optional<ChildProcess> plugind_;
};

TEST_F(Split, ADeviceReachesTheKubeletAndIsHandedOver) {
  startAll();
  const auto pod = kubelet_->admit(podOf("pod-1", kGpus));
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
  hardware_.add({.address = "0000:03:00.0", .group = 9, .numaNode = 1});
  startAll({"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"});
  const auto pod = kubelet_->admit(podOf("pod-1", kGpus, 2));
  ASSERT_TRUE(pod.admitted) << pod.message;
  EXPECT_THAT(pod.granted.at(0).ids, UnorderedElementsAre("0000:02:00.0", "0000:03:00.0"));
}

TEST_F(Split, I1_AGroupIsNeverLentTwice) {
  hardware_.add({.address = "0000:01:00.2", .device = 0x2684, .classCode = 0x030000});
  startAll();
  std::string error;
  kubelet_->offer(kGpus, {"0000:01:00.0"}, error);
  ASSERT_EQ(error, "");
  kubelet_->offer(kGpus, {"0000:01:00.2"}, error);
  EXPECT_NE(error, "");
  EXPECT_THAT(error, HasSubstr("0000:01:00.2"));
}

// A look for a call that came while an earlier one ran begins as that one ends.
TEST_F(Split, AllocatesThatMeetARunningLookAreJudgedAfterOneOfTheirOwn) {
  hardware_.add({.address = "0000:03:00.0", .group = 9});
  hardware_.add({.address = "0000:04:00.0", .group = 10});
  const std::set<std::string> gpus = {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0",
                                      "0000:04:00.0"};
  startAll(gpus);
  kubelet_->holdCheckpoints();  // the look runs for as long as these are kept back
  std::map<std::string, std::string> errors;
  std::vector<std::thread> pods;
  for (const std::string& gpu : gpus) {
    std::string& error = errors[gpu];
    pods.emplace_back([this, &gpu, &error]() { kubelet_->offer(kGpus, {gpu}, error); });
  }
  EXPECT_TRUE(kubelet_->awaitHeldCheckpoints(1)) << said();
  kubelet_->releaseCheckpoints();
  for (std::thread& pod : pods) pod.join();
  for (const auto& [gpu, error] : errors) EXPECT_EQ(error, "") << gpu << said();
}

TEST_F(Split, I3_AnOpenGroupIsRefused) {
  startAll();
  hardware_.setEnable("0000:02:00.0", 1);
  std::string error;
  kubelet_->offer(kGpus, {"0000:02:00.0"}, error);
  EXPECT_THAT(error, HasSubstr("0000:02:00.0"));
  EXPECT_TRUE(kubelet_->shows(kGpus, {"0000:01:00.0"}, {"0000:02:00.0"})) << said();
}

TEST_F(Split, I3_WithoutPrivdFramesStandAndLendingIsRefused) {
  startAll();
  privd_.reset();
  EXPECT_EQ(kubelet_->devices(kGpus).allocatable(), 2U);
  std::string error;
  kubelet_->offer(kGpus, {"0000:01:00.0"}, error);
  EXPECT_NE(error, "");
  EXPECT_TRUE(kubelet_->shows(kGpus, {}, {"0000:01:00.0", "0000:02:00.0"})) << said();
  startPrivd();
  EXPECT_TRUE(kubelet_->shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
  kubelet_->offer(kGpus, {"0000:01:00.0"}, error);
  EXPECT_EQ(error, "");
}

TEST_F(Split, PlugindOutlivesARestartOfPrivdWithoutAFlap) {
  startAll();
  const std::size_t frames = kubelet_->frames(kGpus);
  privd_.reset();
  startPrivd();
  ASSERT_TRUE(plugind_->says("event=privd_went")) << said();
  // A change after the restart shows that it watches again; no frame came in between.
  hardware_.add({.address = "0000:03:00.0", .group = 9});
  EXPECT_TRUE(kubelet_->shows(kGpus, {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"})) << said();
  EXPECT_EQ(kubelet_->frames(kGpus), frames + 1);
  EXPECT_EQ(kubelet_->streamsEnded(kGpus), 0U);
}

TEST_F(Split, I2_NewsReachesTheLiveStream) {
  startAll();
  hardware_.setDriver("0000:02:00.0", "nouveau");
  EXPECT_TRUE(kubelet_->shows(kGpus, {"0000:01:00.0"}, {"0000:02:00.0"})) << said();
  hardware_.setDriver("0000:02:00.0", "vfio-pci");
  EXPECT_TRUE(kubelet_->shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
  EXPECT_EQ(kubelet_->streamsEnded(kGpus), 0U);
}

TEST_F(Split, I2_AModelNotSeenBeforeStartsItsOwnResource) {
  startAll();
  hardware_.add({.address = "0000:05:00.0",
                 .vendor = 0x8086,
                 .device = 0x1572,
                 .classCode = 0x020000,
                 .group = 12});
  EXPECT_TRUE(kubelet_->shows(kNics, {"0000:05:00.0"})) << said();
  EXPECT_EQ(kubelet_->streamsEnded(kGpus), 0U);
}

TEST_F(Split, AKubeletRestartIsFollowedByARegistration) {
  startAll();
  kubelet_->restart();
  EXPECT_TRUE(kubelet_->shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
}

TEST_F(Split, AKubeletThatComesLaterIsFound) {
  startPlugind();
  startPrivd();
  kubelet_->start();
  EXPECT_TRUE(kubelet_->shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
}

TEST_F(Split, AKubeletThatRefusesIsAskedAgain) {
  kubelet_->behave(sim::Manner::kRefuses);
  kubelet_->start();
  startPlugind();
  startPrivd();
  ASSERT_TRUE(plugind_->says("not today")) << said();
  kubelet_->behave(sim::Manner::kRegisters);
  EXPECT_TRUE(kubelet_->shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
}

TEST_F(Split, AKubeletThatNeverAnswersHoldsNothingUp) {
  kubelet_->behave(sim::Manner::kSilent);
  kubelet_->start();
  startPlugind();
  startPrivd();
  ASSERT_TRUE(kubelet_->awaitRegistrations(kGpus, 1)) << said();
  kubelet_->behave(sim::Manner::kRegisters);
  kubelet_->restart();
  EXPECT_TRUE(kubelet_->shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
}

TEST_F(Split, AStreamThatEndsUnaskedIsRegisteredAgain) {
  startAll();
  kubelet_->dropStream(kGpus);
  EXPECT_TRUE(kubelet_->awaitRegistrations(kGpus, 2)) << said();
  EXPECT_TRUE(kubelet_->shows(kGpus, {"0000:01:00.0", "0000:02:00.0"})) << said();
}

TEST_F(Split, OneBrokenDeviceLeavesTheOthersAdvertised) {
  startAll();
  hardware_.setAttribute("0000:01:00.0", "class", "garbage\n");
  EXPECT_TRUE(kubelet_->shows(kGpus, {"0000:02:00.0"}, {"0000:01:00.0"})) << said();
}

TEST_F(Split, NothingIsAdvertisedUntilSomethingIsNamed) {
  kubelet_->start();
  startPlugind("resources: []\n");
  startPrivd();
  EXPECT_TRUE(plugind_->says("event=nothing_named")) << said();
  EXPECT_TRUE(plugind_->says("event=privd_came")) << said();
  EXPECT_TRUE(kubelet_->resources().empty());
}

TEST_F(Split, EveryThreadIsLockedDown) {
  startAll();
  kubelet_->admit(podOf("pod-1", kGpus));
  EXPECT_THAT(lockdownFaults(privd_->pid()), testing::IsEmpty());
  EXPECT_THAT(lockdownFaults(plugind_->pid()), testing::IsEmpty());
  EXPECT_THAT(identityFaults(privd_->pid(), 0), testing::IsEmpty());
  EXPECT_THAT(identityFaults(plugind_->pid(), kPlugindUid), testing::IsEmpty());
}

TEST_F(Split, PlugindHoldsItsLockButNoFileAndNoDirectory) {
  startAll();
  EXPECT_THAT(descriptorsOfKind(plugind_->pid(), S_IFREG),
              testing::ElementsAre(testing::EndsWith("/state/plugind.lock")));
  for (const mode_t kind : {S_IFDIR, S_IFCHR, S_IFBLK}) {
    EXPECT_THAT(descriptorsOfKind(plugind_->pid(), kind), testing::IsEmpty());
  }
}

TEST_F(Split, PlugindMayNotListenAsRoot) {
  kubelet_->start();
  startPrivd();
  // Root's own listener in plugind's place is dialled, seen for what it is, and told nothing.
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, plugindSocket().c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 4), 0);
  EXPECT_TRUE(privd_->says("event=plugind_refused")) << said();
  EXPECT_THAT(privd_->output(), HasSubstr("uid=0 expected=64532"));
  const int dialled = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
  char byte = 0;
  EXPECT_EQ(read(dialled, &byte, 1), 0);
  close(dialled);
  close(fd);
}

TEST_F(Split, OnlyRootReachesPrivdsSocket) {
  startPrivd();
  struct stat status = {};
  ASSERT_EQ(stat(privdSocket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  // Even where the mode lets somebody in, who it is counts.
  ASSERT_EQ(chmod(privdSocket().c_str(), 0666), 0);
  ASSERT_EQ(chmod((dir_ / "privd").c_str(), 0755), 0);
  ChildProcess stranger({"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                         program("privd"), "watch", "--socket", privdSocket()});
  EXPECT_TRUE(privd_->says("reason=\"only root may connect\"")) << said();
}

TEST_F(Split, WatchPrintsWhatChanges) {
  startPrivd();
  ChildProcess watch({program("privd"), "watch", "--socket", privdSocket()}, environment());
  ASSERT_TRUE(watch.says("added 0000:02:00.0")) << watch.output();
  hardware_.setDriver("0000:02:00.0", "nouveau");
  EXPECT_TRUE(watch.says("changed 0000:02:00.0 group=8 driver=nouveau state=host-driver"))
      << watch.output();
  hardware_.remove("0000:02:00.0");
  EXPECT_TRUE(watch.says("removed 0000:02:00.0")) << watch.output();
}

TEST_F(Split, AMachineWithManyDevicesIsSeenWhole) {
  char address[16];
  for (unsigned i = 0; i < 1000; ++i) {
    snprintf(address, sizeof(address), "0000:%02x:%02x.%u", 0x10 + i / 256, i / 8 % 32, i % 8);
    hardware_.add({.address = address, .group = 100 + i});
  }
  kubelet_->start();
  startPlugind();
  startPrivd();
  EXPECT_TRUE(kubelet_->await(kGpus, [](const auto& devices) {
    return devices.allocatable() == 1002;
  })) << said();
}

TEST_F(Split, AFlooderIsHungUpOnAndOthersAreServed) {
  startAll();
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, privdSocket().c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const std::string garbage(1 << 20, '\x7f');
  // privd closes long before all of it is taken.
  EXPECT_LT(send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(garbage.size()));
  EXPECT_TRUE(privd_->says("event=peer_hung_up")) << said();
  close(fd);
  std::string error;
  kubelet_->offer(kGpus, {"0000:01:00.0"}, error);
  EXPECT_EQ(error, "");
}

TEST_F(Split, ForeignResourcePrefixesAreRefusedByPrivd) {
  kubelet_->start();
  startPlugind("resources:\n  - name: nvidia.com/GPU\n    select: {vendor: \"10de\"}\n");
  startPrivd();
  EXPECT_TRUE(privd_->says("event=socket_refused resource=nvidia.com/GPU")) << said();
  EXPECT_THAT(said(), HasSubstr("--resource-prefix"));
}

TEST_F(Split, BothEndQuietlyOnSigterm) {
  startAll();
  for (auto* process : {&plugind_, &privd_}) {
    (*process)->signal(SIGTERM);
    EXPECT_EQ((*process)->wait(), 0) << said();
  }
}

}  // namespace
}  // namespace vfiogate::test
