#include "privd/scan/sysfs_root.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <thread>

#include "sim/base/temp_dir.h"

namespace vfiogate {
namespace {

namespace fs = std::filesystem;

class SysfsRootTest : public testing::Test {
protected:
  void write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(dir_ / ("root/" + name)).parent_path());
    std::ofstream(dir_ / ("root/" + name)) << text;
  }
  SysfsRoot root() {
    fs::create_directories(dir_ / "root");
    return *SysfsRoot::open(dir_ / "root");
  }
  int errorOf(const std::string& name) {
    const auto read = root().read(name);
    return read ? 0 : read.error().error;
  }
  TempDir dir_;
};

TEST_F(SysfsRootTest, ReadsAnAttributeWithoutItsLineEnd) {
  write("a/vendor", "0x10de\n");
  EXPECT_EQ(*root().read("a/vendor"), "0x10de");
}

TEST_F(SysfsRootTest, ReadsNoMoreThanAPage) {
  write("big", std::string(100'000, 'x'));
  EXPECT_EQ(root().read("big")->size(), 4096U);
}

TEST_F(SysfsRootTest, FollowsLinksThatGoUpAndDownAgain) {
  write("devices/pci0000:00/x/vendor", "1\n");
  fs::create_directories(dir_ / "root/bus");
  fs::create_symlink("../devices/pci0000:00/x", dir_ / "root/bus/x");
  EXPECT_EQ(*root().read("bus/x/vendor"), "1");
}

// openat2 gives up with EAGAIN where something was renamed anywhere on the machine while it went up
// a directory: an everyday event that must not make a device unreadable.
TEST_F(SysfsRootTest, RenamesElsewhereDoNotMakeAnAttributeUnreadable) {
  write("devices/pci0000:00/x/vendor", "1\n");
  fs::create_directories(dir_ / "root/bus");
  fs::create_symlink("../devices/pci0000:00/x", dir_ / "root/bus/x");
  std::ofstream(dir_ / "one") << "";
  const std::string one = dir_ / "one";
  const std::string other = dir_ / "other";
  const SysfsRoot opened = root();
  std::atomic<bool> enough = false;
  std::thread renamer([&]() {
    while (!enough) {
      if (rename(one.c_str(), other.c_str()) != 0 || rename(other.c_str(), one.c_str()) != 0) break;
    }
  });
  int unreadable = 0;
  for (int round = 0; round < 20'000; ++round) {
    if (!opened.read("bus/x/vendor")) ++unreadable;
  }
  enough = true;
  renamer.join();
  EXPECT_EQ(unreadable, 0);
}

TEST_F(SysfsRootTest, AnAbsentAttributeIsAbsent) {
  EXPECT_EQ(errorOf("nothing"), ENOENT);
}

TEST_F(SysfsRootTest, ALinkOutOfTheRootIsNoWayOut) {
  std::ofstream(dir_ / "secret") << "secret";
  fs::create_directories(dir_ / "root");
  fs::create_symlink("../secret", dir_ / "root/relative");
  fs::create_symlink(dir_ / "secret", dir_ / "root/absolute");
  EXPECT_EQ(errorOf("relative"), EXDEV);
  EXPECT_EQ(errorOf("absolute"), EXDEV);
  EXPECT_EQ(errorOf("../secret"), EXDEV);
}

TEST_F(SysfsRootTest, ALinkIsReadAndNotFollowed) {
  write("devices/x/vendor", "1\n");
  fs::create_symlink("/elsewhere/driver", dir_ / "root/devices/x/driver");
  fs::create_symlink("../../..", dir_ / "root/devices/out");
  const SysfsRoot device = root().below("devices/x").value();
  EXPECT_EQ(root().link("devices/x/driver").value(), "/elsewhere/driver");
  EXPECT_EQ(device.link("driver").value(), "/elsewhere/driver");
  EXPECT_EQ(device.link("vendor").error().error, EINVAL);
  EXPECT_EQ(device.link("nothing").error().error, ENOENT);
  EXPECT_EQ(root().link("devices/x/vendor").error().error, EINVAL);
  EXPECT_EQ(root().link("devices/x/nothing").error().error, ENOENT);
  EXPECT_EQ(root().link("devices/out/secret").error().error, EXDEV);
}

TEST_F(SysfsRootTest, APipeInAnAttributesPlaceHoldsNobodyUp) {
  fs::create_directories(dir_ / "root");
  ASSERT_EQ(mkfifo((dir_ / "root/vendor").c_str(), 0600), 0);
  EXPECT_EQ(errorOf("vendor"), EINVAL);
}

TEST_F(SysfsRootTest, ADirectoryIsNoAttribute) {
  fs::create_directories(dir_ / "root/vendor");
  EXPECT_NE(errorOf("vendor"), 0);
}

TEST_F(SysfsRootTest, ListsNamesInOrderWithoutDotNames) {
  write("d/b", "");
  write("d/a", "");
  write("d/.hidden", "");
  EXPECT_EQ(*root().names("d"), (std::vector<std::string>{"a", "b"}));
}

TEST_F(SysfsRootTest, I3_AListThatIsTooLongIsRefusedNotCut) {
  fs::create_directories(dir_ / "root/d");
  for (int i = 0; i < 65'536; ++i) {
    ASSERT_EQ(symlink("x", (dir_ / ("root/d/" + std::to_string(i))).c_str()), 0);
  }
  EXPECT_EQ(root().names("d")->size(), 65'536U);
  write("d/one-more", "");
  EXPECT_EQ(root().names("d").error().error, EOVERFLOW);
}

TEST_F(SysfsRootTest, ANodeMustBeACharacterDevice) {
  write("vfio/7", "");
  ASSERT_EQ(mknod((dir_ / "root/vfio/8").c_str(), S_IFCHR | 0600, 0x103), 0) << "needs root";
  const auto dev = DevRoot::open(dir_ / "root");
  EXPECT_FALSE(dev->hasCharacterDevice("vfio/7"));
  EXPECT_TRUE(dev->hasCharacterDevice("vfio/8"));
  EXPECT_FALSE(dev->hasCharacterDevice("vfio/9"));
}

TEST(SysfsRoot, SaysWhyARootCannotBeOpened) {
  EXPECT_EQ(SysfsRoot::open("/nonexistent").error().error, ENOENT);
  EXPECT_EQ(SysfsRoot::open("/etc/hostname").error().error, ENOTDIR);
}

}  // namespace
}  // namespace vfiogate
