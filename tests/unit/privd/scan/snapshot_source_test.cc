#include "privd/scan/snapshot_source.h"

#include <gtest/gtest.h>

#include <kj/async-unix.h>
#include <kj/debug.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

Bdf at(const std::string& address) {
  return *Bdf::parse(address);
}

Places placeOf(const std::string& address) {
  return {.devices = {at(address)}, .groups = {}};
}

/// A clock that the test turns, and hardware that the test changes.
class SnapshotSourceTest : public testing::Test {
protected:
  ~SnapshotSourceTest() noexcept override = default;

  void turn(kj::Duration by) {
    now_ += by;
    timer_.advanceTo(now_);
    scope_.poll();
  }
  /// In steps, as a clock goes.
  void pass(kj::Duration by) {
    for (const kj::TimePoint end = now_ + by; now_ < end;) turn(1 * kj::MILLISECONDS);
  }
  void plug(const std::string& address) { plugged_.insert(at(address)); }
  /// So many, and each is seen. None of them is read since, and no sweep is due before a minute.
  void haveSeen(unsigned devices) {
    for (unsigned i = 0; i < devices; ++i)
      plug("0000:" + std::to_string(10 + i / 8) + ":00." + std::to_string(i % 8));
    source_.hint({});
    pass(100 * kj::MILLISECONDS);
    ASSERT_EQ(source_.current().snapshot->devices.size(), devices);
    ASSERT_EQ(counts_[DiscoveryCount::kSweeps], 1U);
    rereads_.clear();
  }
  Places allPlugged() {
    if (broken_) kj::throwFatalException(KJ_EXCEPTION(FAILED, "no sysfs"));
    return {.devices = plugged_, .groups = {}};
  }
  std::optional<std::uint32_t> enableCountOf(const std::string& address) const {
    return source_.current().snapshot->devices.at(at(address)).enableCount;
  }

  ScanDeps deps() {
    return {.everything = [this]() { return allPlugged(); },
            .names = [this]() { return allPlugged(); },
            .glance =
                [this](const PciDevice& was) {
                  glances_.push_back(was.address);
                  const auto told = told_.find(was.address);
                  return told == told_.end() ? Glance::kSame : told->second;
                },
            .reread =
                [this](const Places& where, Snapshot& seen) {
                  rereads_.push_back(where);
                  const Snapshot before = seen;
                  for (const Bdf& address : where.devices) {
                    seen.devices.erase(address);
                    told_.erase(address);
                    if (!plugged_.contains(address)) continue;
                    PciDevice device{.address = address};
                    if (opened_.contains(address)) device.enableCount = 1;
                    seen.devices.emplace(address, std::move(device));
                  }
                  return seen != before;
                }};
  }

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimePoint now_ = kj::origin<kj::TimePoint>() + 1 * kj::HOURS;
  kj::TimerImpl timer_{now_};
  std::set<Bdf> plugged_;
  std::set<Bdf> opened_;
  std::map<Bdf, Glance> told_;  ///< by a glance, until it is reread; of others kSame
  bool broken_ = false;
  std::vector<Bdf> glances_;
  std::vector<Places> rereads_;
  DiscoveryCounts counts_;
  SnapshotSource source_{
      timer_, 77, {.sweep = 60 * kj::SECONDS, .glance = 10 * kj::SECONDS}, deps(), counts_};
};

TEST_F(SnapshotSourceTest, HasTheFirstGenerationAtOnce) {
  EXPECT_EQ(source_.current().generation, 1U);
  EXPECT_EQ(source_.current().epoch, 77U);
  EXPECT_EQ(source_.next(0).wait(scope_).generation, 1U);
}

TEST_F(SnapshotSourceTest, AHintIsReadWithinAMillisecond) {
  plug("0000:01:00.0");
  plug("0000:02:00.0");
  auto next = source_.next(1);
  source_.hint(placeOf("0000:01:00.0"));
  turn(1 * kj::MILLISECONDS);
  EXPECT_EQ(next.wait(scope_).snapshot->devices.size(), 1U) << "only where the hint points";
}

TEST_F(SnapshotSourceTest, I9_WhatAHintDoesNotNameIsSweptUpSoonAfter) {
  plug("0000:01:00.0");
  plug("0000:02:00.0");
  source_.hint(placeOf("0000:01:00.0"));
  pass(105 * kj::MILLISECONDS);
  EXPECT_EQ(source_.current().snapshot->devices.size(), 2U);
  EXPECT_EQ(counts_[DiscoveryCount::kSweeps], 1U);
}

TEST_F(SnapshotSourceTest, ABurstOfHintsMakesFewRereadsAndOneSweep) {
  for (int i = 0; i < 64; ++i) {
    plug("0000:01:" + std::string(i < 32 ? "0" : "1") + std::to_string(i % 8) + ".0");
    source_.hint(
        placeOf("0000:01:" + std::string(i < 32 ? "0" : "1") + std::to_string(i % 8) + ".0"));
    turn(1 * kj::MILLISECONDS);
  }
  pass(300 * kj::MILLISECONDS);
  EXPECT_LE(counts_[DiscoveryCount::kRereads], 6U);
  EXPECT_EQ(counts_[DiscoveryCount::kSweeps], 1U);
  EXPECT_LE(source_.current().generation, 8U);
  EXPECT_EQ(source_.current().snapshot->devices.size(), plugged_.size());
}

TEST_F(SnapshotSourceTest, HintsWithoutEndDelayNoReread) {
  for (int i = 0; i < 2000; ++i) {
    source_.hint(placeOf("0000:01:00.0"));
    turn(1 * kj::MILLISECONDS);
  }
  EXPECT_GE(counts_[DiscoveryCount::kRereads], 9U);
  EXPECT_LE(counts_[DiscoveryCount::kRereads], 20U);
  EXPECT_GE(counts_[DiscoveryCount::kSweeps], 1U);
}

TEST_F(SnapshotSourceTest, AfterAQuietTimeASingleHintIsPromptAgain) {
  for (int i = 0; i < 500; ++i) {
    source_.hint(placeOf("0000:01:00.0"));
    turn(1 * kj::MILLISECONDS);
  }
  pass(400 * kj::MILLISECONDS);
  const auto before = counts_[DiscoveryCount::kRereads];
  source_.hint(placeOf("0000:01:00.0"));
  turn(1 * kj::MILLISECONDS);
  EXPECT_EQ(counts_[DiscoveryCount::kRereads], before + 1);
}

TEST_F(SnapshotSourceTest, ARereadThatFindsTheSameMakesNoGeneration) {
  source_.hint(placeOf("0000:01:00.0"));
  pass(200 * kj::MILLISECONDS);
  EXPECT_GE(rereads_.size(), 3U);
  EXPECT_EQ(source_.current().generation, 1U);
}

TEST_F(SnapshotSourceTest, I9_WithoutAnyHintAGlanceFindsWhatCameAndWent) {
  auto next = source_.next(1);
  plug("0000:01:00.0");
  turn(9 * kj::SECONDS);
  EXPECT_FALSE(next.poll(scope_));
  turn(1 * kj::SECONDS);
  pass(5 * kj::MILLISECONDS);
  EXPECT_EQ(next.wait(scope_).snapshot->devices.size(), 1U);
  plugged_.clear();
  turn(10 * kj::SECONDS);
  pass(5 * kj::MILLISECONDS);
  EXPECT_TRUE(source_.current().snapshot->devices.empty());
}

TEST_F(SnapshotSourceTest, AGlanceRereadsTheDeviceThatDiffersAndNoOther) {
  haveSeen(100);
  opened_.insert(at("0000:15:00.3"));
  told_[at("0000:15:00.3")] = Glance::kUnannounced;
  turn(9 * kj::SECONDS);
  EXPECT_TRUE(glances_.empty());
  turn(1 * kj::SECONDS);
  pass(10 * kj::MILLISECONDS);
  EXPECT_EQ(enableCountOf("0000:15:00.3"), 1U);
  EXPECT_EQ(rereads_, std::vector{placeOf("0000:15:00.3")});
  EXPECT_EQ(std::set<Bdf>(glances_.begin(), glances_.end()), plugged_);
  EXPECT_EQ(glances_.size(), 100U);
}

TEST_F(SnapshotSourceTest, AGlanceThatFindsNothingRereadsNothing) {
  haveSeen(100);
  turn(10 * kj::SECONDS);
  pass(10 * kj::MILLISECONDS);
  EXPECT_EQ(glances_.size(), 100U);
  EXPECT_TRUE(rereads_.empty());
}

TEST_F(SnapshotSourceTest, I9_WhereAGlanceShowsThatAnEventWasLostASweepFollows) {
  haveSeen(100);
  told_[at("0000:15:00.3")] = Glance::kUnheard;
  turn(10 * kj::SECONDS);
  pass(50 * kj::MILLISECONDS);
  EXPECT_EQ(counts_[DiscoveryCount::kSweeps], 2U);
}

// What no glance reads, such as the NUMA node: here that somebody has opened the device.
TEST_F(SnapshotSourceTest, I9_GlancesPostponeNoSweep) {
  haveSeen(8);
  opened_.insert(at("0000:10:00.3"));
  turn(9 * kj::SECONDS);
  for (int seconds = 9; seconds < 59; ++seconds) {
    turn(1 * kj::SECONDS);
    pass(5 * kj::MILLISECONDS);
  }
  EXPECT_GE(glances_.size(), 5U * 8);
  EXPECT_EQ(enableCountOf("0000:10:00.3"), std::nullopt);
  turn(1 * kj::SECONDS);
  pass(5 * kj::MILLISECONDS);
  EXPECT_EQ(enableCountOf("0000:10:00.3"), 1U);
  EXPECT_EQ(counts_[DiscoveryCount::kSweeps], 2U);
}

TEST_F(SnapshotSourceTest, WhereEachTimeIsASweepThereIsNoGlance) {
  plug("0000:01:00.0");
  ScanDeps unglanced = deps();
  unglanced.names = []() -> Places {
    ADD_FAILURE();
    return {};
  };
  DiscoveryCounts counts;
  SnapshotSource source(timer_, 78, Rescan::onlySweeps(10 * kj::SECONDS), kj::mv(unglanced),
                        counts);
  for (unsigned times = 1; times <= 6; ++times) {
    broken_ = times == 3;  // one that fails is one, too
    turn(10 * kj::SECONDS);
    pass(5 * kj::MILLISECONDS);
    EXPECT_EQ(counts[DiscoveryCount::kSweeps] + counts[DiscoveryCount::kFailedSweeps], times);
  }
}

TEST_F(SnapshotSourceTest, AHintGoesBetweenThePartsOfAGlance) {
  haveSeen(100);
  turn(10 * kj::SECONDS);
  turn(1 * kj::MILLISECONDS);  // it has begun
  plug("0000:01:00.0");
  source_.hint(placeOf("0000:01:00.0"));
  turn(1 * kj::MILLISECONDS);
  EXPECT_TRUE(source_.current().snapshot->devices.contains(at("0000:01:00.0")));
  EXPECT_GT(glances_.size(), 0U);
  EXPECT_LT(glances_.size(), 100U);
  pass(10 * kj::MILLISECONDS);
  EXPECT_EQ(glances_.size(), 100U);
}

TEST_F(SnapshotSourceTest, AGlanceLeavesOutWhatHasGoneSinceItBegan) {
  haveSeen(100);
  turn(10 * kj::SECONDS);
  turn(1 * kj::MILLISECONDS);  // it has begun
  std::set<Bdf> left = plugged_;
  for (const Bdf& address : glances_) left.erase(address);
  ASSERT_FALSE(left.empty());
  for (const Bdf& address : left) plugged_.erase(address);
  source_.rereadNow({.devices = left, .groups = {}});
  pass(10 * kj::MILLISECONDS);
  EXPECT_EQ(std::set<Bdf>(glances_.begin(), glances_.end()), plugged_);
}

TEST_F(SnapshotSourceTest, ASweepReadsWhatIsLeftOfAGlance) {
  haveSeen(100);
  turn(10 * kj::SECONDS);
  turn(1 * kj::MILLISECONDS);  // it has begun
  source_.hint({});
  pass(50 * kj::MILLISECONDS);
  EXPECT_EQ(counts_[DiscoveryCount::kSweeps], 2U);
  EXPECT_LT(glances_.size(), 100U);
}

TEST_F(SnapshotSourceTest, AGlanceWhereNothingCanBeListedIsTriedAgain) {
  haveSeen(8);
  broken_ = true;
  turn(10 * kj::SECONDS);
  pass(5 * kj::MILLISECONDS);
  EXPECT_EQ(counts_[DiscoveryCount::kFailedSweeps], 1U);
  EXPECT_EQ(source_.current().snapshot->devices.size(), 8U);
  broken_ = false;
  turn(10 * kj::SECONDS);
  pass(5 * kj::MILLISECONDS);
  EXPECT_EQ(glances_.size(), 8U);
}

TEST_F(SnapshotSourceTest, I9_WhereEventsWereLostEverythingIsSweptAtOnce) {
  plug("0000:01:00.0");
  source_.hint({});
  pass(3 * kj::MILLISECONDS);
  EXPECT_EQ(source_.current().generation, 2U);
}

TEST_F(SnapshotSourceTest, ASweepAlsoFindsWhatHasGone) {
  plug("0000:01:00.0");
  source_.hint({});
  pass(3 * kj::MILLISECONDS);
  plugged_.clear();
  source_.hint({});
  pass(1 * kj::SECONDS);  // the first rests by the real time that it took
  EXPECT_TRUE(source_.current().snapshot->devices.empty());
}

TEST_F(SnapshotSourceTest, ARereadGoesBetweenThePartsOfASweep) {
  for (int i = 0; i < 200; ++i)
    plug("0000:" + std::to_string(10 + i % 80) + ":0" + std::to_string(i / 80) + ".0");
  source_.hint({});
  pass(3 * kj::MILLISECONDS);  // it has begun
  ASSERT_EQ(counts_[DiscoveryCount::kSweeps], 0U);
  source_.hint(placeOf("0000:89:01.0"));
  pass(2 * kj::MILLISECONDS);
  EXPECT_EQ(counts_[DiscoveryCount::kRereads], 1U);
  EXPECT_TRUE(source_.current().snapshot->devices.contains(at("0000:89:01.0")));
  pass(30 * kj::MILLISECONDS);  // a part a turn, and 25 of them
  EXPECT_EQ(counts_[DiscoveryCount::kSweeps], 1U);
  EXPECT_EQ(source_.current().snapshot->devices.size(), plugged_.size());
}

TEST_F(SnapshotSourceTest, EverybodyWhoWaitsIsTold) {
  auto one = source_.next(1);
  auto two = source_.next(1);
  plug("0000:01:00.0");
  source_.hint(placeOf("0000:01:00.0"));
  turn(1 * kj::MILLISECONDS);
  EXPECT_EQ(one.wait(scope_).generation, 2U);
  EXPECT_EQ(two.wait(scope_).generation, 2U);
}

TEST_F(SnapshotSourceTest, ASweepThatFailsLeavesWhatWasSeenAndIsTriedAgain) {
  plug("0000:01:00.0");
  broken_ = true;
  source_.hint({});
  pass(5 * kj::MILLISECONDS);
  EXPECT_EQ(source_.current().generation, 1U);
  EXPECT_EQ(counts_[DiscoveryCount::kFailedSweeps], 1U);
  broken_ = false;
  source_.hint({});
  pass(5 * kj::MILLISECONDS);
  EXPECT_EQ(source_.current().generation, 2U);
}

}  // namespace
}  // namespace vfiogate
