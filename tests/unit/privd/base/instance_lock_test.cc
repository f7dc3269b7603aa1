#include "privd/base/instance_lock.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "sim/base/temp_dir.h"
#include "tests/support/small_disk.h"

namespace vfiogate {
namespace {

TEST(InstanceLock, IsForOne) {
  TempDir dir;
  std::optional first = InstanceLock::open(dir / "state").value();
  auto second = InstanceLock::open(dir / "state").value();
  EXPECT_TRUE(first->tryTake());
  EXPECT_FALSE(second.tryTake());
  first.reset();
  EXPECT_TRUE(second.tryTake());
}

TEST(InstanceLock, OfAnotherNameIsAnothers) {
  TempDir dir;
  auto daemon = InstanceLock::open(dir / "state").value();
  auto gate = InstanceLock::open(dir / "state", "gate.lock").value();
  EXPECT_TRUE(daemon.tryTake());
  EXPECT_TRUE(gate.tryTake());
  auto second = InstanceLock::open(dir / "state", "gate.lock").value();
  EXPECT_FALSE(second.tryTake());
}

TEST(LockSoon, GetsWhatAnotherHasForAMomentOnly) {
  TempDir dir;
  const std::string path = dir / "file";
  const auto opened = [&path]() {
    return kj::AutoCloseFd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  };
  const auto first = opened();
  ASSERT_TRUE(lockIfFree(first));
  const auto second = opened();
  std::thread moment([&first]() { unlock(first); });
  EXPECT_TRUE(lockSoon(second));
  moment.join();
  EXPECT_FALSE(lockSoon(first)) << "it is kept";
}

TEST(InstanceLock, SaysWhoHasIt) {
  TempDir dir;
  auto first = InstanceLock::open(dir / "state").value();
  ASSERT_TRUE(first.tryTake());
  const std::string pid = "pid=" + std::to_string(getpid()) + " host=";
  EXPECT_THAT(InstanceLock::open(dir / "state")->holder(), testing::StartsWith(pid));
}

TEST(InstanceLock, IsTakenOnAFullDiskToo) {
  TempDir dir;
  const test::SmallDisk disk(dir / "state");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount: no rights";
  auto first = InstanceLock::open(dir / "state").value();
  auto second = InstanceLock::open(dir / "state").value();
  disk.fill();
  EXPECT_TRUE(first.tryTake());
  EXPECT_EQ(first.holder(), "");
  EXPECT_FALSE(second.tryTake());
}

TEST(InstanceLock, MakesItsDirectoryForItsOwnerOnly) {
  TempDir dir;
  ASSERT_TRUE(InstanceLock::open(dir / "state"));
  struct stat status = {};
  ASSERT_EQ(stat((dir / "state").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  ASSERT_EQ(stat((dir / "state/lock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(InstanceLock::open(dir / "nobody/state").error().error, ENOENT);
}

}  // namespace
}  // namespace vfiogate
