// A taken-over plugind against the shipped privd: what each attack gets, what it costs each of
// privd's processes, how long other work of the binder's waits meanwhile, and of the gate's where
// no binder runs, and how soon all end when they are told to.

#include "tests/integration/split_case.h"
#include "tests/support/played/claim_specs.h"
#include "tests/support/played/service_watch.h"
#include "tests/support/played/taken_over_program.h"
#include "tests/support/sanitizers.h"
#include "tests/support/seen/file_tree.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarkerDevice = "0000:00:1f.0";
/// Resident memory that no process of privd's ever has. What the gate writes on a tmpfs is not in
/// it, and is memory of its container: gate_container_test.cc has both.
constexpr std::size_t kMostKib = 24'576;
/// In which other work is done whatever plugind does, of the process that is asked: the binder, or
/// the gate where no binder runs. The least of a few tries, since a busy machine makes it wait,
/// too.
constexpr double kLongestWaitMs = 100;
/// From SIGTERM to the end of all.
constexpr std::chrono::milliseconds kLongestEnd{kOwnAllocator ? 1'000 : 10'000};
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
    std::printf("%-30s %-48s %22s %22s %22s %26s\n", "a taken-over plugind", "gets",
                "hardware KiB b/p/a", "gate KiB b/p/a", "binder KiB b/p/a",
                "others wait, ms median/max");
  }

protected:
  explicit TakenOver(bool binds = true) : binds_(binds) {}
  ~TakenOver() noexcept override = default;

  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = "0000:01:00.0"});
    hardware.add({.address = "0000:02:00.0", .group = 8});
    hardware.add({.address = "0000:03:00.0", .driver = "nvidia", .group = 9});
    hardware.add({.address = "0000:04:00.0", .driver = "", .group = 10});
    hardware.add({.address = "0000:05:00.0", .driver = "nvidia", .group = 11});
    hardware.add({.address = "0000:05:00.1", .driver = "nvidia", .group = 11});
    node_->addMarker();
  }
  void startPrivd() {
    fs::create_directories(metadata());
    node_->kubelet.start();
    startPrivdAlone();
  }
  void startPrivdAlone() {
    const std::string rights = std::string("watch,kubelet,cdi") + (binds_ ? ",bind" : "");
    ASSERT_TRUE(node_->startPrivd({"--plugind-rights", rights, "--cdi-dir", node_->directory("cdi"),
                                   "--dra-driver", kDraDriver}))
        << node_->said();
    ASSERT_TRUE(node_->privd->saysAll({"event=started", "role=daemon"})) << node_->said();
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
    using Applied = ServiceWatch::Applied;
    const Applied applied = binds_ ? Applied::kAlways : Applied::kUnderAttack;
    for (int tries = 1;; ++tries) {
      ServiceWatch watch(*node_->privd, node_->directory("state"), applied);
      EXPECT_EQ(attack(), GetParam().gets) << node_->said();
      const ServiceWatch::Seen seen = watch.end();
      const bool flat =
          std::ranges::all_of(seen.roles, [](const auto& role) { return isFlat(role.second); });
      const bool served = seen.longestMs < kLongestWaitMs;
      if ((flat && served) || !kOwnAllocator || tries == kTries) return seen;
    }
  }

  static bool isFlat(const ServiceWatch::Sizes& sizes) {
    return sizes.after.residentKib < sizes.before.residentKib + kFlatKib;
  }
  static void expectBounded(const std::string& whose, const ServiceWatch::Sizes& sizes) {
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

  /// Whatever it does by the thousand.
  void expectFewLines() {
    for (const char* event :
         {"socket_refused", "record_failed", "peer_hung_up", "peer_gone", "plugind_connected",
          "change_refused", "driver_change", "descriptor_not_sent", "request_refused"}) {
      EXPECT_LT(node_->privd->count(std::string("event=") + event), 1'000U) << event;
    }
    const fs::path audit = node_->directory("audit.jsonl");
    const std::uintmax_t size = fs::exists(audit) ? fs::file_size(audit) : 0;
    EXPECT_LT(size, 65'536U) << "of the audit log";
  }

  /// In the middle of the attack. The least of a few tries, as above.
  void expectAPromptEnd() {
    if (GetParam().name == std::string("AGroupThatLeft")) return;  // waits for the test
    auto least = endInTheMiddle();
    for (int again = 0; again < 2 && least >= kLongestEnd; ++again) {
      startPrivdAlone();
      least = std::min(least, endInTheMiddle());
    }
    EXPECT_LT(least, kLongestEnd);
    std::vector<std::string> roles{"role=daemon", "role=gate", "role=hardware"};
    if (binds_) roles.emplace_back("role=binder");
    for (const std::string& role : roles) {
      EXPECT_TRUE(node_->privd->saysAll({"event=stopped", role})) << role << node_->said();
    }
  }
  /// How long it takes from SIGTERM to the end.
  std::chrono::steady_clock::duration endInTheMiddle() {
    const TakenOverProgram plugind(*node_, GetParam().name);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto told = std::chrono::steady_clock::now();
    node_->privd->signal(SIGTERM);
    EXPECT_EQ(node_->privd->wait(), 0) << node_->said();
    return std::chrono::steady_clock::now() - told;
  }

  /// Prints it.
  static void expectBoundedAndServed(const ServiceWatch::Seen& seen) {
    std::printf("%-30s %-48s", GetParam().name, GetParam().gets);
    for (const char* role : {"hardware", "gate", "binder"}) {
      if (!seen.roles.contains(role)) {
        std::printf(" %22s", "does not run");
        continue;
      }
      const ServiceWatch::Sizes& sizes = seen.roles.at(role);
      std::printf(" %8zu/%6zu/%6zu", sizes.before.residentKib, sizes.peak.residentKib,
                  sizes.after.residentKib);
      expectBounded(role, sizes);
    }
    std::printf(" %17.1f/%8.1f\n", seen.medianMs, seen.longestMs);
    EXPECT_EQ(seen.notServed, 0U);
    EXPECT_LT(seen.longestMs, kOwnAllocator ? kLongestWaitMs : 5'000);
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

  const bool binds_;
};

// I6, I7 and I10, of whoever has plugind.
TEST_P(TakenOver, GetsNothingBeyondItsRightsAndOthersAreServed) {
  if (kWatchesThreads && GetParam().name == std::string("AllocatesMadeUpDevices")) {
    GTEST_SKIP() << kFillsTheRecord;
  }
  startPrivd();
  const auto hardware = fileTree(node_->hardware.sysfs(), kMarkerDevice);
  EXPECT_EQ(attack(), GetParam().gets) << node_->said();  // what a first time costs is no growth
  const ServiceWatch::Seen seen = watchedAttack();
  EXPECT_EQ(seen.roles.size(), 3U);
  expectBoundedAndServed(seen);
  expectFewLines();
  expectNothingElsewhere();
  EXPECT_EQ(fileTree(node_->hardware.sysfs(), kMarkerDevice), hardware) << "something was written";
  const auto files = std::distance(fs::directory_iterator(metadata()), fs::directory_iterator());
  EXPECT_LE(files, static_cast<std::ptrdiff_t>(kMostClaimSpecs));
  expectAPromptEnd();
}

INSTANTIATE_TEST_SUITE_P(
    OnTheWire, TakenOver,
    testing::Values(
        // Of others
        WireRow{"AGroupThatItWasNotGiven", "hung up 3"},
        WireRow{"AGroupOfAnEarlierConnection", "first results, then hung up"},
        WireRow{"AGroupThatLeft", "reread vanished, bind vanished"},
        WireRow{"BindsWhatIsNotOnRecord", "refused 5"},
        WireRow{"BindsWhatItAllocated", "refused 5"}, WireRow{"BindsWhatIsNoGroup", "vanished 10"},
        WireRow{"GivesBackWhatWasNotBoundForIt", "done 5"},
        WireRow{"OrdersOfAllKinds", "may bind, done 5, refused 5"},
        WireRow{"ProbesWhatItLikes", "cannot 2 4, idle 2"},
        WireRow{"ReadsSerialsOfWhatItLikes", "none 3"},
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
        WireRow{"AllocatesAsMuchAsItMay", "1003 of 4096"},
        WireRow{"AllocatesLargeGroups", "failed 50"}, WireRow{"ListsWithoutEnd", "done"},
        WireRow{"AllocatesGroupsThatBeginWithOneDevice", "done 5, failed 4"},
        WireRow{"FiveHundredSpecs", "done 256, failed 244"},
        WireRow{"ThreeHundredRequests", "done 300"},
        WireRow{"FiveHundredResources", "done 128, failed 372"},
        WireRow{"DeclaresAsMuchAsItMay", "done 3, failed 29"}, WireRow{"RereadsWithoutEnd", "seen"},
        WireRow{"CallsInFlight", "answered"}, WireRow{"KeepsWatching", "hung up"},
        WireRow{"ReconnectsWithoutEnd", "at most 10 in 3 s of each"},
        WireRow{"BindsWithoutARecordWithoutEnd", "refused"},
        WireRow{"BindsAgainstThePolicyWithoutEnd", "refused"},
        WireRow{"BindsMadeUpDevicesWithoutEnd", "vanished"},
        WireRow{"BindsAsManyDevicesAsItMay", "vanished"}, WireRow{"GivesBackWithoutEnd", "done"},
        WireRow{"ProbesOneGroupWithoutEnd", "at most 5 in 3 s"},
        WireRow{"ProbesMadeUpGroupsWithoutEnd", "cannot 2"},
        WireRow{"ReadsMadeUpSerialsWithoutEnd", "none"},
        // Descriptors
        WireRow{"HandsDescriptorsUp", "sent 8 times, then results"},
        WireRow{"HandsDescriptorsToTheGate", "hung up 4"},
        WireRow{"HandsDescriptorsToTheBinder", "hung up 4"},
        WireRow{"DialsWithoutTaking", "hung up"},
        // Messages
        WireRow{"MessagesThatAreNone", "hung up 6"}, WireRow{"OpensQuestions", "hung up"},
        WireRow{"ReadsNothing", "hung up"}, WireRow{"HoardsCapabilities", "hung up"},
        WireRow{"WatchesAnewWithoutTaking", "hung up"},
        WireRow{"LeavesQuestionsOpen", "results 16, and one more hung up"},
        WireRow{"HalfAMessageAndSilence", "hung up"}, WireRow{"AnswersOfMegabytes", "hung up 6"},
        WireRow{"ReleasesWithoutEnd", "results"},
        // Packets
        WireRow{"HalfPackets", "hung up 9"},
        WireRow{"HalfAPacketAndSilence", "heard, hung up, the next one done"},
        WireRow{"PacketsThatAreNone", "hung up 7"}, WireRow{"AsksBeforeItHasEntered", "hung up 8"},
        WireRow{"HasSeenWhatItWasNotTold", "hung up"},
        // Orders
        WireRow{"NineAtOnce", "after eight nothing, then hung up"},
        WireRow{"TwoForOneGroup", "hung up 4"}, WireRow{"HalfOrders", "hung up 8"},
        WireRow{"HalfAnOrderAndSilence", "heard, hung up, the next one vanished"},
        WireRow{"OrdersThatAreNone", "hung up 11"},
        WireRow{"AsksTheBinderForWhatTheGateHas", "hung up 5"},
        WireRow{"HasSeenWhatTheBinderDidNotTell", "hung up"},
        WireRow{"NeverSaysThatItHasSeen", "nothing, and then an answer"},
        WireRow{"TakesNoAnswer", "hung up"}),
    [](const auto& row) { return row.param.name; });

/// plugind may not bind, so that no binder runs: it is the gate whose waits are measured.
class TakenOverWithoutABinder : public TakenOver {
protected:
  TakenOverWithoutABinder() : TakenOver(false) {}
  ~TakenOverWithoutABinder() noexcept override = default;
};

TEST_P(TakenOverWithoutABinder, I10_TheGateHearsOfOtherThingsMeanwhile) {
  constexpr std::size_t kFewestChanges = 10;
  startPrivd();
  EXPECT_EQ(attack(), GetParam().gets) << node_->said();  // as above
  const ServiceWatch::Seen seen = watchedAttack();
  EXPECT_FALSE(seen.roles.contains("binder"));
  EXPECT_GE(seen.changes, kFewestChanges);
  expectBoundedAndServed(seen);
  expectFewLines();
  expectAPromptEnd();
}

INSTANTIATE_TEST_SUITE_P(OnTheWire, TakenOverWithoutABinder,
                         testing::Values(WireRow{"TheSameSocketOverAndOver", "done"},
                                         WireRow{"RefusalsWithoutEnd", "foreign"},
                                         WireRow{"AllocatesAsMuchAsItMay", "1003 of 4096"},
                                         WireRow{"ListsWithoutEnd", "done"}),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace vfiogate::test
