#include "privd/snapshot_source.h"

#include <gtest/gtest.h>

#include <kj/async-unix.h>
#include <kj/debug.h>

namespace vfiogate {
namespace {

PciDevice deviceAt(const char* address) {
  return PciDevice{.address = *Bdf::parse(address)};
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
  void plug(const char* address) {
    hardware_.devices.emplace(*Bdf::parse(address), deviceAt(address));
  }

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimePoint now_ = kj::origin<kj::TimePoint>();
  kj::TimerImpl timer_{now_};
  Snapshot hardware_;
  int looks_ = 0;
  SnapshotSource source_{timer_, 77, 60 * kj::SECONDS, [this]() {
                           ++looks_;
                           return hardware_;
                         }};
};

TEST_F(SnapshotSourceTest, HasTheFirstGenerationAtOnce) {
  EXPECT_EQ(source_.current().generation, 1U);
  EXPECT_EQ(source_.current().epoch, 77U);
  EXPECT_EQ(source_.next(0).wait(scope_).generation, 1U);
}

TEST_F(SnapshotSourceTest, AHintMakesALookAfterAQuietMoment) {
  plug("0000:01:00.0");
  source_.hint();
  turn(19 * kj::MILLISECONDS);
  EXPECT_EQ(looks_, 1);
  turn(1 * kj::MILLISECONDS);
  EXPECT_EQ(looks_, 2);
  EXPECT_EQ(source_.next(1).wait(scope_).snapshot->devices.size(), 1U);
}

TEST_F(SnapshotSourceTest, ABurstOfHintsMakesOneLook) {
  for (int i = 0; i < 10; ++i) {
    source_.hint();
    turn(10 * kj::MILLISECONDS);
  }
  turn(20 * kj::MILLISECONDS);
  EXPECT_EQ(looks_, 2);
}

TEST_F(SnapshotSourceTest, HintsWithoutEndDelayALookNoLongerThan200ms) {
  for (int i = 0; i < 40; ++i) {
    source_.hint();
    turn(10 * kj::MILLISECONDS);
  }
  EXPECT_GE(looks_, 2);
  EXPECT_LE(looks_, 4);
}

TEST_F(SnapshotSourceTest, ALookThatFindsTheSameMakesNoGeneration) {
  source_.hint();
  turn(20 * kj::MILLISECONDS);
  EXPECT_EQ(looks_, 2);
  EXPECT_EQ(source_.current().generation, 1U);
}

TEST_F(SnapshotSourceTest, I9_WithoutAnyHintTheTimerFindsIt) {
  auto next = source_.next(1);
  plug("0000:01:00.0");
  turn(59 * kj::SECONDS);
  EXPECT_FALSE(next.poll(scope_));
  turn(1 * kj::SECONDS);
  EXPECT_EQ(next.wait(scope_).generation, 2U);
}

TEST_F(SnapshotSourceTest, EverybodyWhoWaitsIsTold) {
  auto one = source_.next(1);
  auto two = source_.next(1);
  plug("0000:01:00.0");
  source_.hint();
  turn(20 * kj::MILLISECONDS);
  EXPECT_EQ(one.wait(scope_).generation, 2U);
  EXPECT_EQ(two.wait(scope_).generation, 2U);
}

TEST_F(SnapshotSourceTest, ALookThatFailsLeavesWhatWasSeenAndIsTriedAgain) {
  bool broken = false;
  SnapshotSource source(timer_, 1, 1 * kj::SECONDS, [&]() {
    KJ_REQUIRE(!broken, "no sysfs");
    return hardware_;
  });
  broken = true;
  turn(1 * kj::SECONDS);
  EXPECT_EQ(source.current().generation, 1U);
  broken = false;
  plug("0000:01:00.0");
  turn(1 * kj::SECONDS);
  EXPECT_EQ(source.current().generation, 2U);
}

}  // namespace
}  // namespace vfiogate
