#include "plugind/core/resource/preferred_allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
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

TEST(PreferredDevices, CompleteRegionsOfExtendedMemoryOnNodesThatSayNothing) {
  const auto of = [](std::uint32_t region, std::uint32_t group) {
    return Candidate{.egmRegion = region, .group = IommuGroupId(group)};
  };
  const Candidates all{{"a", of(4, 1)}, {"b", of(5, 2)}, {"c", of(5, 3)}, {"d", of(4, 4)}};
  EXPECT_THAT(pick(all, 2), ElementsAre("a", "d"));
  EXPECT_THAT(pick(all, 2, {"c"}), ElementsAre("b", "c"));
  EXPECT_THAT(pick({{"a", of(4, 1)}, {"b", of(5, 2)}, {"c", of(5, 3)}}, 1), ElementsAre("a"))
      << "what is left of a region whose memory nobody gets any more";
}

Candidate below(const char* root, std::uint32_t group, std::uint32_t node = 0) {
  return {.numaNode = node, .group = IommuGroupId(group), .root = root};
}

TEST(PreferredDevices, StayBelowOnePcieRootOfANode) {
  const Candidates all{{"a", below("pci0000:17", 1)}, {"b", below("pci0000:3a", 2)},
                       {"c", below("pci0000:17", 3)}, {"d", below("pci0000:85", 4, 1)},
                       {"e", below("pci0000:3a", 5)}, {"f", below("pci0000:3a", 6)}};
  EXPECT_THAT(pick(all, 2), ElementsAre("a", "c")) << "the root that is just large enough";
  EXPECT_THAT(pick(all, 3), ElementsAre("b", "e", "f"));
  EXPECT_THAT(pick(all, 4), ElementsAre("a", "b", "e", "f")) << "the largest root first";
  EXPECT_THAT(pick(all, 2, {"b"}), ElementsAre("b", "e"));
  EXPECT_THAT(pick(all, 1), ElementsAre("d")) << "the node comes before the root";
}

TEST(PreferredDevices, GroupsComeAfterTheRoot) {
  const Candidates all{{"a", below("pci0000:17", 1)},
                       {"b", below("pci0000:3a", 2)},
                       {"c", below("pci0000:3a", 2)},
                       {"d", below("pci0000:17", 3)},
                       {"e", below("pci0000:17", 4)}};
  EXPECT_THAT(pick(all, 2), ElementsAre("b", "c"));
  EXPECT_THAT(pick(all, 1), ElementsAre("a")) << "not half of the group of b and c";
}

TEST(PreferredDevices, BeginBesideWhatTheContainerHas) {
  Candidates all{{"a", below("pci0000:17", 1)},
                 {"b", below("pci0000:3a", 2)},
                 {"c", below("pci0000:85", 3, 1)},
                 {"nic", below("pci0000:85", 9, 1)}};
  const auto beside = [&all](const std::string& other, std::size_t size) {
    return preferredDevices({.available = {"a", "b", "c"}, .size = size, .beside = {other}}, all);
  };
  EXPECT_THAT(beside("nic", 1), ElementsAre("c"));
  all["nic"] = below("pci0000:3a", 9);
  EXPECT_THAT(beside("nic", 1), ElementsAre("b"));
  EXPECT_THAT(beside("unknown", 1), ElementsAre("c")) << "as without";
}

TEST(PreferredDevices, PreferRootsThatHaveANetworkCard) {
  Candidates all{
      {"a", below("pci0000:17", 1)}, {"b", below("pci0000:3a", 2)}, {"c", below("pci0000:3a", 3)}};
  EXPECT_THAT(pick(all, 1), ElementsAre("a"));
  all["b"].besideNic = all["c"].besideNic = true;
  EXPECT_THAT(pick(all, 1), ElementsAre("b"));
  EXPECT_THAT(pick(all, 3), ElementsAre("a", "b", "c"));
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
      all[id].root = random() % 4 == 0 ? "" : "pci0000:0" + std::to_string(random() % 3);
      all[id].besideNic = random() % 3 == 0;
      if (random() % 6 == 0) request.beside.insert(id);
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

/// Of a processor, by this thread: the machine does other things, too.
std::chrono::nanoseconds taken() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// The shortest of five.
std::chrono::nanoseconds pickingTakes(std::uint32_t devices) {
  Candidates all;
  for (std::uint32_t i = 0; i < devices; ++i) {
    all[std::to_string(i)] = on(i % 2, i);
    all[std::to_string(i)].root = "pci0000:" + std::to_string(i % 16);
  }
  std::chrono::nanoseconds shortest = std::chrono::hours(1);
  for (int times = 0; times < 5; ++times) {
    const auto began = taken();
    EXPECT_THAT(pick(all, 8), testing::SizeIs(8));
    shortest = std::min(shortest, taken() - began);
  }
  return shortest;
}

// plugind does nothing else meanwhile, and a kubelet asks at each admission.
TEST(PreferredDevices, SixteenTimesAsManyTakeNotMuchMoreThanSixteenTimesAsLong) {
  EXPECT_LT(pickingTakes(2048) / pickingTakes(128), 60);
}

}  // namespace
}  // namespace vfiogate
