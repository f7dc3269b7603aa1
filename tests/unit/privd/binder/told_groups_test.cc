#include "privd/binder/told_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vfiogate {
namespace {

const Bdf kCard = *Bdf::parse("0000:01:00.0");
const Bdf kSound = *Bdf::parse("0000:01:00.1");

IommuGroup group(std::uint32_t id, std::vector<Bdf> members, GroupBinding binding = {}) {
  IommuGroup one{.id = IommuGroupId(id)};
  one.members = std::move(members);
  one.binding = std::move(binding);
  return one;
}

Snapshot with(const std::vector<IommuGroup>& groups) {
  Snapshot snapshot;
  for (const IommuGroup& one : groups) snapshot.groups.emplace(one.id, one);
  return snapshot;
}

TEST(ToldGroups, TellFirstEvenWhereThereIsNothing) {
  ToldGroups told;
  const auto first = told.news(with({group(7, {kCard})}), true);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->mayBind);
  EXPECT_FALSE(first->more);
  EXPECT_TRUE(first->groups.empty()) << "whose binding is all false is as if untold";
  EXPECT_FALSE(told.news(with({group(7, {kCard})}), true)) << "that is no news";
}

TEST(ToldGroups, TellWhatBecameOfSysfs) {
  ToldGroups told;
  told.news({}, false);
  Snapshot now;
  now.sysfsWriting = SysfsWriting::kReadOnly;
  const auto news = told.news(now, false);
  ASSERT_TRUE(news);
  EXPECT_EQ(news->sysfsWriting, SysfsWriting::kReadOnly);
}

TEST(ToldGroups, TellDifferencesAlone) {
  ToldGroups told;
  const GroupBinding bindable{.bindable = true};
  told.news(with({group(7, {kCard}, bindable), group(8, {kSound}, bindable)}), true);
  const GroupBinding busy{.busy = true};
  const auto news = told.news(with({group(7, {kCard}, busy), group(8, {kSound}, bindable)}), true);
  ASSERT_TRUE(news);
  ASSERT_EQ(news->groups.size(), 1U);
  EXPECT_EQ(news->groups[0].id, IommuGroupId(7));
  EXPECT_EQ(news->groups[0].binding, busy);
}

struct Change {
  const char* name;
  std::vector<IommuGroup> after;
  std::vector<Bdf> members;  ///< that are told as if untold
};

// The group that was told of has a binding; `after` it has none, or is another.
TEST(ToldGroups, TakeBackWhatIsNoMoreSo) {
  const GroupBinding bound{.boundForAllocation = true};
  const std::vector<Change> rows{
      {"it is not bound any more", {group(7, {kCard})}, {kCard}},
      {"it is gone", {}, {kCard}},
      {"it has other members", {group(7, {kSound})}, {kCard}},
  };
  for (const Change& row : rows) {
    ToldGroups told;
    told.news(with({group(7, {kCard}, bound)}), true);
    const auto news = told.news(with(row.after), true);
    ASSERT_TRUE(news) << row.name;
    ASSERT_EQ(news->groups.size(), 1U) << row.name;
    EXPECT_EQ(news->groups[0].members, row.members) << row.name;
    EXPECT_EQ(news->groups[0].binding, GroupBinding{}) << row.name;
    EXPECT_FALSE(told.news(with(row.after), true)) << row.name;
  }
}

TEST(ToldGroups, TellOtherMembersOfABoundGroup) {
  const GroupBinding bound{.boundForAllocation = true};
  ToldGroups told;
  told.news(with({group(7, {kCard}, bound)}), true);
  const auto news = told.news(with({group(7, {kCard, kSound}, bound)}), true);
  ASSERT_TRUE(news);
  ASSERT_EQ(news->groups.size(), 1U);
  EXPECT_EQ(news->groups[0].members, (std::vector<Bdf>{kCard, kSound}));
  EXPECT_EQ(news->groups[0].binding, bound);
}

// The gate tells of it: the binder's word would only be a second one.
TEST(ToldGroups, SayNothingOfExclusions) {
  ToldGroups told;
  told.news({}, true);
  EXPECT_FALSE(told.news(with({group(7, {kCard}, {.excluded = true})}), true));
  const GroupBinding both{.excluded = true, .stuck = true};
  const auto news = told.news(with({group(7, {kCard}, both)}), true);
  ASSERT_TRUE(news);
  EXPECT_FALSE(news->groups.at(0).binding.excluded);
}

TEST(ToldGroups, SplitWhatIsTooLargeForAPacket) {
  constexpr std::uint32_t kGroups = 300;
  Snapshot now;
  for (std::uint32_t id = 0; id < kGroups; ++id) {
    const auto address = Bdf::parse("0000:01:00.0");
    now.groups.emplace(IommuGroupId(id),
                       group(id, {*address}, {.bar = std::string(binder::kLongestWords, 'x')}));
  }
  ToldGroups told;
  std::size_t groups = 0;
  std::size_t parts = 0;
  for (auto part = told.news(now, true); part; part = told.news(now, true)) {
    EXPECT_LE(encode(binder::FromBinder(*part)).size(), binder::kLargestMessage);
    groups += part->groups.size();
    ++parts;
    EXPECT_EQ(part->more, groups < kGroups);
  }
  EXPECT_EQ(groups, kGroups);
  EXPECT_GT(parts, 1U);
}

}  // namespace
}  // namespace vfiogate
