#include "privd/state/allocation_records.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "ipc/base/hex.h"
#include "privd/state/allocation_text.h"
#include "sim/base/temp_dir.h"

namespace vfiogate {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::Pointee;

const Bdf kA = *Bdf::parse("0000:01:00.0");
const Bdf kB = *Bdf::parse("0000:01:00.1");
const Bdf kC = *Bdf::parse("0000:02:00.0");
const std::string kNote = "resource=vfiogate.dev/gpu ids=0000:01:00.0 ref=7f3a since=1";

class AllocationRecordsTest : public testing::Test {
protected:
  AllocationRecords open(const std::string& bootId = "this-boot") const {
    return AllocationRecords::open(dir_ / "devices", bootId).value();
  }
  AllocationFiles files(const std::string& bootId = "this-boot") const {
    return AllocationFiles::open(dir_ / "devices", bootId).value();
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / ("devices/" + name)) << text;
  }
  std::string file(const std::string& name) const { return dir_ / ("devices/" + name); }
  bool isEmpty(const std::string& name) const { return std::filesystem::is_empty(file(name)); }

  TempDir dir_;
};

TEST_F(AllocationRecordsTest, AllocatedUntilReleased) {
  auto records = open();
  const auto session = records.newSession();
  EXPECT_FALSE(files().standing({kA, kB}));
  EXPECT_FALSE(records.isOnFile({kA, kB}));
  EXPECT_TRUE(records.allocate({kA, kB}, kNote, session));
  EXPECT_TRUE(records.allocate({kA, kB}, kNote, session));
  EXPECT_TRUE(files().standing({kA, kB}));
  EXPECT_TRUE(records.isOnFile({kA, kB}));
  EXPECT_FALSE(files().standing({kC}));
  records.release({kA, kB});
  records.release({kA, kB});
  EXPECT_FALSE(files().standing({kA, kB}));
  EXPECT_TRUE(isEmpty("0000:01:00.0")) << "its lock is for ever";
}

TEST_F(AllocationRecordsTest, FollowAddressesIntoWhicheverGroupTheyGo) {
  auto records = open();
  records.allocate({kA, kB}, kNote, records.newSession());
  EXPECT_TRUE(files().standing({kB, kC})) << "one member of it is allocated";
  records.release({kB, kC});
  EXPECT_TRUE(files().standing({kA}));
}

TEST_F(AllocationRecordsTest, OutliveTheSessionUntilAnotherIsAdopted) {
  auto records = open();
  records.allocate({kA}, kNote, records.newSession());
  records.allocate({kC}, kNote, records.newSession());
  const auto now = records.newSession();
  records.allocate({kC}, kNote, now);
  EXPECT_TRUE(files().standing({kA}));
  records.keepOnly(now);
  records.keepOnly(now);
  EXPECT_FALSE(files().standing({kA}));
  EXPECT_TRUE(files().standing({kC}));
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
  EXPECT_TRUE(files().standing({kA}));
  EXPECT_TRUE(records.isOnFile({kA, kB, kC}));
  EXPECT_THAT(records.groups(), ElementsAre(Pointee(AllocatedGroup{{kA, kB}, kNote}),
                                            Pointee(AllocatedGroup{{kC}, kNote + "\nsecond"})));
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
  EXPECT_FALSE(files("next-boot").standing({kA}));
}

// A file that makes no sense is somebody's: nobody knows whose, until a plugind knows better.
TEST_F(AllocationRecordsTest, I1_OfWhatMakesNoSenseNobodyKnows) {
  const std::string whole = allocationText("this-boot", {{kA, kB}, kNote});
  {
    auto records = open();
    records.keepOnly(records.newSession());
  }
  put("0000:01:00.0", whole.substr(0, whole.size() / 2));
  put("0000:01:00.1", "");
  put("0000:02:00.0", whole);
  put("0000:02:00.1", whole + std::string(kLargestAllocation, 'x'));
  std::filesystem::create_symlink("/dev/null", file("0000:04:00.0"));
  put("0000:05:00.0", "");
  ASSERT_EQ(chown(file("0000:05:00.0").c_str(), 65534, 65534), 0);
  put("0000:06:00.0", "");
  std::filesystem::permissions(file("0000:06:00.0"), std::filesystem::perms::all);
  put("0000:07:00.0", "");
  std::filesystem::create_hard_link(file("0000:07:00.0"), file("elsewhere"));
  ASSERT_EQ(mkfifo(file("0000:08:00.0").c_str(), 0600), 0);
  auto records = open();
  EXPECT_FALSE(records.complete());
  EXPECT_FALSE(files().standing({kB})) << "empty: free";
  const std::vector<std::string> unknown{"0000:01:00.0", "0000:02:00.0", "0000:02:00.1",
                                         "0000:04:00.0", "0000:05:00.0", "0000:06:00.0",
                                         "0000:07:00.0", "0000:08:00.0"};
  for (const std::string& name : unknown) {
    const Bdf address = *Bdf::parse(name);
    EXPECT_THAT(files().standing({address}), Optional(AllocatedGroup{{address}, {}})) << name;
    EXPECT_FALSE(records.isOnFile({address})) << name;
    EXPECT_THAT(records.problems(), Contains(HasSubstr(name + ": makes no sense")));
  }
  records.keepOnly(records.newSession());
  for (const std::string& name : unknown) {
    EXPECT_FALSE(files().standing({*Bdf::parse(name)})) << name;
  }
  EXPECT_TRUE(records.complete());
}

// What another process writes, or tears, is seen without opening the record again.
TEST_F(AllocationRecordsTest, I1_ReadsTheFilesAnewEachTime) {
  auto writer = open();
  EXPECT_FALSE(files().standing({kA, kB}));
  ASSERT_TRUE(writer.allocate({kA, kB}, kNote, writer.newSession()));
  EXPECT_THAT(files().standing({kB}), Optional(AllocatedGroup{{kA, kB}, kNote}));
  std::filesystem::resize_file(file("0000:01:00.1"), 40);
  EXPECT_THAT(files().standing({kB}), Optional(AllocatedGroup{{kB}, {}}));
  writer.release({kA, kB});
  EXPECT_FALSE(files().standing({kA, kB}));
}

// I1: who changes the drivers of a group and who allocates it are never two.
TEST_F(AllocationRecordsTest, I1_WhatSomebodyHasLockedIsNotAllocated) {
  auto records = open();
  {
    const auto locks = files().lock({kA, kB});
    ASSERT_TRUE(locks);
    EXPECT_EQ(files().lock({kB, kC}).error(), EWOULDBLOCK);
    EXPECT_FALSE(records.allocate({kB, kC}, kNote, records.newSession()));
    EXPECT_EQ(records.lastError(), EWOULDBLOCK);
    EXPECT_FALSE(records.isOnFile({kB}));
    EXPECT_FALSE(records.isOnFile({kC}));
    records.release({kB, kC});
    EXPECT_TRUE(files().lock({kC})) << "nobody keeps what was locked before the one that was not";
  }
  EXPECT_TRUE(records.allocate({kB, kC}, kNote, records.newSession()));
  EXPECT_TRUE(files().lock({kB, kC})) << "locked only while it is written";
}

TEST_F(AllocationRecordsTest, ALockIsInheritedByWhoeverIsHandedIt) {
  const auto records = open();
  auto locks = std::make_optional(files().lock({kA, kB}).value());
  const kj::AutoCloseFd inherited(fcntl(locks->at(kB), F_DUPFD_CLOEXEC, 0));
  locks.reset();
  EXPECT_TRUE(files().lock({kA}));
  EXPECT_EQ(files().lock({kA, kB}).error(), EWOULDBLOCK);
}

// What is ours already is renewed while its drivers change: nobody else takes it meanwhile.
TEST_F(AllocationRecordsTest, ARenewalWaitsForNobody) {
  auto records = open();
  const auto session = records.newSession();
  ASSERT_TRUE(records.allocate({kA, kB}, kNote + " of a long name", session));
  const auto locks = files().lock({kA, kB});
  ASSERT_TRUE(locks);
  EXPECT_TRUE(records.allocate({kA, kB}, kNote, session));
  EXPECT_THAT(files().standing({kB}), Optional(AllocatedGroup{{kA, kB}, kNote}));
}

TEST_F(AllocationRecordsTest, HasABound) {
  auto records = open();
  for (unsigned i = 0; i < AllocationFiles::kMostFiles; ++i) {
    std::string name = "0000:00:00.0";
    name.replace(5, 2, hexDigits(i / 256, 2)).replace(8, 2, hexDigits(i / 8 % 32, 2));
    name.back() = static_cast<char>('0' + i % 8);
    put(name, "not free");
  }
  const Bdf more = *Bdf::parse("0001:00:00.0");
  EXPECT_EQ(files().lock({more}).error(), EOVERFLOW);
  EXPECT_FALSE(records.allocate({more}, kNote, records.newSession()));
  put(kA.str(), "");
  {
    const auto locks = files().lock({kA});
    ASSERT_TRUE(locks);
    EXPECT_EQ(files().lock({more}).error(), EOVERFLOW) << "somebody has the free one";
  }
  EXPECT_TRUE(records.allocate({more}, kNote, records.newSession()));
  EXPECT_FALSE(std::filesystem::exists(file(kA.str())));
  put(kA.str(), "not free");
  EXPECT_EQ(AllocationRecords::open(dir_ / "devices", "this-boot").error().error, EOVERFLOW);
}

TEST_F(AllocationRecordsTest, NobodyElseMayWriteIntoTheDirectory) {
  std::filesystem::create_directory(dir_ / "open");
  std::filesystem::permissions(dir_ / "open", std::filesystem::perms::all);
  EXPECT_EQ(AllocationRecords::open(dir_ / "open", "b").error().error, EPERM);
  std::filesystem::create_directory_symlink(dir_ / "devices", dir_ / "link");
  EXPECT_NE(AllocationRecords::open(dir_ / "link", "b").error().error, 0);
}

TEST_F(AllocationRecordsTest, I10_ANoteThatIsNoneAllocatesNothing) {
  auto records = open();
  for (const std::string& note : {std::string(), std::string(kLargestNote + 1, 'x'),
                                  std::string("a\x1b[2J"), std::string("a\0b", 3)}) {
    EXPECT_FALSE(records.allocate({kA}, note, records.newSession()));
    EXPECT_EQ(records.lastError(), EINVAL);
    EXPECT_THAT(records.groups(), IsEmpty());
  }
  EXPECT_FALSE(std::filesystem::exists(file("0000:01:00.0")));
}

TEST_F(AllocationRecordsTest, I10_AGroupWhoseFileWouldBeTooLargeAllocatesNothing) {
  auto records = open();
  std::vector<UnitId> members;
  for (std::uint32_t i = 0; i < AllocationFiles::kMostDevices; ++i) {
    members.push_back(*Bdf::make(i, 0, 0, 0));
  }
  EXPECT_FALSE(records.allocate(members, kNote, records.newSession()));
  EXPECT_EQ(records.lastError(), EINVAL);
  EXPECT_THAT(records.groups(), IsEmpty());
}

TEST_F(AllocationRecordsTest, I10_HasABoundInBytesWhichWhatIsReplacedOrReleasedFrees) {
  auto records = open();
  const auto session = records.newSession();
  const std::string largest(kLargestNote, 'x');
  std::uint32_t count = 0;
  while (records.allocate({*Bdf::make(count, 0, 0, 0)}, largest, session)) ++count;
  EXPECT_EQ(records.lastError(), EOVERFLOW);
  EXPECT_EQ(count, kLargestRecord / (kLargestNote + sizeof(UnitId) + 128))
      << "some more than 8 KiB";
  EXPECT_TRUE(records.allocate({*Bdf::make(0, 0, 0, 0)}, kNote, session));
  EXPECT_TRUE(records.allocate({*Bdf::make(count, 0, 0, 0)}, largest, session));
  const std::vector<UnitId> next{*Bdf::make(count + 1, 0, 0, 0)};
  EXPECT_FALSE(records.allocate(next, largest, session));
  records.release({*Bdf::make(1, 0, 0, 0)});
  EXPECT_TRUE(records.allocate(next, largest, session));
}

TEST_F(AllocationRecordsTest, SaysWhenItCannotBeWritten) {
  auto records = open();
  std::filesystem::remove_all(dir_ / "devices");
  EXPECT_FALSE(records.allocate({kA}, kNote, records.newSession()));
  EXPECT_EQ(records.lastError(), ENOENT);
  EXPECT_FALSE(records.isOnFile({kA}));
  EXPECT_THAT(records.groups(), ElementsAre(Pointee(AllocatedGroup{{kA}, kNote})));
}

TEST(AllocationText, ReadsWhatItWritesAndNothingElse) {
  const AllocatedGroup group{{kA, kB}, kNote + "\n\nand more"};
  const std::string text = allocationText("b-1", group);
  const auto read = readAllocation(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->bootId, "b-1");
  EXPECT_EQ(read->group, group);
  EXPECT_FALSE(readAllocation("format=1" + text.substr(8)));
  EXPECT_FALSE(readAllocation(allocationText("b", {{kB, kA}, kNote}))) << "not ascending";
  EXPECT_FALSE(readAllocation(allocationText("b", {{kA}, {}}))) << "no note";
  EXPECT_FALSE(readAllocation(text + std::string(kLargestAllocation, 'x')));
}

// Whatever a write that was not finished leaves of two texts makes no sense, wherever it stopped.
TEST(AllocationText, I1_WhatIsTornMakesNoSense) {
  const std::string before = allocationText("b-1", {{kA}, kNote + " pod=default/vm"});
  const std::string after = allocationText("b-1", {{kA}, kNote});
  for (std::size_t size = 0; size < after.size(); ++size) {
    EXPECT_FALSE(readAllocation(after.substr(0, size))) << size;
    const std::string torn = after.substr(0, size) + before.substr(size);
    EXPECT_EQ(readAllocation(torn).has_value(), torn == before) << size;
  }
  EXPECT_FALSE(readAllocation(after + before.substr(after.size())));
}

}  // namespace
}  // namespace vfiogate
