#include "privd/scan/snapshot_source.h"

#include <gtest/gtest.h>

#include <kj/async-unix.h>
#include <kj/debug.h>

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

  ScanDeps deps() {
    return {.everything =
                [this]() {
                  if (broken_) kj::throwFatalException(KJ_EXCEPTION(FAILED, "no sysfs"));
                  return Places{.devices = plugged_, .groups = {}};
                },
            .reread =
                [this](const Places& where, Snapshot& seen) {
                  ++rereads_;
                  const Snapshot before = seen;
                  for (const Bdf& address : where.devices) {
                    seen.devices.erase(address);
                    if (!plugged_.contains(address)) continue;
                    seen.devices.emplace(address, PciDevice{.address = address});
                  }
                  return seen != before;
                }};
  }

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimePoint now_ = kj::origin<kj::TimePoint>() + 1 * kj::HOURS;
  kj::TimerImpl timer_{now_};
  std::set<Bdf> plugged_;
  bool broken_ = false;
  int rereads_ = 0;
  DiscoveryCounts counts_;
  SnapshotSource source_{timer_, 77, 60 * kj::SECONDS, deps(), counts_};
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
  EXPECT_GE(rereads_, 3);
  EXPECT_EQ(source_.current().generation, 1U);
}

TEST_F(SnapshotSourceTest, I9_WithoutAnyHintTheTimerFindsIt) {
  auto next = source_.next(1);
  plug("0000:01:00.0");
  turn(59 * kj::SECONDS);
  EXPECT_FALSE(next.poll(scope_));
  turn(1 * kj::SECONDS);
  turn(1 * kj::MILLISECONDS);
  EXPECT_EQ(next.wait(scope_).generation, 2U);
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
