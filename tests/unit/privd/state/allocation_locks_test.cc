// The lock of a device is its file's, and files of free devices are taken away: what happens
// between the opening of a file and its lock.

#include "privd/state/allocation_records.h"

#include <gtest/gtest.h>

#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "privd/state/allocation_text.h"
#include "sim/base/temp_dir.h"

static std::function<void()> beforeTheLock;  // once
static unsigned locksTried = 0;

// In place of the C library's, for the whole of this program.
extern "C" int flock(int fd, int operation) noexcept {
  if (beforeTheLock) std::exchange(beforeTheLock, nullptr)();
  ++locksTried;
  return static_cast<int>(syscall(SYS_flock, fd, operation));
}

namespace vfiogate {
namespace {

class AllocationLocksTest : public testing::Test {
protected:
  ~AllocationLocksTest() noexcept override = default;

  AllocationRecords open() const {
    return AllocationRecords::open(dir_ / "devices", "this-boot").value();
  }
  std::string file(const Bdf& device) const { return dir_ / ("devices/" + device.str()); }
  void put(const Bdf& device, const std::string& text) const {
    std::ofstream(file(device)) << text;
  }
  /// Devices whose files say `text`, so many that no other may have one.
  void fill(const std::string& text) const {
    for (std::uint32_t i = 0; i < AllocationFiles::kMostFiles; ++i) {
      put(*Bdf::make(i + 1, 0, 0, 0), text);
    }
  }

  /// 0: it was locked.
  int lockError(const std::vector<UnitId>& members) const {
    const auto locks = files_.lock(members);
    return locks ? 0 : locks.error();
  }

  const Bdf first_ = *Bdf::make(1, 0, 0, 0);
  const Bdf more_ = *Bdf::make(0, 1, 0, 0);
  const Bdf another_ = *Bdf::make(0, 2, 0, 0);
  const std::string text_ = allocationText("this-boot", {{first_}, "of nobody here"});
  TempDir dir_;
  AllocationFiles files_ = AllocationFiles::open(dir_ / "devices", "this-boot").value();
};

TEST_F(AllocationLocksTest, I1_WhoLocksAFileThatWasTakenAwayHasNothing) {
  ASSERT_TRUE(files_.lock({first_}));
  std::optional<DeviceLocks> theirs;
  beforeTheLock = [&]() {
    fill(text_);
    put(first_, "");
    ASSERT_TRUE(files_.lock({more_})) << "the file of the free device makes room";
    put(*Bdf::make(2, 0, 0, 0), "");
    theirs = files_.lock({first_}).value();
  };
  EXPECT_EQ(lockError({first_}), EWOULDBLOCK);
  EXPECT_EQ(lockError({first_}), EWOULDBLOCK) << "the other one has it";
  theirs.reset();
  EXPECT_TRUE(files_.lock({first_}));
}

// While one makes room, others do as well: the file of the same name is another one by then.
TEST_F(AllocationLocksTest, I1_WhoMakesRoomTakesNoFileAwayThatSomebodyHasLocked) {
  fill(text_);
  put(first_, "");
  std::optional<DeviceLocks> theirs;
  beforeTheLock = [&]() {
    std::filesystem::remove(file(first_));
    theirs = files_.lock({first_}).value();
  };
  EXPECT_EQ(lockError({more_}), EOVERFLOW);
  EXPECT_TRUE(std::filesystem::exists(file(first_)));
  EXPECT_EQ(lockError({first_}), EWOULDBLOCK);
}

// I1: what cannot be opened for a moment, as without descriptors, may be locked by somebody.
TEST_F(AllocationLocksTest, I1_AReleaseThatCannotOpenAFileLeavesItsLock) {
  auto records = open();
  ASSERT_TRUE(records.allocate({first_}, "of nobody here", records.newSession()));
  const auto theirs = files_.lock({first_});
  ASSERT_TRUE(theirs);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  records.release({first_});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(records.lastError(), EMFILE);
  EXPECT_EQ(lockError({first_}), EWOULDBLOCK);
}

TEST_F(AllocationLocksTest, FilesOfAnotherBootMakeRoom) {
  fill(allocationText("boot-before", {{first_}, "of nobody here"}));
  EXPECT_TRUE(files_.lock({more_, another_}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_ / "devices"), {}),
            AllocationFiles::kMostFiles);
}

TEST_F(AllocationLocksTest, AFullRecordKeepsNobodyFromLockingDevicesThatAreNotInIt) {
  for (std::uint32_t i = 0; i < AllocationFiles::kMostDevices; ++i) {
    put(*Bdf::make(i + 1, 0, 0, 0), text_);
  }
  EXPECT_EQ(lockError({more_, another_}), 0);
}

// What nobody has is found without a lock of each file that somebody has.
TEST_F(AllocationLocksTest, I10_RoomForManyIsMadeInOneGo) {
  constexpr std::uint32_t kMany = 20;
  fill(text_);
  std::vector<UnitId> members;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    put(*Bdf::make(AllocationFiles::kMostDevices - i, 0, 0, 0), "");
    members.emplace_back(*Bdf::make(0, static_cast<std::uint8_t>(i), 0, 0));
  }
  locksTried = 0;
  EXPECT_TRUE(files_.lock(members));
  EXPECT_EQ(locksTried, 2 * kMany) << "of one that is taken away, and of one that is made";
}

// Two that make files at one moment can make one more than there may be.
TEST_F(AllocationLocksTest, AFileTooManyOfAFreeDeviceKeepsNobodyOut) {
  fill(text_);
  for (std::uint32_t i = AllocationFiles::kMostDevices; i < AllocationFiles::kMostFiles; ++i) {
    put(*Bdf::make(i + 1, 0, 0, 0), "");
  }
  put(more_, "");
  EXPECT_TRUE(files_.lock({another_})) << "in place of a free one";
  put(more_, "");
  put(another_, "");
  open();
}

}  // namespace
}  // namespace vfiogate
