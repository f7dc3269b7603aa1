#include "privd/audit/refusal_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vfiogate::test {
namespace {

using namespace std::chrono_literals;
using Told = std::vector<std::pair<std::string, std::uint64_t>>;

constexpr WriteLimits::Time kStart{1000s};
constexpr std::uint32_t kPlugind = 64532;

TEST(WriteLimits, AreTenOrdersAGroupInAnyMinute) {
  WriteLimits limits;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limits.admit(kPlugind, 7, kStart + i * 1s)) << i;
  EXPECT_FALSE(limits.admit(kPlugind, 7, kStart + 10s));
  EXPECT_TRUE(limits.admit(kPlugind, 8, kStart + 10s)) << "another group";
  EXPECT_TRUE(limits.admit(kPlugind + 1, 7, kStart + 10s)) << "another peer";
  EXPECT_FALSE(limits.admit(kPlugind, 7, kStart + 60s - 1ns));
  EXPECT_TRUE(limits.admit(kPlugind, 7, kStart + 60s)) << "the first is a minute old";
  EXPECT_FALSE(limits.admit(kPlugind, 7, kStart + 60s)) << "the second is not";
}

TEST(WriteLimits, AreAHundredAndTwentyInAll) {
  WriteLimits limits;
  for (std::uint32_t i = 0; i < 120; ++i) EXPECT_TRUE(limits.admit(kPlugind, i / 5, kStart)) << i;
  EXPECT_FALSE(limits.admit(kPlugind, 99, kStart + 1s));
  EXPECT_TRUE(limits.admit(0, 99, kStart + 1s)) << "another peer";
  EXPECT_TRUE(limits.admit(kPlugind, 99, kStart + 60s));
}

TEST(WriteLimits, WhoIsRefusedOnlyWaits) {
  WriteLimits limits;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(limits.admit(kPlugind, 7, kStart));
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(limits.admit(kPlugind, 7, kStart + 59s));
  EXPECT_TRUE(limits.admit(kPlugind, 7, kStart + 60s));
}

Told toldBy(RefusalDigest& digest, RefusalDigest::Time now) {
  Told told;
  for (const auto& [kind, count] : digest.due(now)) told.emplace_back(kind.peer, count);
  return told;
}

TEST(RefusalDigest, TellsTheFirstAtOnceAndTheRestOnceASecond) {
  RefusalDigest digest;
  const RefusalKind kind{"uid 64532", 7, "held"};
  digest.count(kind, kStart);
  EXPECT_EQ(toldBy(digest, kStart), (Told{{"uid 64532", 1}}));
  for (int i = 0; i < 500; ++i) digest.count(kind, kStart + 1ms);
  EXPECT_EQ(toldBy(digest, kStart + 999ms), Told{});
  EXPECT_EQ(toldBy(digest, kStart + 1s), (Told{{"uid 64532", 500}}));
  EXPECT_EQ(toldBy(digest, kStart + 5s), Told{}) << "nothing new";
}

TEST(RefusalDigest, TellsEachPeerGroupAndReasonApart) {
  RefusalDigest digest;
  for (const RefusalKind& kind :
       {RefusalKind{"a", 7, "held"}, RefusalKind{"b", 7, "held"}, RefusalKind{"a", 8, "held"},
        RefusalKind{"a", std::nullopt, "held"}, RefusalKind{"a", 7, "bridge"}}) {
    digest.count(kind, kStart);
  }
  EXPECT_EQ(digest.due(kStart).size(), 5U);
}

TEST(RefusalDigest, I10_RemembersNoMoreThanItsKindsAndLosesNoCount) {
  RefusalDigest digest;
  std::uint64_t told = 0;
  constexpr std::uint32_t kMany = 10'000;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    digest.count({std::string(10'000, 'p'), i, std::string(10'000, 'r')}, kStart);
  }
  const auto due = digest.due(kStart);
  EXPECT_EQ(due.size(), RefusalDigest::kMostKinds);
  for (const auto& [kind, count] : due) {
    told += count;
    EXPECT_LE(kind.peer.size() + kind.reason.size(), 400U);
  }
  EXPECT_EQ(told, kMany);
  EXPECT_EQ(due.front().kind.peer, "others");
  digest.count({"new", 1, "x"}, kStart + 2s);
  EXPECT_EQ(toldBy(digest, kStart + 2s), (Told{{"new", 1}})) << "what is old made room";
}

}  // namespace
}  // namespace vfiogate::test
