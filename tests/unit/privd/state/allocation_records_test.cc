#include "privd/state/allocation_records.h"

#include <gmock/gmock.h>

#include <fstream>

#include "privd/state/allocation_text.h"
#include "sim/base/temp_dir.h"

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Bdf kA = *Bdf::parse("0000:01:00.0");
const Bdf kB = *Bdf::parse("0000:01:00.1");
const Bdf kC = *Bdf::parse("0000:02:00.0");
const std::string kNote = "resource=vfiogate.dev/gpu ids=0000:01:00.0 ref=7f3a since=1";

class AllocationRecordsTest : public testing::Test {
protected:
  AllocationRecords open(const std::string& bootId = "this-boot") const {
    return AllocationRecords::open(dir_.path(), bootId).value();
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / ("devices/" + name)) << text;
  }
  bool isThere(const std::string& name) const {
    return std::filesystem::exists(dir_ / ("devices/" + name));
  }

  TempDir dir_;
};

TEST_F(AllocationRecordsTest, AllocatedUntilReleased) {
  auto records = open();
  const auto session = records.newSession();
  EXPECT_FALSE(records.anyOf({kA, kB}));
  EXPECT_FALSE(records.isOnFile({kA, kB}));
  EXPECT_TRUE(records.allocate({kA, kB}, kNote, session));
  EXPECT_TRUE(records.allocate({kA, kB}, kNote, session));
  EXPECT_TRUE(records.anyOf({kA, kB}));
  EXPECT_TRUE(records.isOnFile({kA, kB}));
  EXPECT_FALSE(records.anyOf({kC}));
  records.release({kA, kB});
  records.release({kA, kB});
  EXPECT_FALSE(records.anyOf({kA, kB}));
  EXPECT_FALSE(isThere("0000:01:00.0"));
}

TEST_F(AllocationRecordsTest, FollowAddressesIntoWhicheverGroupTheyGo) {
  auto records = open();
  records.allocate({kA, kB}, kNote, records.newSession());
  EXPECT_TRUE(records.anyOf({kB, kC})) << "one member of it is allocated";
  records.release({kB, kC});
  EXPECT_TRUE(records.anyOf({kA}));
}

TEST_F(AllocationRecordsTest, OutliveTheSessionUntilAnotherIsAdopted) {
  auto records = open();
  records.allocate({kA}, kNote, records.newSession());
  records.allocate({kC}, kNote, records.newSession());
  const auto now = records.newSession();
  records.allocate({kC}, kNote, now);
  EXPECT_TRUE(records.anyOf({kA}));
  records.keepOnly(now);
  records.keepOnly(now);
  EXPECT_FALSE(records.anyOf({kA}));
  EXPECT_TRUE(records.anyOf({kC}));
}

// I1: whoever comes after privd and plugind knows what is allocated, and to whom.
TEST_F(AllocationRecordsTest, I1_OutlivePrivd) {
  {
    auto records = open();
    EXPECT_FALSE(records.complete()) << "nobody has said yet what is allocated";
    records.keepOnly(records.newSession());
    records.allocate({kA, kB}, kNote, records.newSession());
    records.allocate({kC}, kNote + "\nsecond", records.newSession());
  }
  const auto records = open();
  EXPECT_TRUE(records.complete());
  EXPECT_TRUE(records.anyOf({kA}));
  EXPECT_TRUE(records.isOnFile({kA, kB, kC}));
  EXPECT_THAT(records.groups(), ElementsAre(AllocatedGroup{{kA, kB}, kNote},
                                            AllocatedGroup{{kC}, kNote + "\nsecond"}));
  EXPECT_THAT(records.problems(), IsEmpty());
}

TEST_F(AllocationRecordsTest, EndWithTheirBoot) {
  {
    auto records = open();
    records.keepOnly(records.newSession());
    records.allocate({kA}, kNote, records.newSession());
  }
  const auto records = open("next-boot");
  EXPECT_THAT(records.groups(), IsEmpty());
  EXPECT_FALSE(records.complete());
  EXPECT_FALSE(isThere("0000:01:00.0"));
}

// A file that makes no sense is somebody's: its device stays allocated until a plugind knows
// better.
TEST_F(AllocationRecordsTest, WhatMakesNoSenseStaysAllocated) {
  {
    auto records = open();
    records.keepOnly(records.newSession());
  }
  put("0000:01:00.0", "format=1\nboot=this-boot\nmembers=0000:01");
  put("0000:01:00.1", "");
  put("0000:02:00.0", allocationText("this-boot", {{kA}, kNote}));
  put("readme", "x");
  put(".0000:03:00.0", "half");
  std::filesystem::create_symlink("/etc/passwd", dir_ / "devices/0000:04:00.0");
  auto records = open();
  EXPECT_FALSE(records.complete());
  EXPECT_TRUE(records.anyOf({kA}));
  EXPECT_TRUE(records.anyOf({kB}));
  EXPECT_TRUE(records.anyOf({kC})) << "it speaks of others only";
  EXPECT_TRUE(records.anyOf({*Bdf::parse("0000:04:00.0")}));
  EXPECT_FALSE(records.isOnFile({kA}));
  EXPECT_THAT(records.problems(),
              ElementsAre(HasSubstr("01:00.0: makes no sense"), HasSubstr("01:00.1: makes"),
                          HasSubstr("02:00.0: makes no sense"), HasSubstr("04:00.0: makes"),
                          HasSubstr("readme: is named like no device")));
  EXPECT_FALSE(isThere(".0000:03:00.0"));
  records.keepOnly(records.newSession());
  EXPECT_FALSE(records.anyOf({kA, kB, kC}));
  EXPECT_TRUE(records.complete());
}

TEST_F(AllocationRecordsTest, I10_ANoteThatIsNoneIsNotWrittenAndAllocatedAllTheSame) {
  auto records = open();
  for (const std::string& note : {std::string(), std::string(kLargestNote + 1, 'x'),
                                  std::string("a\x1b[2J"), std::string("a\0b", 3)}) {
    EXPECT_FALSE(records.allocate({kA}, note, records.newSession()));
    EXPECT_EQ(records.lastError(), EINVAL);
    EXPECT_TRUE(records.anyOf({kA}));
    EXPECT_FALSE(records.isOnFile({kA}));
  }
  EXPECT_FALSE(isThere("0000:01:00.0"));
}

TEST_F(AllocationRecordsTest, SaysWhenItCannotBeWritten) {
  auto records = open();
  std::filesystem::remove_all(dir_ / "devices");
  EXPECT_FALSE(records.allocate({kA}, kNote, records.newSession()));
  EXPECT_EQ(records.lastError(), ENOENT);
  EXPECT_FALSE(records.isOnFile({kA}));
  EXPECT_TRUE(records.anyOf({kA}));
}

TEST(AllocationText, ReadsWhatItWritesAndNothingElse) {
  const AllocatedGroup group{{kA, kB}, kNote + "\n\nand more"};
  const std::string text = allocationText("b-1", group);
  const auto read = readAllocation(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->bootId, "b-1");
  EXPECT_EQ(read->group, group);
  for (std::size_t size = 0; size < text.find("\n\n") + 3; ++size) {
    EXPECT_FALSE(readAllocation(text.substr(0, size))) << size;
  }
  EXPECT_FALSE(readAllocation("format=2" + text.substr(8)));
  EXPECT_FALSE(readAllocation(allocationText("b", {{kB, kA}, kNote}))) << "not ascending";
  EXPECT_FALSE(readAllocation(text + std::string(kLargestAllocation, 'x')));
}

}  // namespace
}  // namespace vfiogate
