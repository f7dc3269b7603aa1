// A taken-over plugind against the shipped privd: what each attack gets, what it costs privd, and
// how others are served meanwhile.

#include "tests/integration/split_case.h"
#include "tests/support/played/claim_specs.h"
#include "tests/support/played/service_watch.h"
#include "tests/support/played/taken_over_program.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>
#include <functional>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarkerDevice = "0000:00:1f.0";
/// For an attack, which lasts some seconds, under sanitizers on a busy machine.
constexpr std::chrono::seconds kForAnAttack{120};
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
    std::printf("%-28s %-52s %27s %12s %22s\n", "a taken-over plugind", "gets",
                "privd's KiB before/peak/after", "descriptors", "others wait, ms median/max");
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
    const bool leaves = std::string(GetParam().name) == "AGroupThatLeft";
    if (leaves) {
      EXPECT_TRUE(plugind.process().says("ready:")) << plugind.said();
      node_->hardware.remove(kMarkerDevice);
    }
    const std::string got = plugind.got(kForAnAttack);
    if (leaves) node_->addMarker();
    if (got != GetParam().gets) ADD_FAILURE() << plugind.said();
    return got;
  }

  /// The attack, with others watched. How far one comes before it is hung up on differs, and with
  /// it what privd's allocator keeps: a leak grows each time, so the growth is that of the least of
  /// a few.
  ServiceWatch::Seen watchedAttack() {
    constexpr int kTries = 4;
    for (int tries = 1;; ++tries) {
      ServiceWatch watch(node_->privd->pid(), node_->privdSocket());
      EXPECT_EQ(attack(), GetParam().gets) << node_->said();
      const ServiceWatch::Seen seen = watch.end();
      const bool flat = seen.after.residentKib < seen.before.residentKib + kFlatKib;
      if (flat || !kOwnAllocator || tries == kTries) return seen;
    }
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
  std::printf("%-28s %-52s %11zu/%7zu/%7zu %4zu/%3zu/%3zu %13.1f/%8.1f\n", GetParam().name,
              GetParam().gets, seen.before.residentKib, seen.peak.residentKib,
              seen.after.residentKib, seen.before.descriptors, seen.peak.descriptors,
              seen.after.descriptors, seen.medianMs, seen.longestMs);
  EXPECT_EQ(seen.notServed, 0U);
  EXPECT_LT(seen.longestMs, kOwnAllocator ? 1'000 : 5'000);
  EXPECT_LE(seen.after.descriptors, seen.before.descriptors + 1) << seen.after.str();
  EXPECT_LE(seen.peak.descriptors, seen.before.descriptors + 16) << seen.peak.str();
  if (kOwnAllocator) {
    EXPECT_LT(seen.peak.residentKib, seen.before.residentKib + 12'288) << seen.peak.str();
    EXPECT_LT(seen.after.residentKib, seen.before.residentKib + kFlatKib) << seen.after.str();
  }
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
        WireRow{"BindsWithoutTheRight", "denied 10"}, WireRow{"TheOperatorsControl", "denied"},
        WireRow{"SocketsOfOthers", "badName 12, foreignPrefix 2"},
        WireRow{"DriversOfOthers", "foreignPrefix 12"}, WireRow{"SpecsOfNonsense", "bad 16"},
        WireRow{"SpecsOfDevicesWithoutNode", "unreachable 3"},
        WireRow{"UnlinksWhatIsNoClaims", "bad 5"},
        WireRow{"DeclaresNonsense", "badName 4, foreignPrefix 1; hung up"},
        WireRow{"TakesOneThingForAnother", "exception 3"},
        // Too much of its own
        WireRow{"AHundredSockets", "endpoint 64, tooMany 36"},
        WireRow{"TheSameSocketOverAndOver", "endpoint"}, WireRow{"HoldsEverything", "held 500"},
        WireRow{"FiveHundredSpecs", "failed 244, inPlace 256"},
        WireRow{"ThreeHundredRequests", "inPlace 300"}, WireRow{"RereadsWithoutEnd", "seen"},
        WireRow{"RefusalsWithoutEnd", "foreignPrefix"},
        WireRow{"ReconnectsWithoutEnd", "at most 10 in 3 s"},
        // Descriptors
        WireRow{"HandsDescriptorsUp", "sent 16 times, then results"},
        WireRow{"StallsAndCancels", "lock 1, at most 8 sockets"},
        WireRow{"DialsWithoutTaking", "at most 64, tooMany"},
        // Messages
        WireRow{"MessagesThatAreNone", "hung up 6"}, WireRow{"OpensQuestions", "hung up"},
        WireRow{"ReadsNothing", "hung up"}, WireRow{"HoardsCapabilities", "hung up"}),
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
  EXPECT_TRUE(ServiceWatch(node_->privd->pid(), node_->privdSocket()).serves());
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
