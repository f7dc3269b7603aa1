#include "privd/gate/plugind_lease.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <limits>

#include "sim/base/temp_dir.h"

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
  auto first = lease.take(0);
  ASSERT_TRUE(first && first->lock);
  EXPECT_EQ(first->ticket, 41U);
  EXPECT_FALSE(lease.take(0));
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
