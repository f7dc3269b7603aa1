// A taken-over plugind on its own: what its filter and its rights leave it, what it leaves behind,
// and what the kubelet believes.

#include "tests/integration/split_case.h"
#include "tests/support/played/service_watch.h"
#include "tests/support/played/taken_over_program.h"
#include "tests/support/sanitizers.h"
#include "tests/support/seen/file_tree.h"
#include "tests/support/until.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <thread>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoDevice = "0000:fe:00.0";

struct ActRow {
  const char* name;
  const char* gets;
};
void PrintTo(const ActRow& row, std::ostream* out) {
  *out << row.name;
}

class TakenOverAlone : public SplitCase, public testing::WithParamInterface<ActRow> {
protected:
  void layOut(FakeSysfs& /*hardware*/) override {}
};

TEST_P(TakenOverAlone, IsRefusedOrDies) {
  ASSERT_TRUE(node_->startPrivd({"--plugind-rights", "watch,kubelet,bind"})) << node_->said();
  TakenOverProgram plugind(*node_, GetParam().name);
  EXPECT_EQ(plugind.got(kForAnAttack), GetParam().gets) << plugind.said();
  EXPECT_TRUE(servesOthers(*node_->privd, node_->directory("state"))) << node_->said();
}

constexpr const char* kDies = "SIGSYS";
INSTANTIATE_TEST_SUITE_P(
    OffTheWire, TakenOverAlone,
    testing::Values(ActRow{"OpensAFile", "errno 13"}, ActRow{"OpensPrivdsMemory", "errno 13"},
                    ActRow{"WritesPrivdsMemory", kDies}, ActRow{"TracesPrivd", kDies},
                    ActRow{"KillsPrivd", kDies}, ActRow{"KillsPrivdByThread", kDies},
                    ActRow{"TakesPrivdsDescriptor", kDies}, ActRow{"MakesALocalSocket", kDies},
                    ActRow{"MakesANetworkSocket", kDies}, ActRow{"MakesANetlinkSocket", kDies},
                    ActRow{"Connects", kDies}, ActRow{"Binds", kDies},
                    ActRow{"StartsAProgram", kDies}, ActRow{"StartsAProcess", kDies},
                    ActRow{"BecomesRoot", kDies}, ActRow{"UnlinksASocket", kDies},
                    ActRow{"LinksElsewhere", kDies}, ActRow{"RunsItsOwnCode", kDies},
                    ActRow{"LoadsAFilter", kDies}, ActRow{"LeavesItsNamespace", kDies}),
    [](const auto& row) { return row.param.name; });

class WatchedPrivd : public SplitCase {
protected:
  void layOut(FakeSysfs& /*hardware*/) override {}
};

// Or the waits above would say nothing.
TEST_F(WatchedPrivd, IsSeenToStandStill) {
  ASSERT_TRUE(node_->startPrivd({"--plugind-rights", "watch,kubelet,bind"})) << node_->said();
  ServiceWatch watch(*node_->privd, node_->directory("state"));
  node_->signalPrivd(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  node_->signalPrivd(SIGCONT);
  EXPECT_GT(watch.end().longestMs, 300) << node_->said();
}

// The gate alone, as seen by what it tells itself.
TEST_F(WatchedPrivd, AGateIsSeenToStandStillWhereNoBinderRuns) {
  ASSERT_TRUE(node_->startPrivd({"--plugind-rights", "watch,kubelet,cdi"})) << node_->said();
  ServiceWatch watch(*node_->privd, node_->directory("state"), ServiceWatch::Applied::kUnderAttack);
  TakenOverProgram plugind(*node_, "RefusalsWithoutEnd");
  ASSERT_TRUE(node_->privd->saysAll({"event=exclusions", "role=gate"}, 2)) << node_->said();
  const pid_t gate = node_->roleOf("gate");
  kill(gate, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  kill(gate, SIGCONT);
  EXPECT_EQ(plugind.got(kForAnAttack), "foreign") << plugind.said();
  EXPECT_GT(watch.end().longestMs, 300) << node_->said();
}

TEST_F(WatchedPrivd, I10_WhoHasRoomMadeForALargeGroupHoldsTheGateUpForNobody) {
  if (kWatchesThreads) GTEST_SKIP() << kFillsTheRecord;
  constexpr double kLongestWaitMs = kOwnAllocator ? 100 : 5'000;
  ASSERT_TRUE(node_->startPrivd({"--plugind-rights", "watch,kubelet"})) << node_->said();
  ServiceWatch::Seen seen;
  for (int tries = 0; tries < 4 && (tries == 0 || seen.longestMs >= kLongestWaitMs); ++tries) {
    ServiceWatch watch(*node_->privd, node_->directory("state"),
                       ServiceWatch::Applied::kUnderAttack);
    TakenOverProgram plugind(*node_, "MakesRoomForALargeGroup");
    EXPECT_EQ(plugind.got(kForAnAttack), "done") << plugind.said() << node_->said();
    seen = watch.end();
  }
  std::printf("others wait at most %.1f ms\n", seen.longestMs);
  EXPECT_LT(seen.longestMs, kLongestWaitMs);
}

class WithoutTheRightToBind : public SplitCase {
protected:
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = "0000:01:00.0"});
    hardware.add({.address = "0000:03:00.0", .driver = "nvidia", .group = 9});
  }
  /// The binder runs for what root declares.
  void startPrivd() {
    ASSERT_TRUE(node_->startPrivd({"--declare", std::string(kNoDevice) + "=10de:2684"}))
        << node_->said();
  }
  std::string attack(const char* name) {
    startPrivd();
    TakenOverProgram plugind(*node_, name);
    return plugind.got(kForAnAttack);
  }
};

TEST_F(WithoutTheRightToBind, ABinderThatRunsForOthersDoesNothingForIt) {
  const auto hardware = fileTree(node_->hardware.sysfs(), kNoDevice);
  EXPECT_EQ(attack("OrdersOfAllKinds"), "may not bind, denied 10") << node_->said();
  EXPECT_EQ(fileTree(node_->hardware.sysfs(), kNoDevice), hardware);
}

TEST_F(WithoutTheRightToBind, ABinderThatRunsForOthersOpensNoGroupForIt) {
  EXPECT_EQ(attack("ProbesWhatItLikes"), "not allowed 6") << node_->said();
}

TEST_F(WithoutTheRightToBind, ABinderThatRunsForOthersAsksNoCardForIt) {
  EXPECT_EQ(attack("ReadsSerialsOfWhatItLikes"), "not allowed 3") << node_->said();
}

TEST_F(WithoutTheRightToBind, I10_WhoAsksInARowWithoutEndHoldsTheBinderUpForNobody) {
  constexpr const char* kAttack = "AsksInARowWithoutEnd";
  constexpr double kLongestWaitMs = kOwnAllocator ? 100 : 5'000;
  startPrivd();
  ServiceWatch::Seen seen;
  for (int tries = 0; tries < 4 && (tries == 0 || seen.longestMs >= kLongestWaitMs); ++tries) {
    ServiceWatch watch(*node_->privd, node_->directory("state"));
    TakenOverProgram plugind(*node_, kAttack);
    EXPECT_EQ(plugind.got(kForAnAttack), "denied") << plugind.said();
    seen = watch.end();
  }
  EXPECT_LT(seen.longestMs, kLongestWaitMs);
  EXPECT_TRUE(node_->privd->saysAll({"event=request_refused", "role=binder", "request=bind"}))
      << node_->said();
  const std::size_t channels = node_->privd->count("event=plugind_connected role=binder");
  const TakenOverProgram plugind(*node_, kAttack);
  ASSERT_TRUE(node_->privd->saysAll({"event=plugind_connected", "role=binder"}, channels + 1))
      << node_->said();
  const auto told = std::chrono::steady_clock::now();
  node_->privd->signal(SIGTERM);
  EXPECT_EQ(node_->privd->wait(), 0) << node_->said();
  EXPECT_LT(std::chrono::steady_clock::now() - told, std::chrono::seconds(kOwnAllocator ? 1 : 10));
}

/// Nobody reads privd's log, and there is no room in it.
class UnreadLog : public SplitCase, public testing::WithParamInterface<ActRow> {
protected:
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = "0000:01:00.0"});
    hardware.add({.address = "0000:03:00.0", .driver = "nvidia", .group = 9});
    const std::string log = node_->directory("log");
    ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
    log_ = open(log.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    const std::string filling(4096, 'x');
    while (write(log_, filling.data(), filling.size()) > 0) {
    }
    node_->starters["privd"] = {"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>" + log};
  }
  void TearDown() override {
    if (log_ >= 0) close(log_);
    SplitCase::TearDown();
  }
  ChildProcess startPrivd() const {
    return ChildProcess(
        node_->command(
            "privd-daemon",
            {"--plugind", node_->plugindSocket(), "--sysfs", node_->hardware.sysfs(), "--dev",
             node_->hardware.dev(), "--kubelet-dir", node_->directory("kubelet"), "--state-dir",
             node_->directory("state"), "--audit-log", node_->directory("audit.jsonl"), "--uevents",
             "off", "--plugind-rights", "watch,kubelet,bind"}),
        filteredEnvironment());
  }
  int log_ = -1;
};

TEST_P(UnreadLog, HoldsNothingUpWhateverIsRefused) {
  TakenOverProgram plugind(*node_, GetParam().name);
  ChildProcess privd = startPrivd();
  EXPECT_EQ(plugind.got(kForAnAttack), GetParam().gets) << plugind.said();
  const auto told = std::chrono::steady_clock::now();
  privd.signal(SIGTERM);
  EXPECT_EQ(privd.wait(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - told, std::chrono::seconds(kOwnAllocator ? 1 : 10));
}

INSTANTIATE_TEST_SUITE_P(All, UnreadLog,
                         testing::Values(ActRow{"RefusalsWithoutEnd", "foreign"},
                                         ActRow{"BindsAgainstThePolicyWithoutEnd", "refused"},
                                         ActRow{"ReconnectsWithoutEnd",
                                                "at most 10 in 3 s of each"},
                                         ActRow{"WatchesAnewWithoutTaking", "hung up"}),
                         [](const auto& row) { return row.param.name; });

class AfterATakenOverPlugind : public SplitCase {
protected:
  void layOut(FakeSysfs& hardware) override { hardware.add({.address = "0000:01:00.0"}); }
  /// What it has told privd's gate stays with the gate.
  std::string attack(const char* name) {
    TakenOverProgram plugind(*node_, name);
    return plugind.got(kForAnAttack);
  }
  bool isOnRecord(const std::string& address) const {
    const fs::path file = node_->directory("state/devices/" + address);
    return fs::exists(file) && !fs::is_empty(file);
  }
  /// Where an Allocate is what adopts, it is answered before the gate has released what others
  /// allocated, file by file.
  bool isReleased(const std::string& address) const {
    return until([&] { return !isOnRecord(address); });
  }
};

TEST_F(AfterATakenOverPlugind, AnHonestOneAllocatesAndWhatWasMadeUpIsReleased) {
  if (kWatchesThreads) GTEST_SKIP() << kFillsTheRecord;
  const std::string resource = "vfiogate.dev/10de_2684";
  node_->kubelet.start();
  ASSERT_TRUE(node_->startPrivd()) << node_->said();
  ASSERT_EQ(attack("AllocatesMadeUpDevices"), "done 4096, failed 2304") << node_->said();
  ASSERT_TRUE(isOnRecord("0001:00:00.0"));
  ASSERT_TRUE(node_->startPlugind("resources: [{select: {vendor: \"10de\"}}]\n")) << node_->said();
  ASSERT_TRUE(node_->kubelet.shows(resource, {"0000:01:00.0"})) << node_->said();
  const auto pod = node_->kubelet.admit(podOf("pod-1", resource));
  EXPECT_TRUE(pod.admitted) << pod.message << node_->said();
  EXPECT_TRUE(isOnRecord("0000:01:00.0")) << node_->said();
  EXPECT_TRUE(isReleased("0001:00:00.0")) << "what nobody has" << node_->said();
}

class AfterATakenOverPlugindAndItsGate : public AfterATakenOverPlugind,
                                         public testing::WithParamInterface<ActRow> {};

// Of what is on file each gate begins with all.
TEST_P(AfterATakenOverPlugindAndItsGate, I10_TheNextGateServesAnHonestOne) {
  const std::string resource = "vfiogate.dev/10de_2684";
  node_->kubelet.start();
  ASSERT_TRUE(node_->startPrivd()) << node_->said();
  EXPECT_EQ(attack(GetParam().name), GetParam().gets) << node_->said();
  node_->privd->signal(SIGTERM);
  EXPECT_EQ(node_->privd->wait(), 0) << node_->said();
  ASSERT_TRUE(node_->startPrivd()) << node_->said();
  ASSERT_TRUE(node_->startPlugind("resources: [{select: {vendor: \"10de\"}}]\n")) << node_->said();
  ASSERT_TRUE(node_->kubelet.shows(resource, {"0000:01:00.0"})) << node_->said();
  const auto pod = node_->kubelet.admit(podOf("pod-1", resource));
  EXPECT_TRUE(pod.admitted) << pod.message << node_->said();
  EXPECT_TRUE(isReleased("0001:00:00.1")) << "what nobody has" << node_->said();
}

INSTANTIATE_TEST_SUITE_P(All, AfterATakenOverPlugindAndItsGate,
                         testing::Values(ActRow{"AllocatesTheLargestGroupAndAPartOfIt", "done 3"},
                                         ActRow{"AllocatesGroupsThatBeginWithOneDevice",
                                                "done 5, failed 4"}),
                         [](const auto& row) { return row.param.name; });

class PowerOfTheKubeletApi : public SplitCase {
protected:
  void layOut(FakeSysfs& hardware) override { hardware.add({.address = "0000:01:00.0"}); }
  void take(const char* attack) {
    node_->kubelet.start();
    plugind_.emplace(*node_, attack);
    ASSERT_TRUE(node_->startPrivd()) << node_->said();
    ASSERT_TRUE(plugind_->process().says("registered: yes")) << plugind_->said() << node_->said();
  }
  std::optional<TakenOverProgram> plugind_;
};

// Nothing here stops this: the kubelet believes the answer.
TEST_F(PowerOfTheKubeletApi, AForeignMountIsPassedOn) {
  const std::string resource = "vfiogate.dev/10de_2684";
  take("ServesAsItself");
  ASSERT_TRUE(node_->kubelet.shows(resource, {"false-0"})) << plugind_->said();
  const auto pod = node_->kubelet.admit(podOf("pod-1", resource));
  ASSERT_TRUE(pod.admitted) << pod.message;
  const auto& given = pod.granted.at(0).response;
  ASSERT_EQ(given.mounts_size(), 1);
  EXPECT_EQ(given.mounts(0).host_path(), "/");
  EXPECT_FALSE(given.mounts(0).read_only());
  EXPECT_EQ(given.devices(0).host_path(), "/dev/sda");
  EXPECT_EQ(given.envs().at("LD_PRELOAD"), "/host/tmp/x.so");
  EXPECT_EQ(given.cdi_devices(0).name(), "nvidia.com/gpu=all");
}

TEST_F(PowerOfTheKubeletApi, AnotherVendorsResourceIsTaken) {
  take("ServesAsAnotherVendor");
  EXPECT_TRUE(node_->kubelet.shows("nvidia.com/gpu", {"false-0"})) << plugind_->said();
  EXPECT_TRUE(node_->kubelet.admit(podOf("pod-1", "nvidia.com/gpu")).admitted);
}

}  // namespace
}  // namespace vfiogate::test
