#include "privd/gate/plugind_lease.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <optional>

#include "sim/base/temp_dir.h"
#include "tests/support/small_disk.h"

namespace vfiogate {
namespace {

class PlugindLeaseTest : public testing::Test {
protected:
  PlugindLease opened(std::uint64_t ticketsAfter = 40) {
    return PlugindLease::open(dir_.path(), ticketsAfter).value();
  }
  TempDir dir_;
};

TEST_F(PlugindLeaseTest, IsForOneAndEndsWithItsDescriptor) {
  auto lease = opened();
  std::optional first = lease.take(0).value();
  ASSERT_TRUE(first->lock);
  EXPECT_EQ(first->ticket, 41U);
  EXPECT_EQ(lease.take(0).error().error, EWOULDBLOCK);
  first.reset();
  EXPECT_TRUE(lease.take(0));
}

TEST_F(PlugindLeaseTest, OutlivesPrivdAndIsKnownByItsTicket) {
  auto held = opened().take(0);
  auto back = opened(700);
  const auto again = back.take(held->ticket);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->lock) << "it has the lock already";
  EXPECT_EQ(again->ticket, held->ticket);
  for (const std::uint64_t stranger : {std::uint64_t{0}, held->ticket + 1, std::uint64_t{4}}) {
    EXPECT_FALSE(back.take(stranger)) << stranger;
  }
}

TEST_F(PlugindLeaseTest, ATicketOfALeaseThatEndedIsWorthNothing) {
  auto lease = opened();
  const auto old = lease.take(0)->ticket;
  auto now = lease.take(0);
  EXPECT_NE(now->ticket, old);
  EXPECT_FALSE(lease.take(old));
}

TEST_F(PlugindLeaseTest, WhoShowsATicketThatNobodyHasGetsANewOne) {
  auto lease = opened();
  const auto leased = lease.take(7);
  ASSERT_TRUE(leased && leased->lock);
  EXPECT_NE(leased->ticket, 7U);
}

TEST_F(PlugindLeaseTest, AShorterTicketAfterALongerOneIsKnown) {
  { const auto longer = opened(999).take(0); }
  auto lease = opened(6);
  const auto held = lease.take(0);
  EXPECT_EQ(lease.take(7)->ticket, 7U);
  for (const std::uint64_t stranger : {1000U, 70U}) {
    EXPECT_EQ(lease.take(stranger).error().error, EWOULDBLOCK) << stranger;
  }
}

TEST_F(PlugindLeaseTest, AFullDiskIsAnErrnoAndRoomForATicketIsKept) {
  const test::SmallDisk disk(dir_ / "small");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount: no rights";
  auto lease = PlugindLease::open(dir_ / "small", 40).value();
  disk.fill();
  EXPECT_EQ(lease.take(0).error().error, ENOSPC);
  EXPECT_TRUE(lease.isFree());
  disk.empty();
  EXPECT_TRUE(lease.take(0));
  disk.fill();
  EXPECT_TRUE(lease.take(0)) << "it is written over the one before";
  disk.empty();
  ASSERT_TRUE(disk.setReadOnly());
  EXPECT_EQ(lease.take(0).error().error, EROFS);
}

TEST_F(PlugindLeaseTest, WithoutItsFileItIsNotFree) {
  auto lease = opened();
  std::filesystem::remove(dir_ / "plugind.lock");
  EXPECT_FALSE(lease.isFree());
  EXPECT_EQ(lease.take(0).error().error, ENOENT);
}

TEST_F(PlugindLeaseTest, NoTicketIsZero) {
  auto lease = opened(std::numeric_limits<std::uint64_t>::max());
  EXPECT_NE(lease.take(0)->ticket, 0U);
}

TEST_F(PlugindLeaseTest, TheLockCannotBeWrittenBy) {
  auto lease = opened();
  const auto leased = lease.take(0);
  EXPECT_EQ(fcntl(leased->lock->get(), F_GETFL) & O_ACCMODE, O_RDONLY);
}

TEST_F(PlugindLeaseTest, ALinkInItsPlaceIsRefused) {
  ASSERT_EQ(symlink("elsewhere", (dir_ / "plugind.lock").c_str()), 0);
  EXPECT_EQ(PlugindLease::open(dir_.path(), 1).error().error, ELOOP);
}

}  // namespace
}  // namespace vfiogate
