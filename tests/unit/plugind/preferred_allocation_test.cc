#include "plugind/core/resource/preferred_allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Candidates = std::map<std::string, Candidate>;

Candidate on(std::uint32_t node, std::uint32_t group) {
  return {.numaNode = node, .group = IommuGroupId(group)};
}

std::vector<std::string> pick(const Candidates& candidates, std::size_t size,
                              const std::set<std::string>& mustInclude = {}) {
  PreferredRequest request{.mustInclude = mustInclude, .size = size};
  for (const auto& [id, known] : candidates) request.available.insert(id);
  return preferredDevices(request, candidates);
}

TEST(PreferredDevices, StayOnOneNumaNode) {
  const Candidates all{{"a", on(0, 1)}, {"b", on(1, 2)}, {"c", on(0, 3)}, {"d", on(1, 4)}};
  EXPECT_THAT(pick(all, 2), ElementsAre("a", "c"));
}

TEST(PreferredDevices, TakeTheNodeThatIsJustLargeEnough) {
  const Candidates all{{"a", on(0, 1)}, {"b", on(0, 2)}, {"c", on(0, 3)}, {"d", on(1, 4)}};
  EXPECT_THAT(pick(all, 1), ElementsAre("d"));
  EXPECT_THAT(pick(all, 2), ElementsAre("a", "b"));
}

TEST(PreferredDevices, BeginWithTheLargestNodeWhereNoneIsEnough) {
  const Candidates all{{"a", on(0, 1)}, {"b", on(1, 2)}, {"c", on(1, 3)}, {"d", on(2, 4)}};
  EXPECT_THAT(pick(all, 3), ElementsAre("a", "b", "c"));
}

TEST(PreferredDevices, FollowWhatIsDecidedAlready) {
  const Candidates all{{"a", on(0, 1)}, {"b", on(0, 2)}, {"c", on(1, 3)}, {"d", on(1, 4)}};
  EXPECT_THAT(pick(all, 2, {"d"}), ElementsAre("c", "d"));
}

TEST(PreferredDevices, TakeAGroupWholeBeforeAPartOfAnother) {
  const Candidates all{{"a", on(0, 1)}, {"b", on(0, 2)}, {"c", on(0, 2)}, {"d", on(0, 3)}};
  EXPECT_THAT(pick(all, 2), ElementsAre("b", "c"));
  EXPECT_THAT(pick(all, 1), ElementsAre("a")) << "not half of the group of b and c";
}

TEST(PreferredDevices, FillTheGroupThatIsBegun) {
  const Candidates all{{"a", on(0, 1)}, {"b", on(0, 2)}, {"c", on(1, 2)}};
  EXPECT_THAT(pick(all, 2, {"b"}), ElementsAre("b", "c"));
}

TEST(PreferredDevices, TakeWhatMayBeAnothersLast) {
  Candidates all{{"a", on(0, 1)}, {"b", on(1, 2)}, {"c", on(1, 3)}};
  all["a"].doubtful = true;
  EXPECT_THAT(pick(all, 1), ElementsAre("b"));
  EXPECT_THAT(pick(all, 3), ElementsAre("a", "b", "c"));
}

TEST(PreferredDevices, AreAllThereAreIfThatIsLess) {
  EXPECT_THAT(pick({{"a", on(0, 1)}}, 4), ElementsAre("a"));
  EXPECT_THAT(pick({}, 4), IsEmpty());
}

TEST(PreferredDevices, AreWhatIsDecidedEvenIfThatIsMore) {
  EXPECT_THAT(pick({{"a", {}}, {"b", {}}}, 1, {"a", "b"}), ElementsAre("a", "b"));
}

TEST(PreferredDevices, MayBeUnknown) {
  EXPECT_THAT(preferredDevices({.available = {"x", "y"}, .size = 1}, {{"y", on(0, 1)}}),
              ElementsAre("y"));
}

// T15, T16: whatever is asked, exactly `size` of `available`, and `mustInclude` among them.
TEST(PreferredDevices, AnswerEveryQuestionExactly) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    std::mt19937 engine(seed);
    const auto random = [&engine]() { return static_cast<std::uint32_t>(engine()); };
    Candidates all;
    PreferredRequest request;
    const std::uint32_t count = random() % 12;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string id(1, static_cast<char>('a' + i));
      all[id] = on(random() % 3, random() % 5);
      all[id].doubtful = random() % 5 == 0;
      request.available.insert(id);
      if (random() % 4 == 0) request.mustInclude.insert(id);
    }
    request.size = request.mustInclude.size() + random() % 5;
    const auto picked = preferredDevices(request, all);
    EXPECT_EQ(picked.size(), std::min(request.size, request.available.size())) << seed;
    for (const std::string& id : request.mustInclude) {
      EXPECT_THAT(picked, testing::Contains(id)) << seed;
    }
    for (const std::string& id : picked) EXPECT_TRUE(request.available.contains(id)) << seed;
    EXPECT_EQ(std::set(picked.begin(), picked.end()).size(), picked.size()) << seed;
  }
}

}  // namespace
}  // namespace vfiogate
