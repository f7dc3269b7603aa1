// The audit log on a disk that is full.

#include "tests/support/small_disk.h"
#include "tests/unit/privd/audit/logs.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace vfiogate::test {
namespace {

class FullDisk : public testing::Test {
protected:
  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "needs the right to mount";
  }
  TempDir dir_;
  SmallDisk disk_{dir_ / "disk"};
  std::string path_ = dir_ / "disk/audit.jsonl";
};

TEST_F(FullDisk, I7_RefusesUntilThereIsRoomAndLeavesNothingHalf) {
  auto opened = AuditLog::open(path_, "7a1c", {.reserve = 0});
  ASSERT_TRUE(opened);
  AuditLog log = std::move(opened).value();
  ASSERT_TRUE(log.append(noteOf("first")));
  std::uint64_t written = 1;
  Result<std::uint64_t, AuditFailure> last = written;
  while ((last = log.append(noteOf(std::string(700, 'x'))))) ++written;
  EXPECT_EQ(last.error().error, ENOSPC);
  EXPECT_EQ(log.head().sequence, written);
  EXPECT_EQ(verifyText(textOf(path_)).good, written) << faultOf(verifyText(textOf(path_)));
  EXPECT_EQ(textOf(path_).back(), '\n') << "what was written of the last record is taken back";
  EXPECT_EQ(log.append(noteOf(std::string(4000, 'x'))).error().error, ENOSPC);
  std::filesystem::resize_file(path_, 0);  // room; and the log sees that it was cut
  EXPECT_EQ(log.append(noteOf("y")).error().error, 0);
  EXPECT_EQ(*log.append(noteOf("y")), written + 2);
}

TEST_F(FullDisk, OpensAndWritesOnceThereIsRoom) {
  disk_.fill();
  auto opened = AuditLog::open(path_, "7a1c");
  ASSERT_TRUE(opened);
  AuditLog log = std::move(opened).value();
  EXPECT_EQ(log.append(bindCard()).error().error, ENOSPC);
  disk_.empty();
  EXPECT_EQ(*log.append(bindCard()), 1U);
  EXPECT_EQ(faultOf(verifyText(textOf(path_))), "");
}

TEST_F(FullDisk, ATornRecordIsClosedOnceThereIsRoom) {
  {
    auto log = AuditLog::open(path_, "7a1c").value();
    ASSERT_TRUE(log.append(noteOf("first")));
    ASSERT_TRUE(log.append(noteOf("torn")));
  }
  const std::string whole = textOf(path_);
  // To the byte: nothing more fits into the page.
  putText(path_, whole.substr(0, whole.size() - 100));
  std::ofstream(dir_ / "disk/filler") << std::string(8192, 'x');
  auto log = AuditLog::open(path_, "7a1c").value();
  std::filesystem::remove(dir_ / "disk/filler");
  ASSERT_TRUE(log.append(noteOf("after")));
  EXPECT_EQ(faultOf(verifyText(textOf(path_))), "");
  EXPECT_EQ(verifyText(textOf(path_)).remarks.size(), 1U);
}

TEST_F(FullDisk, LeavesRootsOrdersTheReserve) {
  const auto log = AuditLog::open(path_, "7a1c").value();
  EXPECT_FALSE(log.roomForPeers()) << "8 KiB is less than 64 MiB";
  const auto modest = AuditLog::open(path_, "7a1c", {.reserve = 1024}).value();
  EXPECT_TRUE(modest.roomForPeers());
  disk_.fill();
  EXPECT_FALSE(modest.roomForPeers());
}

TEST_F(FullDisk, AReadOnlyDiskIsAnErrorInWords) {
  ASSERT_TRUE(disk_.setReadOnly());
  EXPECT_EQ(AuditLog::open(path_, "7a1c").error().error, EROFS);
}

}  // namespace
}  // namespace vfiogate::test
