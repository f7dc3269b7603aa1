// What the binder sees of the hardware, and when it looks.

#include "privd/bind/host_view.h"

#include "tests/support/fake_sysfs.h"

#include <gtest/gtest.h>

#include <kj/async-unix.h>
#include <kj/debug.h>

#include <filesystem>
#include <map>

namespace vfiogate {
namespace {

constexpr IommuGroupId kSeven(7);
constexpr IommuGroupId kEight(8);

/// A clock that the test turns, and hardware that the test changes.
class HostViewTest : public testing::Test {
protected:
  HostViewTest() {
    tree_.add({.address = "0000:01:00.0"});
    tree_.add({.address = "0000:01:00.1"});
    tree_.add({.address = "0000:02:00.0", .group = 8});
    view_.emplace(HostView::Deps{sysfs_, dev_, timer_, 60 * kj::SECONDS,
                                 [this](const Snapshot& seen, const IommuGroup& group) {
                                   EXPECT_TRUE(seen.groups.contains(group.id));
                                   ++asked_[group.id];
                                   return bindings_[group.id];
                                 }});
    scope_.poll();
  }
  ~HostViewTest() noexcept override = default;

  HostView& view() { return KJ_ASSERT_NONNULL(view_); }
  std::uint64_t generation() { return view().current().generation; }
  const Snapshot& seen() {
    shown_ = view().current().snapshot;
    return *shown_;
  }
  void pass(kj::Duration by) {
    for (const kj::TimePoint end = now_ + by; now_ < end;) {
      now_ += 1 * kj::MILLISECONDS;
      timer_.advanceTo(now_);
      scope_.poll();
    }
  }

  FakeSysfs tree_;
  SysfsRoot sysfs_ = SysfsRoot::open(tree_.sysfs()).value();
  DevRoot dev_ = DevRoot::open(tree_.dev()).value();
  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimePoint now_ = kj::origin<kj::TimePoint>() + 1 * kj::HOURS;
  kj::TimerImpl timer_{now_};
  std::map<IommuGroupId, GroupBinding> bindings_;
  std::map<IommuGroupId, int> asked_;
  std::shared_ptr<const Snapshot> shown_;
  kj::Maybe<HostView> view_;
};

TEST_F(HostViewTest, HasTheFirstGenerationAtOnce) {
  EXPECT_EQ(generation(), 1U);
  EXPECT_EQ(view().next(0).wait(scope_).snapshot->devices.size(), 3U);
  EXPECT_EQ(asked_[kSeven], 1);
  EXPECT_EQ(asked_[kEight], 1);
}

TEST_F(HostViewTest, I9_AWakeUpFindsWhatHasComeAndGone) {
  auto next = view().next(1);
  tree_.add({.address = "0000:03:00.0", .group = 9});
  tree_.remove("0000:02:00.0");
  view().wake();
  scope_.poll();
  ASSERT_TRUE(next.poll(scope_));
  EXPECT_TRUE(seen().groups.contains(IommuGroupId(9)));
  EXPECT_FALSE(seen().devices.contains(*Bdf::parse("0000:02:00.0")));
}

TEST_F(HostViewTest, I9_WithoutAWakeUpTheTimerFindsIt) {
  tree_.add({.address = "0000:03:00.0", .group = 9});
  pass(59'900 * kj::MILLISECONDS);
  EXPECT_EQ(generation(), 1U);
  pass(200 * kj::MILLISECONDS);
  EXPECT_EQ(generation(), 2U);
}

TEST_F(HostViewTest, WakeUpsWithoutEndMakeFewScansAndNoneIsMissed) {
  asked_.clear();
  for (int i = 0; i < 1000; ++i) {
    view().wake();
    pass(1 * kj::MILLISECONDS);
  }
  EXPECT_LE(asked_[kSeven], 11);
  EXPECT_GE(asked_[kSeven], 3);
  tree_.add({.address = "0000:03:00.0", .group = 9});
  view().wake();  // while it rests
  pass(10 * kj::SECONDS);
  EXPECT_TRUE(seen().groups.contains(IommuGroupId(9)));
}

TEST_F(HostViewTest, AScanThatFindsTheSameMakesNoGeneration) {
  view().wake();
  pass(1 * kj::SECONDS);
  EXPECT_EQ(generation(), 1U);
}

TEST_F(HostViewTest, AnotherBindingIsAnotherGeneration) {
  bindings_[kSeven] = {.busy = true};
  view().rereadNow({kSeven});
  EXPECT_EQ(generation(), 2U);
  EXPECT_TRUE(seen().groups.at(kSeven).binding.busy);
  view().wake();
  scope_.poll();
  EXPECT_EQ(generation(), 2U) << "a scan has the same bindings";
}

TEST_F(HostViewTest, ARereadAsksForTheGroupsThatItReadsAndNoOthers) {
  asked_.clear();
  bindings_[kEight] = {.stuck = true};
  view().rereadNow({kSeven});
  EXPECT_EQ(asked_, (std::map<IommuGroupId, int>{{kSeven, 1}}));
  EXPECT_EQ(generation(), 1U);
}

TEST_F(HostViewTest, ARereadSeesWhatAGroupLost) {
  bindings_[kSeven] = {.boundForAllocation = true};
  view().rereadNow({kSeven});
  tree_.remove("0000:01:00.1");
  view().rereadNow({kSeven});
  EXPECT_EQ(seen().groups.at(kSeven).members.size(), 1U);
  EXPECT_EQ(seen().devices.size(), 2U);
  EXPECT_TRUE(seen().groups.at(kSeven).binding.boundForAllocation);
}

TEST_F(HostViewTest, AGroupThatIsGoneIsNoMoreAskedFor) {
  tree_.remove("0000:02:00.0");
  view().rereadNow({kEight});
  asked_.clear();
  view().rereadNow({kEight});
  EXPECT_EQ(asked_[kEight], 0);
}

// It must not look like a machine without any device.
TEST_F(HostViewTest, I9_WhereSysfsCannotBeListedWhatWasSeenStands) {
  const std::string devices = tree_.sysfs() + "/bus/pci/devices";
  std::filesystem::rename(devices, devices + ".away");
  std::filesystem::create_symlink("/", devices);  // leads out, which is an error
  view().wake();
  scope_.poll();
  EXPECT_EQ(generation(), 1U);
  EXPECT_EQ(seen().devices.size(), 3U);
}

TEST_F(HostViewTest, KnowsWhetherSysfsCanBeWritten) {
  EXPECT_EQ(seen().sysfsWriting, sysfsWriting(sysfs_));
  tree_.add({.address = "0000:03:00.0", .group = 9});
  view().wake();
  scope_.poll();
  EXPECT_EQ(seen().sysfsWriting, sysfsWriting(sysfs_));
}

}  // namespace
}  // namespace vfiogate
