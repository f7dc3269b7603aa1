// A taken-over plugind against the shipped privd: what each attack gets, what it costs privd, and
// how long others' orders wait meanwhile.

#include "tests/integration/split_case.h"
#include "tests/support/played/claim_specs.h"
#include "tests/support/played/service_watch.h"
#include "tests/support/played/taken_over_program.h"

#include <gmock/gmock.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <thread>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarkerDevice = "0000:00:1f.0";
/// For an attack, which lasts some seconds, under sanitizers on a busy machine.
constexpr std::chrono::seconds kForAnAttack{120};
/// Resident memory that neither process of privd's ever has: the container may have 64 MiB in all,
/// with the files that the record has on a tmpfs.
constexpr std::size_t kMostKib = 24'576;
/// Resident memory that counts as unchanged.
constexpr std::size_t kFlatKib = 1'024;

struct WireRow {
  const char* name;  ///< of the attack
  const char* gets;  ///< all that comes of it, without the number at its end
};
void PrintTo(const WireRow& row, std::ostream* out) {
  *out << row.name;
}

class TakenOver : public SplitCase, public testing::WithParamInterface<WireRow> {
public:
  static void SetUpTestSuite() {
    std::printf("%-30s %-48s %26s %26s %15s %22s\n", "a taken-over plugind", "gets",
                "daemon's KiB before/peak/after", "gate's KiB before/peak/after", "descriptors",
                "others wait, ms median/max");
  }

protected:
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = "0000:01:00.0"});
    hardware.add({.address = "0000:02:00.0", .group = 8});
    hardware.add({.address = "0000:03:00.0", .driver = "nvidia", .group = 9});
    hardware.add({.address = "0000:04:00.0", .driver = "", .group = 10});
    node_->addMarker();
  }
  void startPrivd() {
    fs::create_directories(metadata());
    node_->kubelet.start();
    ASSERT_TRUE(node_->startPrivd({"--plugind-rights", "watch,kubelet,cdi", "--cdi-dir",
                                   node_->directory("cdi"), "--dra-driver", kDraDriver}))
        << node_->said();
  }
  fs::path metadata() const {
    return node_->directory("kubelet") + "/plugins/" + kDraDriver + "/dra-device-metadata";
  }

  /// What the attack got.
  std::string attack() {
    TakenOverProgram plugind(*node_, GetParam().name);
    const std::string name = GetParam().name;
    if (name == "AGroupThatLeft") {
      EXPECT_TRUE(plugind.process().says("ready:")) << plugind.said();
      node_->hardware.remove(kMarkerDevice);
    }
    if (name == "DialsItself") putOthersInTheKubeletsPlace(plugind);
    const std::string got = plugind.got(kForAnAttack);
    if (name == "AGroupThatLeft") node_->addMarker();
    if (name == "DialsItself") fs::rename(kubeletSocket() + ".kept", kubeletSocket());
    if (got != GetParam().gets) ADD_FAILURE() << plugind.said();
    return got;
  }

  std::string kubeletSocket() const {
    return node_->directory("kubelet/device-plugins/kubelet.sock");
  }
  /// What privd made for plugind: first a link to it, then itself. Somebody with the kubelet's
  /// directory could.
  void putOthersInTheKubeletsPlace(TakenOverProgram& plugind) const {
    const std::string ready = "ready: link to ";
    EXPECT_TRUE(plugind.process().says(ready)) << plugind.said();
    const std::string said = plugind.said();
    const std::size_t begin = said.find(ready) + ready.size();
    const std::string made = node_->directory("kubelet/device-plugins/") +
                             said.substr(begin, said.find('\n', begin) - begin);
    const std::string place = kubeletSocket();
    fs::rename(place, place + ".kept");
    fs::create_symlink(made, place);
    EXPECT_TRUE(plugind.process().says("ready: socket to ")) << plugind.said();
    fs::remove(place);
    fs::create_hard_link(made, place);
  }

  /// The attack, with others watched. How far one comes before it is hung up on differs, and with
  /// it what privd's allocator keeps: a leak grows each time, so the growth is that of the least of
  /// a few.
  ServiceWatch::Seen watchedAttack() {
    constexpr int kTries = 4;
    for (int tries = 1;; ++tries) {
      ServiceWatch watch(*node_->privd, node_->directory("state"));
      EXPECT_EQ(attack(), GetParam().gets) << node_->said();
      const ServiceWatch::Seen seen = watch.end();
      const bool flat = isFlat(seen.daemon) && isFlat(seen.gate);
      if (flat || !kOwnAllocator || tries == kTries) return seen;
    }
  }

  static bool isFlat(const ServiceWatch::Sizes& sizes) {
    return sizes.after.residentKib < sizes.before.residentKib + kFlatKib;
  }
  static void expectBounded(const ServiceWatch::Sizes& sizes, const char* whose) {
    EXPECT_LE(sizes.after.descriptors, sizes.before.descriptors + 1)
        << whose << ": " << sizes.after.str();
    EXPECT_LE(sizes.peak.descriptors, sizes.before.descriptors + 16)
        << whose << ": " << sizes.peak.str();
    if (!kOwnAllocator) return;
    EXPECT_LT(sizes.peak.residentKib, sizes.before.residentKib + 12'288)
        << whose << ": " << sizes.peak.str();
    EXPECT_TRUE(isFlat(sizes)) << whose << ": " << sizes.after.str();
    EXPECT_LT(sizes.peak.residentKib, kMostKib) << whose << ": " << sizes.peak.str();
  }

  /// Nothing anywhere but what privd makes in the places that are its own.
  void expectNothingElsewhere() {
    const std::string own = "vfiogate-";
    for (const auto& entry : fs::directory_iterator(node_->directory("kubelet/device-plugins"))) {
      const std::string name = entry.path().filename();
      const bool kubelets = name == "kubelet.sock" || name.starts_with("kubelet_internal");
      EXPECT_TRUE(kubelets || name.starts_with(own)) << name;
    }
    if (!fs::exists(node_->directory("cdi"))) return;
    for (const auto& entry : fs::directory_iterator(node_->directory("cdi"))) {
      EXPECT_THAT(entry.path().filename().string(), testing::StartsWith(own));
    }
  }
};

// I6, I7 and I10, of whoever has plugind.
TEST_P(TakenOver, GetsNothingBeyondItsRightsAndOthersAreServed) {
  startPrivd();
  EXPECT_EQ(attack(), GetParam().gets) << node_->said();  // what a first time costs is no growth
  const ServiceWatch::Seen seen = watchedAttack();
  std::printf("%-30s %-48s %10zu/%7zu/%7zu %10zu/%7zu/%7zu %3zu/%2zu %3zu/%2zu %13.1f/%8.1f\n",
              GetParam().name, GetParam().gets, seen.daemon.before.residentKib,
              seen.daemon.peak.residentKib, seen.daemon.after.residentKib,
              seen.gate.before.residentKib, seen.gate.peak.residentKib, seen.gate.after.residentKib,
              seen.daemon.peak.descriptors, seen.daemon.after.descriptors,
              seen.gate.peak.descriptors, seen.gate.after.descriptors, seen.medianMs,
              seen.longestMs);
  EXPECT_EQ(seen.notServed, 0U);
  EXPECT_LT(seen.longestMs, kOwnAllocator ? 1'000 : 5'000);
  expectBounded(seen.daemon, "the daemon");
  expectBounded(seen.gate, "the gate");
  EXPECT_LT(node_->privd->count("event=socket_refused"), 1'000U) << "lines are bounded";
  EXPECT_LT(node_->privd->count("event=record_failed"), 1'000U) << "lines are bounded";
  expectNothingElsewhere();
  const auto files = std::distance(fs::directory_iterator(metadata()), fs::directory_iterator());
  EXPECT_LE(files, static_cast<std::ptrdiff_t>(kMostClaimSpecs));
}

INSTANTIATE_TEST_SUITE_P(
    OnTheWire, TakenOver,
    testing::Values(
        // Of others
        WireRow{"AGroupThatItWasNotGiven", "hung up 3"},
        WireRow{"AGroupOfAnEarlierConnection", "first results, then hung up"},
        WireRow{"AGroupThatLeft", "reread vanished, bind denied"},
        WireRow{"BindsWithoutTheRight", "denied 10"},
        WireRow{"TakesOneThingForAnother", "exception 2"},
        WireRow{"SocketsOfOthers", "badName 12, foreign 2"},
        WireRow{"DriversOfOthers", "foreign 12"}, WireRow{"DialsItself", "failed with 40 2"},
        WireRow{"SpecsOfNonsense", "bad 15"}, WireRow{"UnlinksWhatIsNoClaims", "bad 10"},
        WireRow{"DeclaresNonsense", "badName 4, foreign 1"},
        // Too much of its own
        WireRow{"SixtyFourSockets", "done 64"},
        WireRow{"SixHundredAndFortySockets", "done 64, tooMany 576"},
        WireRow{"SixThousandFourHundredNames", "done 6400"},
        WireRow{"TheSameSocketOverAndOver", "done"}, WireRow{"RefusalsWithoutEnd", "foreign"},
        WireRow{"AllocatesEverything", "done 400"},
        WireRow{"AllocatesMadeUpDevices", "done 4096, failed 2304"},
        WireRow{"AllocatesAsMuchAsItMay", "1022 of 4096"},
        WireRow{"AllocatesLargeGroups", "failed 50"}, WireRow{"ListsWithoutEnd", "done"},
        WireRow{"FiveHundredSpecs", "done 256, failed 244"},
        WireRow{"ThreeHundredRequests", "done 300"},
        WireRow{"FiveHundredResources", "done 128, failed 372"},
        WireRow{"RereadsWithoutEnd", "seen"}, WireRow{"ReconnectsWithoutEnd", "at most 10 in 3 s"},
        // Descriptors
        WireRow{"HandsDescriptorsUp", "sent 8 times, then results"},
        WireRow{"HandsDescriptorsToTheGate", "hung up 4"}, WireRow{"DialsWithoutTaking", "hung up"},
        // Messages
        WireRow{"MessagesThatAreNone", "hung up 6"}, WireRow{"OpensQuestions", "hung up"},
        WireRow{"ReadsNothing", "hung up"}, WireRow{"HoardsCapabilities", "hung up"},
        // Packets
        WireRow{"HalfPackets", "hung up 9"},
        WireRow{"HalfAPacketAndSilence", "heard, hung up, the next one done"},
        WireRow{"PacketsThatAreNone", "hung up 7"}, WireRow{"AsksBeforeItHasEntered", "hung up 8"},
        WireRow{"HasSeenWhatItWasNotTold", "hung up"}),
    [](const auto& row) { return row.param.name; });

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
  ASSERT_TRUE(node_->startPrivd()) << node_->said();
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
  ASSERT_TRUE(node_->startPrivd()) << node_->said();
  ServiceWatch watch(*node_->privd, node_->directory("state"));
  node_->privd->signal(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  node_->privd->signal(SIGCONT);
  EXPECT_GT(watch.end().longestMs, 300) << node_->said();
}

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
};

TEST_F(AfterATakenOverPlugind, AnHonestOneAllocatesAndWhatWasMadeUpIsReleased) {
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
  EXPECT_FALSE(isOnRecord("0001:00:00.0")) << "what nobody has is released";
}

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
