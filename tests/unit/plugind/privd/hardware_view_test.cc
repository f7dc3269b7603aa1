#include "plugind/privd/hardware_view.h"

#include "tests/support/hardware.h"

#include <gtest/gtest.h>

#include <kj/debug.h>

namespace vfiogate {
namespace {

using test::Hardware;
using Taken = HardwareView::Taken;

DecodedUpdate whole(std::uint64_t epoch, std::uint64_t generation, const Snapshot& snapshot) {
  return {{epoch, generation, snapshot}, {}};
}

DecodedUpdate delta(std::uint64_t epoch, std::uint64_t generation, std::uint64_t base,
                    const SnapshotDelta& changes) {
  return {{epoch, generation, UpdateDelta{base, changes}}, {}};
}

Hardware hardware() {
  Hardware made;
  made.add("0000:65:00.0", 31);
  return made;
}

TEST(HardwareView, FoldsAWholeAndWhatFollows) {
  const auto before = hardware();
  auto after = hardware();
  after.add("0000:66:00.0", 32);
  HardwareView view;
  EXPECT_EQ(view.take(whole(1, 5, before.snapshot())), Taken::kNew);
  EXPECT_EQ(view.take(delta(1, 6, 5, diff(before.snapshot(), after.snapshot()))), Taken::kNew);
  EXPECT_EQ(view.snapshot(), after.snapshot());
  EXPECT_EQ(view.take(delta(1, 8, 6, diff(after.snapshot(), before.snapshot()))), Taken::kNew);
  EXPECT_EQ(view.snapshot(), before.snapshot());
}

TEST(HardwareView, TakesNoDeltaThatDoesNotFollow) {
  const auto before = hardware();
  SnapshotDelta everythingGone = diff(before.snapshot(), Snapshot{});
  struct Row {
    const char* name;
    std::uint64_t epoch;
    std::uint64_t base;
  };
  for (const Row& row : {Row{"another base", 1, 4}, Row{"another epoch", 2, 5}}) {
    HardwareView view;
    EXPECT_EQ(view.take(whole(1, 5, before.snapshot())), Taken::kNew);
    EXPECT_EQ(view.take(delta(row.epoch, 6, row.base, everythingGone)), Taken::kMissing)
        << row.name;
    EXPECT_EQ(view.snapshot(), before.snapshot()) << row.name;
    EXPECT_EQ(view.take(delta(1, 6, 5, everythingGone)), Taken::kMissing)
        << "after a gap only a whole will do";
    EXPECT_EQ(view.take(whole(2, 1, before.snapshot())), Taken::kNew);
  }
}

TEST(HardwareView, TakesNoDeltaBeforeAWhole) {
  HardwareView view;
  EXPECT_EQ(view.take(delta(1, 1, 0, {})), Taken::kMissing);
}

TEST(HardwareView, ShowsWhatARereadSaw) {
  auto told = hardware();
  told.add("0000:65:00.1", 31);
  told.add("0000:66:00.0", 32);
  HardwareView view;
  view.take(whole(1, 1, told.snapshot()));
  auto seen = hardware();
  seen.add("0000:65:00.1", 31);
  EXPECT_TRUE(view.shows(seen.snapshot()));
  auto other = seen;
  other.device("0000:65:00.1").driver = "nvidia";
  EXPECT_FALSE(view.shows(other.snapshot()));
  EXPECT_FALSE(view.shows(hardware().snapshot())) << "its group has another member";
  auto more = seen;
  more.add("0000:65:00.2", 31);
  EXPECT_FALSE(view.shows(more.snapshot()));
}

TEST(HardwareView, IsCompletedAnewAfterEachUpdate) {
  auto before = hardware();
  before.add("0000:66:00.0", 32);
  auto after = before;
  after.group(31).use = GroupUse::kOpen;
  BindingView bindings;
  bindings.exclude({test::at("0000:65:00.0"), test::at("0000:66:00.0")});
  HardwareView view;
  view.take(whole(1, 1, before.snapshot()));
  view.complete(bindings);
  view.take(delta(1, 2, 1, diff(before.snapshot(), after.snapshot())));
  view.complete(bindings);
  for (const std::uint32_t group : {31U, 32U}) {
    EXPECT_TRUE(view.snapshot().groups.at(IommuGroupId(group)).binding.excluded) << group;
  }
}

TEST(HardwareView, KeepsTheCapabilitiesOfGroupsThatDidNotChange) {
  const auto broken = []() { return schema::GroupControl::Client(KJ_EXCEPTION(FAILED, "a test")); };
  auto before = hardware();
  before.add("0000:66:00.0", 32);
  auto after = before;
  after.remove("0000:66:00.0");
  auto first = whole(1, 1, before.snapshot());
  first.controls.emplace(IommuGroupId(31), broken());
  first.controls.emplace(IommuGroupId(32), broken());
  HardwareView view;
  view.take(std::move(first));
  view.take(delta(1, 2, 1, diff(before.snapshot(), after.snapshot())));
  EXPECT_TRUE(view.control(IommuGroupId(31)) != nullptr);
  EXPECT_TRUE(view.control(IommuGroupId(32)) == nullptr) << "its group is gone";
  EXPECT_TRUE(view.control(IommuGroupId(33)) == nullptr);

  auto changed = after;
  changed.group(31).use = GroupUse::kOpen;
  view.take(delta(1, 3, 2, diff(after.snapshot(), changed.snapshot())));
  EXPECT_TRUE(view.control(IommuGroupId(31)) == nullptr)
      << "a changed group brings its capability anew, or has none";
}

}  // namespace
}  // namespace vfiogate
