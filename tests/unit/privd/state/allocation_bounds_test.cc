// How much the record of allocations may have: in memory, on a disk that may be memory, and of what
// one answer has to tell at once.

#include "privd/state/allocation_records.h"

#include <gmock/gmock.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "privd/state/allocation_text.h"
#include "sim/base/temp_dir.h"

namespace vfiogate {
namespace {

namespace fs = std::filesystem;
using testing::Each;
using testing::EndsWith;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::uint32_t kMembersOfTheLargest = 803;

/// Ascending, from the `first`th on, of a machine that has as many functions as there may be.
std::vector<UnitId> functions(std::uint32_t count, std::uint32_t first = 0) {
  std::vector<UnitId> members;
  for (std::uint32_t i = first; i < first + count; ++i) members.push_back(*Bdf::make(i, 0, 0, 0));
  return members;
}

std::vector<UnitId> mediated(std::uint32_t count, std::uint32_t first) {
  std::vector<UnitId> members;
  for (std::uint32_t i = first; i < first + count; ++i) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "00000000-0000-0000-0000-%012x", i);
    members.push_back(*UnitId::parse(text.data()));
  }
  return members;
}

class AllocationBoundsTest : public testing::Test {
protected:
  AllocationRecords open() const {
    return AllocationRecords::open(dir_ / "devices", "this-boot").value();
  }
  /// What the files take on a tmpfs.
  std::uintmax_t bytesOfPages() const {
    constexpr std::uintmax_t kPage = 4096;
    std::uintmax_t bytes = 0;
    for (const auto& file : fs::directory_iterator(dir_ / "devices")) {
      bytes += (file.file_size() + kPage - 1) / kPage * kPage;
    }
    return bytes;
  }

  TempDir dir_;
  const std::string largestNote_ = std::string(kLargestNote, 'x');
};

TEST_F(AllocationBoundsTest, I10_OfALargeGroupThereIsOneWhateverIsTakenOutOfIt) {
  {
    auto records = open();
    const auto session = records.newSession();
    ASSERT_TRUE(records.allocate(functions(kMembersOfTheLargest), "x", session));
    ASSERT_TRUE(records.allocate(functions(1), "y", session));
    EXPECT_THAT(records.groups(), SizeIs(2)) << "the rest, and what was taken out";
  }
  const auto records = open();
  EXPECT_THAT(records.groups(), SizeIs(2));
  EXPECT_THAT(records.problems(), IsEmpty());
}

TEST_F(AllocationBoundsTest, AGroupOfSixHundredHasItsNote) {
  {
    auto records = open();
    EXPECT_TRUE(records.allocate(functions(600), largestNote_, records.newSession()));
  }
  EXPECT_THAT(open().groups(), SizeIs(1));
}

// Of so many devices, which only root can write: who has them a plugind may know.
TEST_F(AllocationBoundsTest, I1_OfWhatIsTooLargeNobodyKnows) {
  constexpr std::uint32_t kFiles = 300;
  open();
  const auto members = functions(kMembersOfTheLargest);
  for (std::uint32_t i = 0; i < kFiles; ++i) {
    std::ofstream(dir_ / ("devices/" + members[i].str()))
        << allocationText("this-boot", {members, std::to_string(i)});
  }
  auto records = open();
  EXPECT_THAT(records.problems(), Not(IsEmpty()));
  EXPECT_THAT(records.problems(), Each(EndsWith("makes no sense")));
  EXPECT_FALSE(records.complete());
  EXPECT_FALSE(records.isOnFile({members[kFiles - 1]}));
  std::size_t known = 0;
  for (const auto& group : records.groups()) known += group->members.size();
  EXPECT_LT(known, kLargestRecord / sizeof(UnitId));
  EXPECT_THAT(records.groups(), SizeIs(kFiles)) << "none of them is free";
}

TEST_F(AllocationBoundsTest, I10_FilesAreCountedByThePageWhateverTheMembersAreCalled) {
  constexpr std::uint32_t kMembers = 108;  // whose text is a few bytes more than a page
  auto records = open();
  const auto session = records.newSession();
  std::uint32_t first = 0;
  while (records.allocate(mediated(kMembers, first), "x", session)) first += kMembers;
  EXPECT_EQ(records.lastError(), EOVERFLOW);
  EXPECT_GT(first, 2'000U);
  EXPECT_LE(bytesOfPages(), kLargestFiles);
}

// They are told together, or not at all.
TEST_F(AllocationBoundsTest, I10_GroupsThatBeginWithOneDeviceFitIntoAnAnswer) {
  constexpr std::size_t kLargestAnswer = 65'536;
  auto records = open();
  const auto session = records.newSession();
  const auto members = functions(10);
  for (std::size_t i = 1; i < members.size(); ++i) {
    if (!records.allocate({members[0], members[i]}, largestNote_, session)) {
      EXPECT_EQ(records.lastError(), EOVERFLOW);
    }
  }
  EXPECT_LT(records.groups().size() * kLargestNote, kLargestAnswer);
  EXPECT_GT(records.groups().size(), 2U) << "a device may move to another group";
  const auto others = functions(2, 100);
  EXPECT_TRUE(records.allocate(others, largestNote_, session));
  records.release(members);
  EXPECT_TRUE(records.allocate({members[0], members[9]}, largestNote_, session));
}

// Of a group whose record cannot be written nothing is on file but what was there before: that is
// counted on.
TEST_F(AllocationBoundsTest, I10_WhatIsRefusedAsBusyMakesNoRoomForGroupsThatBeginWithOneDevice) {
  const auto members = functions(10);
  const UnitId busy = functions(1, 100).front();
  {
    auto records = open();
    const auto session = records.newSession();
    auto other = AllocationFiles::open(dir_ / "devices", "this-boot").value();
    const auto locked = other.lock({busy});
    ASSERT_TRUE(locked);
    for (std::size_t i = 1; i < members.size(); ++i) {
      records.allocate({members[0], members[i]}, largestNote_, session);
      EXPECT_FALSE(records.allocate({members[i], busy}, "x", session));
    }
  }
  const auto records = open();
  std::size_t text = 0;
  for (const auto& group : records.groups()) {
    if (group->members.front() == members.front()) text += group->sizes.text;
  }
  EXPECT_LE(text, kLargestOfOneFirst);
  EXPECT_THAT(records.problems(), IsEmpty());
}

TEST_F(AllocationBoundsTest, I10_NorForMoreFiles) {
  constexpr std::uint32_t kGroups = 1'560;
  const UnitId busy = functions(1, kGroups).front();
  auto records = open();
  const auto session = records.newSession();
  auto other = AllocationFiles::open(dir_ / "devices", "this-boot").value();
  const auto locked = other.lock({busy});
  ASSERT_TRUE(locked);
  for (const UnitId& member : functions(kGroups)) {
    records.allocate({member}, largestNote_, session);
    EXPECT_FALSE(records.allocate({member, busy}, "x", session));
  }
  EXPECT_LE(bytesOfPages(), kLargestFiles);
}

// As an older privd may have left them.
TEST_F(AllocationBoundsTest, I1_OfMoreThanAnAnswerTellsNobodyKnows) {
  open();
  const auto members = functions(10);
  for (std::size_t i = 1; i < members.size(); ++i) {
    std::ofstream(dir_ / ("devices/" + members[i].str()))
        << allocationText("this-boot", {{members[0], members[i]}, largestNote_});
  }
  const auto records = open();
  EXPECT_THAT(records.groups(), SizeIs(9)) << "none of them is free";
  EXPECT_THAT(records.problems(), SizeIs(4));
}

}  // namespace
}  // namespace vfiogate
